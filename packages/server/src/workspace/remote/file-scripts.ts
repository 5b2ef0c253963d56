/** File operations on the other server, as scripts for `/bin/sh`. A refusal of the file system is printed as one word. */
import { ParleyError, type ErrorCode } from '@parley/protocol'
import type { FileStat } from '../workspace.ts'

/** Words that a failed script prints. */
const REFUSALS: Readonly<Record<string, { code: ErrorCode; says: string }>> = {
  ENOENT: { code: 'not_found', says: 'no such file or directory' },
  EACCES: { code: 'forbidden', says: 'permission denied' },
  EISDIR: { code: 'bad_request', says: 'it is a directory' },
  ENOTDIR: { code: 'not_found', says: 'it is not a directory' },
  ENOTEMPTY: { code: 'conflict', says: 'the directory is not empty' },
  ELOOP: { code: 'bad_request', says: 'it is a link that leads in a circle' },
  EIO: { code: 'unavailable', says: 'it could not be written' },
}

/** Returns the output of a script. @throws ParleyError when it ended with a refusal. */
export function expectDone(path: string, output: string): string {
  const [, word = ''] = /^refused (\w+)$/m.exec(output) ?? []
  if (word === '') return output
  const { code, says } = REFUSALS[word] ?? { code: 'unavailable' as const, says: word }
  throw new ParleyError(code, `${path}: ${says}`, { details: { path } })
}

const NO = 'no() { echo "refused $1"; exit 0; }\n'

/** Argument: path. Follows symlinks; prints nothing when nothing exists there. */
export const STAT = `p=$1
[ -e "$p" ] || exit 0
k=other; [ -f "$p" ] && k=file; [ -d "$p" ] && k=directory
echo "$k $(stat -L -c '%s %a %Y' -- "$p" 2>/dev/null || stat -L -f '%z %Lp %m' -- "$p")"
`

export function readStat(output: string): FileStat | null {
  const [, kind, size, mode, seconds] = /^(file|directory|other) (\d+) ([0-7]+) (\d+)/.exec(output) ?? []
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

/** Argument: path. Prints kind and name of each entry, separated by NUL, in base64. */
export const LIST = `${NO}[ -e "$1" ] || no ENOENT
[ -d "$1" ] || no ENOTDIR
cd -- "$1" 2>/dev/null && [ -r . ] || no EACCES
for f in * .[!.]* ..?*; do
  if [ -f "$f" ]; then k=f; elif [ -d "$f" ]; then k=d; elif [ -e "$f" ] || [ -L "$f" ]; then k=o; else continue; fi
  printf '%s%s\\000' "$k" "$f"
done | base64
`

export function readList(output: string): { name: string; kind: FileStat['kind'] }[] {
  const kinds = { f: 'file', d: 'directory', o: 'other' } as const
  return Buffer.from(output, 'base64')
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => ({ name: entry.slice(1), kind: kinds[entry[0] as keyof typeof kinds] ?? 'other' }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Argument: path. Removes a file, a symlink (not its target), or an empty directory. */
export const REMOVE = `${NO}if [ -d "$1" ] && ! [ -L "$1" ]; then
  rmdir -- "$1" 2>/dev/null && exit 0
  [ -n "$(ls -A -- "$1" 2>/dev/null)" ] && no ENOTEMPTY
  no EACCES
fi
[ -e "$1" ] || [ -L "$1" ] || no ENOENT
rm -f -- "$1" 2>/dev/null || no EACCES
`

/**
 * Arguments: path, uploaded file, a unique name. Replaces the file at `path` atomically by the uploaded one; follows a symlink, keeps
 * the mode of an existing file, applies the umask to a new one. When the uploaded file is missing, an earlier attempt has moved it.
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
