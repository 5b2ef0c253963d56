/** The repository of an archived directory, and what its receiver reads about it. Source: agent-server-wire.md 1.8. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from '../git/repository.ts'

/** Facts about the repository for the receiver of the archive; unknown ones are left out. */
export type ArchiveFacts = Partial<
  Record<'repoRoot' | 'repoRemote' | 'branch' | 'headCommit' | 'baseCommit' | 'baseRef', string>
>

export interface Archive extends AsyncDisposable {
  readonly name: string
  readonly facts: ArchiveFacts
  /** Fails when the archive is incomplete. */
  readonly bytes: AsyncIterable<Uint8Array>
}

/** Levels below a directory in which its repository is searched: a clone is in `<host>/<group>/<name>`, at most. */
const MAX_DEPTH = 3
/** Folders that contain repositories of others. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'site-packages', 'vendor', 'venv'])
/** The branch of a repository whose head names a commit. */
const DETACHED = 'DETACHED'

export async function factsOf({ root, git }: Repository, signal: AbortSignal): Promise<ArchiveFacts> {
  const [remote, branch, head] = await Promise.all([
    git.ask(['config', '--get', 'remote.origin.url'], signal),
    git.ask(['symbolic-ref', '--quiet', '--short', 'HEAD'], signal),
    git.ask(['rev-parse', '--verify', '--quiet', 'HEAD'], signal),
  ])
  return {
    repoRoot: root,
    ...(remote !== null && { repoRemote: withoutLogin(remote.trim()) }),
    ...((branch !== null || head !== null) && { branch: branch?.trim() ?? DETACHED }),
    ...(head !== null && { headCommit: head.trim() }),
  }
}

/** An address without user and password, query and fragment, in which credentials may be. */
const withoutLogin = (url: string): string =>
  url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1')
    .replace(/^[^/@:]+:[^/@]*@/, '')
    .replace(/[?#].*$/s, '')

/** The only repository below a directory, without hidden folders and links; null when there is none, or several. */
export async function repositoryBelow(directory: string): Promise<string | null> {
  const found: string[] = []
  let level = [directory]
  for (let depth = 0; depth < MAX_DEPTH && found.length < 2; depth++) {
    const folders = (await Promise.all(level.map(foldersIn))).flat()
    level = []
    for (const folder of folders) {
      if ((await lstat(join(folder, '.git')).catch(() => null)) === null) level.push(folder)
      else found.push(folder)
    }
  }
  return found.length === 1 ? (found[0] ?? null) : null
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED.has(entry.name))
    .map(({ name }) => join(directory, name))
}
