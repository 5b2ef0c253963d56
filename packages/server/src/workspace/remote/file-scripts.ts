/** Files on the other side, as lines of `/bin/sh`; what the file system refuses is said in one word. */
import { ParleyError, type ErrorCode } from '@parley/protocol'
import type { FileStat } from '../workspace.ts'

/** Words that a script ends with when it could not do what it was asked. */
const REFUSALS: Readonly<Record<string, { code: ErrorCode; says: string }>> = {
  ENOENT: { code: 'not_found', says: 'no such file or directory' },
  EACCES: { code: 'forbidden', says: 'permission denied' },
  EISDIR: { code: 'bad_request', says: 'it is a directory' },
  ENOTDIR: { code: 'not_found', says: 'it is not a directory' },
  ENOTEMPTY: { code: 'conflict', says: 'the directory is not empty' },
  ELOOP: { code: 'bad_request', says: 'it is a link that leads in a circle' },
  EIO: { code: 'unavailable', says: 'it could not be written' },
}

/** @throws ParleyError when the script ended with a refusal. */
export function expectDone(path: string, said: string): string {
  const [, word = ''] = /^refused (\w+)$/m.exec(said) ?? []
  if (word === '') return said
  const { code, says } = REFUSALS[word] ?? { code: 'unavailable' as const, says: word }
  throw new ParleyError(code, `${path}: ${says}`, { details: { path } })
}

const NO = 'no() { echo "refused $1"; exit 0; }\n'

/** Argument: path. Follows links; prints nothing where nothing is. */
export const STAT = `p=$1
[ -e "$p" ] || exit 0
k=other; [ -f "$p" ] && k=file; [ -d "$p" ] && k=directory
echo "$k $(stat -L -c '%s %a %Y' -- "$p" 2>/dev/null || stat -L -f '%z %Lp %m' -- "$p")"
`

export function readStat(said: string): FileStat | null {
  const [, kind, size, mode, seconds] = /^(file|directory|other) (\d+) ([0-7]+) (\d+)/.exec(said) ?? []
  if (kind === undefined) return null
  return {
    kind: kind as FileStat['kind'],
    size: Number(size),
    mode: parseInt(mode!, 8),
    mtimeMs: Number(seconds) * 1000,
  }
}

/** Argument: path. */
export const REAL_PATH = `[ -e "$1" ] || exit 0
readlink -f -- "$1" | base64
`

/** Argument: path. Kind and name of each entry, NUL between them, in base64. */
export const LIST = `${NO}[ -e "$1" ] || no ENOENT
[ -d "$1" ] || no ENOTDIR
cd -- "$1" 2>/dev/null && [ -r . ] || no EACCES
for f in * .[!.]* ..?*; do
  if [ -f "$f" ]; then k=f; elif [ -d "$f" ]; then k=d; elif [ -e "$f" ] || [ -L "$f" ]; then k=o; else continue; fi
  printf '%s%s\\000' "$k" "$f"
done | base64
`

export function readList(said: string): { name: string; kind: FileStat['kind'] }[] {
  const kinds = { f: 'file', d: 'directory', o: 'other' } as const
  return Buffer.from(said, 'base64')
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => ({ name: entry.slice(1), kind: kinds[entry[0] as keyof typeof kinds] ?? 'other' }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Argument: path. A file, a link (not what it leads to), or an empty directory. */
export const REMOVE = `${NO}if [ -d "$1" ] && ! [ -L "$1" ]; then
  rmdir -- "$1" 2>/dev/null && exit 0
  [ -n "$(ls -A -- "$1" 2>/dev/null)" ] && no ENOTEMPTY
  no EACCES
fi
[ -e "$1" ] || [ -L "$1" ] || no ENOENT
rm -f -- "$1" 2>/dev/null || no EACCES
`

/**
 * Arguments: path, uploaded file, a name that nobody else uses. Puts it in the place of the file in one step; a link is followed,
 * the mode of an existing file is kept, a new one gets what the umask leaves. An uploaded file that is gone was put already.
 */
export const PLACE = `${NO}p=$1
n=0
while [ -L "$p" ]; do
  n=$((n + 1)); [ $n -le 40 ] || no ELOOP
  l=$(readlink -- "$p")
  case $l in /*) p=$l ;; *) p=$(dirname -- "$p")/$l ;; esac
done
[ -d "$p" ] && no EISDIR
d=$(dirname -- "$p")
mkdir -p -- "$d" 2>/dev/null || { [ -e "$d" ] && no ENOTDIR; no EACCES; }
[ -e "$2" ] || exit 0
t=$d/.$3.tmp
cat < "$2" 2>/dev/null > "$t" || { rm -f -- "$t"; [ -w "$d" ] && no EIO; no EACCES; }
if [ -e "$p" ]; then chmod "$(stat -c %a -- "$p" 2>/dev/null || stat -f %Lp -- "$p")" "$t"; fi
mv -f -- "$t" "$p" 2>/dev/null || { rm -f -- "$t"; no EACCES; }
rm -f -- "$2"
`
