/** A repository, and the commits that its changes are compared with. Source: agent-server-wire.md 1.9. */
import { stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'
import { ParleyError } from '@parley/protocol'
import type { Workspace } from '../workspace.ts'
import { type Git, gitIn } from './run.ts'

export type Repository = { root: string; git: Git }

/**
 * The repository that a directory is in; null when it is in none.
 * @throws ParleyError `bad_request` when there is no such directory.
 */
export async function repositoryOf(
  workspace: Workspace,
  directory: string,
  signal: AbortSignal,
): Promise<Repository | null> {
  if (!isAbsolute(directory)) throw new ParleyError('bad_request', 'Path must be absolute')
  const found = await stat(directory).catch(() => null)
  if (found?.isDirectory() !== true) throw new ParleyError('bad_request', `Not a directory: ${directory}`)
  const root = await gitIn(workspace, directory).ask(['rev-parse', '--show-toplevel'], signal)
  if (root === null || root === '\n') return null
  const line = root.replace(/\n$/, '')
  return { root: line, git: gitIn(workspace, line) }
}

/** The nearest existing directory above a path, because a deleted file's directory may be deleted too. */
export async function existingDirectoryOf(path: string): Promise<string> {
  const above = dirname(path)
  const found = await stat(above).catch(() => null)
  return found?.isDirectory() === true || above === path ? above : existingDirectoryOf(above)
}

/** @throws ParleyError `bad_request` when `ref` names no commit. */
export async function commitOf({ git }: Repository, ref: string, signal: AbortSignal): Promise<string> {
  const sha = ref.startsWith('-') ? null : await verified(git, `${ref}^{commit}`, signal)
  if (sha === null) throw new ParleyError('bad_request', `No commit is called ${ref} here`)
  return sha
}

/** The first parent, or the empty tree. */
export async function parentOf({ git }: Repository, sha: string, signal: AbortSignal): Promise<string> {
  return (await verified(git, `${sha}^1^{commit}`, signal)) ?? emptyTree(git, signal)
}

/**
 * The base of an archive of changes: the branch's upstream, otherwise the commit where it left the default branch, otherwise the
 * empty tree, so that all files are new.
 */
export async function baseOf(repository: Repository, signal: AbortSignal): Promise<string> {
  return (
    (await upstreamOf(repository, signal)) ?? (await forkOf(repository, signal)) ?? emptyTree(repository.git, signal)
  )
}

/**
 * The base that changes are shown against. A branch that is pushed completely still shows its changes; without any other base,
 * uncommitted changes are shown. Existing clients compute the same base themselves.
 */
export async function shownBaseOf(repository: Repository, signal: AbortSignal): Promise<string> {
  const { git } = repository
  const head = await verified(git, 'HEAD^{commit}', signal)
  if (head === null) return emptyTree(git, signal)
  const upstream = await upstreamOf(repository, signal)
  const isPushed = async () => upstream === head && (await git.ask(['diff', '--quiet', 'HEAD', '--'], signal)) !== null
  if (upstream !== null && !(await isPushed())) return upstream
  return (await forkOf(repository, signal)) ?? head
}

async function upstreamOf({ git }: Repository, signal: AbortSignal): Promise<string | null> {
  const branch = await branchOf(git, signal)
  for (const ref of ['HEAD@{upstream}', ...(branch === undefined ? [] : [`refs/remotes/origin/${branch}`])]) {
    const sha = await verified(git, `${ref}^{commit}`, signal)
    if (sha !== null) return sha
  }
  return null
}

/** The commit where the branch left the default branch. */
async function forkOf({ git }: Repository, signal: AbortSignal): Promise<string | null> {
  const branch = await branchOf(git, signal)
  for (const ref of [...DEFAULT_BRANCHES, ...LOCAL.filter((name) => name !== `refs/heads/${branch}`)]) {
    const fork = (await git.ask(['merge-base', 'HEAD', ref], signal))?.trim()
    if (fork !== undefined) return fork
  }
  return null
}

const branchOf = async (git: Git, signal: AbortSignal): Promise<string | undefined> =>
  (await git.ask(['symbolic-ref', '--quiet', '--short', 'HEAD'], signal))?.trim()

const LOCAL = ['refs/heads/main', 'refs/heads/master']
const DEFAULT_BRANCHES = ['refs/remotes/origin/HEAD', 'refs/remotes/origin/main', 'refs/remotes/origin/master']

/** The default branch of a repository as a commit-ish: the remote's, else main, master, HEAD. Null in one without commits. */
export async function defaultBranchOf({ git }: Repository, signal: AbortSignal): Promise<string | null> {
  for (const ref of [...DEFAULT_BRANCHES, ...LOCAL, 'HEAD']) {
    if ((await verified(git, `${ref}^{commit}`, signal)) !== null) return ref
  }
  return null
}

async function verified(git: Git, name: string, signal: AbortSignal): Promise<string | null> {
  return (await git.ask(['rev-parse', '--verify', '--quiet', name], signal))?.trim() ?? null
}

/** The id of the empty tree, which depends on the repository's hash algorithm. */
const emptyTree = async (git: Git, signal: AbortSignal): Promise<string> =>
  (await git.tell(['hash-object', '-t', 'tree', '--stdin'], signal)).trim()
