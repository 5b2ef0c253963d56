/** Queries of clients about repositories. Outside a repository the answers are empty, not errors. Source: agent-server-wire.md 1.9. */
import { lstat, readlink, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { type GitChange, type GitCommitsPage, type GitDiff, ParleyError } from '@parley/protocol'
import { isInside } from '../../lib/index.ts'
import type { Account } from '../account/account.ts'
import type { Workspace } from '../workspace.ts'
import { inFolder, nullIfNotFound, openEntry } from '../files.ts'
import type { FolderHandle } from '../roots/folder-handle.ts'
import { commitOf, parentOf, type Repository, repositoryOf, shownBaseOf } from './repository.ts'
import { countsSince, newFiles } from './counts.ts'
import { DIFF } from './run.ts'

/** Largest file that is shown, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024
/** Renames are reported as a deleted and an added file, as the published clients expect. */
const COMPARE = [...DIFF, '--no-renames', '--name-status', '-z']
/** Levels of repositories inside repositories that are included. */
const MAX_DEPTH = 4

/**
 * Files of the working tree that differ from a commit, including untracked ones, by path. A repository inside the repository is
 * compared with its own base.
 * @throws ParleyError `bad_request`.
 */
export async function changesSince(
  workspace: Workspace,
  { path, ref }: { path: string; ref?: string | undefined },
  signal: AbortSignal,
  depth = 0,
): Promise<GitChange[]> {
  const repository = await repositoryOf(workspace, depth === 0 ? await asked(workspace, path) : path, signal)
  if (repository === null) return []
  const base = await baseFor(repository, ref, signal)
  const tracked = await repository.git.tell(['diff', ...COMPARE, base, '--'], signal)
  const untracked = await repository.git.tell(['ls-files', '--others', '--exclude-standard', '-z'], signal)
  const names = fields(untracked)
  const added = names.filter((name) => !name.endsWith('/'))
  const counts = await countsSince(repository, base, signal)
  const news = await newFiles(
    added.map((name) => join(repository.root, name)),
    workspace.account ?? null,
    signal,
  )
  const inside: GitChange[] = []
  for (const name of depth < MAX_DEPTH ? names.filter((each) => each.endsWith('/')) : []) {
    const changes = await changesSince(workspace, { path: join(repository.root, name) }, signal, depth + 1)
    inside.push(...changes.map((change) => ({ ...change, path: `${name}${change.path}` })))
  }
  const known = parseChanges(tracked).map((change): GitChange => ({ ...change, ...counts.get(change.path), ref: base }))
  const fresh = added.map((path, at): GitChange => ({ status: 'ADDED', path, ...news[at], ref: base }))
  return sorted([...known, ...fresh, ...inside])
}

/** Files that one commit changed against its first parent. @throws ParleyError `bad_request`. */
export async function changesOf(
  workspace: Workspace,
  { path, sha }: { path: string; sha: string },
  signal: AbortSignal,
): Promise<GitChange[]> {
  const repository = await repositoryOf(workspace, await asked(workspace, path), signal)
  if (repository === null) return []
  const commit = await commitOf(repository, sha, signal)
  const parent = await parentOf(repository, commit, signal)
  const text = await repository.git.tell(['diff', ...COMPARE, parent, commit, '--'], signal)
  return sorted(parseChanges(text))
}

/**
 * Both sides of a file: the working tree against a commit, or a commit against its parent. The text of a symlink is its target.
 * @throws ParleyError `bad_request` for both at once, and for a file that is on neither side or too large.
 */
export async function fileDiff(
  workspace: Workspace,
  { path, ref, commit }: { path: string; ref?: string | undefined; commit?: string | undefined },
  signal: AbortSignal,
): Promise<GitDiff> {
  if (ref !== undefined && commit !== undefined)
    throw new ParleyError('bad_request', 'ref and commit exclude each other')
  // The last part may be a symlink, which is shown as one.
  const real = join(await asked(workspace, dirname(path)), basename(path))
  const repository = await repositoryOf(workspace, await existingDirectoryOf(real), signal)
  if (repository === null || !isInside(repository.root, real)) return { modified: null, original: null }
  const name = relative(repository.root, real)
  const after = commit === undefined ? null : await commitOf(repository, commit, signal)
  const before = after === null ? await baseFor(repository, ref, signal) : await parentOf(repository, after, signal)
  const modified =
    after === null ? await fileText(real, workspace.account ?? null) : await blobText(repository, after, name, signal)
  const original = await blobText(repository, before, name, signal)
  if (modified === null && original === null)
    throw new ParleyError('bad_request', `${basename(path)} is on neither side of the comparison`)
  return { modified: shown(modified), original: shown(original) }
}

/** The newest commits of the checked-out branch. @throws ParleyError `bad_request`. */
export async function newestCommits(
  workspace: Workspace,
  { path, limit }: { path: string; limit: number },
  signal: AbortSignal,
): Promise<GitCommitsPage> {
  const repository = await repositoryOf(workspace, await asked(workspace, path), signal)
  const isEmpty =
    repository === null || (await repository.git.ask(['rev-parse', '--verify', '--quiet', 'HEAD'], signal)) === null
  if (isEmpty) return { commits: [], has_more: false }
  const format = ['%H', '%h', '%s', '%an', '%aI'].join('%x1f')
  const text = await repository.git.tell(['log', '-z', `--max-count=${limit + 1}`, `--format=${format}`], signal)
  const commits = fields(text).map((line) => {
    const [sha = '', short_sha = '', subject = '', author = '', timestamp = ''] = line.split('\x1f')
    return { sha, short_sha, subject, author, timestamp }
  })
  return { commits: commits.slice(0, limit), has_more: commits.length > limit }
}

/** The real path of the directory that a request names. @throws RefusedPath; ParleyError `bad_request` for a relative path. */
export async function asked(workspace: Workspace, path: string): Promise<string> {
  if (!isAbsolute(path)) throw new ParleyError('bad_request', 'Path must be absolute')
  return (await workspace.directory?.(path, ['path'])) ?? path
}

/** The nearest existing directory above a path, because a deleted file's directory may be deleted too. */
export async function existingDirectoryOf(path: string): Promise<string> {
  const above = dirname(path)
  const found = await stat(above).catch(() => null)
  return found?.isDirectory() === true || above === path ? above : existingDirectoryOf(above)
}

/** The commit that is compared with. `HEAD` of a repository without commits is the empty tree. */
export async function baseFor(repository: Repository, ref: string | undefined, signal: AbortSignal): Promise<string> {
  if (ref === undefined || ref === '') return shownBaseOf(repository, signal)
  const isUnborn =
    ref === 'HEAD' && (await repository.git.ask(['rev-parse', '--verify', '--quiet', ref], signal)) === null
  return isUnborn ? shownBaseOf(repository, signal) : commitOf(repository, ref, signal)
}

const fields = (text: string): string[] => text.split('\0').filter((field) => field !== '')

const STATUS: Readonly<Record<string, GitChange['status']>> = { A: 'ADDED', D: 'DELETED' }

/** Parses the output of `--name-status -z` without renames: pairs of a status and a name. */
function parseChanges(text: string): GitChange[] {
  const parts = fields(text)
  return parts.flatMap((letter, at) =>
    at % 2 === 0 ? [{ status: STATUS[letter] ?? 'UPDATED', path: parts[at + 1] ?? '' }] : [],
  )
}

/**
 * A side of a diff in the form that the published clients expect: without the last line end, and empty when the file does not
 * exist on this side.
 */
const shown = (text: string | null): string => (text ?? '').replace(/\r?\n$/, '')

const sorted = (changes: GitChange[]): GitChange[] => changes.toSorted((a, b) => (a.path < b.path ? -1 : 1))

/** The text of a file in the working tree; that of a symlink is its target, as in a commit. Null: neither is there. */
export async function fileText(path: string, account: Account | null): Promise<string | null> {
  const read = async (folder: FolderHandle, name: string) => {
    const found = await lstat(folder.at(name))
    if (found.isSymbolicLink()) return readlink(folder.at(name))
    if (!found.isFile()) return null
    await using file = await openEntry(folder, name, account)
    expectSize(path, (await file.stat()).size)
    return await file.readFile('utf8')
  }
  return inFolder({ path, account, real: async () => path }, read).catch(nullIfNotFound)
}

async function blobText({ git }: Repository, tree: string, name: string, signal: AbortSignal): Promise<string | null> {
  const object = `${tree}:${name}`
  const size = await git.ask(['cat-file', '-s', object], signal)
  if (size === null) return null
  expectSize(name, Number(size))
  return git.ask(['cat-file', 'blob', object], signal)
}

function expectSize(name: string, bytes: number): void {
  if (bytes > MAX_FILE_BYTES)
    throw new ParleyError('bad_request', `${basename(name)} has ${bytes} bytes; up to ${MAX_FILE_BYTES} are shown`)
}
