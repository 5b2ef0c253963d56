/** How many lines changed in the files of a working tree. Source: agent-server-wire.md 1.9. */
import { lstat, readlink } from 'node:fs/promises'
import type { GitChange } from '@parley/protocol'
import type { Account } from '../account/account.ts'
import { inFolder, openEntry } from '../files.ts'
import type { Repository } from './repository.ts'
import { DIFF } from './run.ts'

/** New files whose lines are counted in one answer. */
const MAX_NEW_FILES = 500
/** Largest new file whose lines are counted, in bytes. */
const MAX_BYTES = 1024 * 1024
/** Bytes in which git looks for a zero byte, too. */
const BINARY_BYTES = 8000

type Counts = Pick<GitChange, 'additions' | 'deletions' | 'old_path' | 'binary'>

/** Counts of the files that git knows, by path. A moved file has its earlier path; the deleted one is not among them. */
export async function countsSince(
  { git }: Repository,
  base: string,
  signal: AbortSignal,
): Promise<Map<string, Counts>> {
  const text = await git.tell(['diff', ...DIFF, '--find-renames', '--numstat', '-z', base, '--'], signal)
  const parts = text.split('\0')
  const counts = new Map<string, Counts>()
  for (let at = 0; at < parts.length - 1; at++) {
    const [additions = '', deletions = '', ...rest] = parts[at]!.split('\t')
    const isBinary = additions === '-'
    const lines = isBinary
      ? { additions: null, deletions: null, binary: true }
      : { additions: Number(additions), deletions: Number(deletions) }
    const path = rest.join('\t')
    if (path !== '') counts.set(path, lines)
    else {
      counts.set(parts[at + 2]!, { ...lines, old_path: parts[at + 1]! })
      at += 2
    }
  }
  return counts
}

/** Counts of files that git does not know, in their order. @param paths real, except for the last part, which may be a symlink */
export async function newFiles(
  paths: readonly string[],
  account: Account | null,
  signal: AbortSignal,
): Promise<(Counts | undefined)[]> {
  const counts: (Counts | undefined)[] = []
  for (const path of paths.slice(0, MAX_NEW_FILES)) {
    signal.throwIfAborted()
    // A file that disappears or may not be read meanwhile has no counts.
    counts.push(await countsOf(path, account).catch(() => undefined))
  }
  return counts
}

async function countsOf(path: string, account: Account | null): Promise<Counts | undefined> {
  const bytes = await inFolder({ path, account, real: async () => path }, async (folder, name) => {
    const found = await lstat(folder.at(name))
    if (found.isSymbolicLink()) return Buffer.from(await readlink(folder.at(name)))
    if (!found.isFile() || found.size > MAX_BYTES) return null
    await using file = await openEntry(folder, name, account)
    return await file.readFile()
  })
  if (bytes === null) return { additions: null, deletions: null }
  if (bytes.subarray(0, BINARY_BYTES).includes(0)) return { additions: null, deletions: null, binary: true }
  return { additions: linesOf(bytes), deletions: 0 }
}

function linesOf(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count++
  return count
}
