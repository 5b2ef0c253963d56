/** A directory as one stream of bytes: all files as a tar.gz, or the changes that git reports as a patch. Source: agent-server-wire.md 1.8. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ParleyError } from '@parley/protocol'
import { absolutePath } from './host-files.ts'
import { statFile } from './files.ts'
import { gitEnvironment } from './git/run.ts'
import { baseOf, commitOf, type Repository, repositoryOf } from './git/repository.ts'
import type { Process, Workspace } from './workspace.ts'

/** Directories that tools can generate again. */
const DEFAULT_EXCLUDES = [
  '.cache',
  '.gradle',
  '.mypy_cache',
  '.next',
  '.nuxt',
  '.pytest_cache',
  '.ruff_cache',
  '.tox',
  '.venv',
  '__pycache__',
  'build',
  'dist',
  'node_modules',
  'target',
  'venv',
]

export type ArchiveRequest = {
  path: string
  format: 'git-delta' | 'tar.gz'
  baseRef: string | undefined
  useDefaultExcludes: boolean
  exclude: readonly string[]
}

/** Facts about the repository for the receiver of the archive; unknown ones are left out. */
export type ArchiveFacts = Partial<
  Record<'repoRoot' | 'repoRemote' | 'branch' | 'headCommit' | 'baseCommit' | 'baseRef', string>
>

export interface Archive extends AsyncDisposable {
  readonly name: string
  readonly facts: ArchiveFacts
  readonly bytes: ReadableStream<Uint8Array>
  /** Resolves when everything has been read; rejects when the archive is incomplete. */
  readonly complete: Promise<void>
}

/**
 * Begins an archive, which is created while it is read. Disposing it ends the program that creates it.
 * @throws ParleyError `bad_request`, `not_found`.
 */
export async function openArchive(
  workspace: Workspace,
  request: ArchiveRequest,
  signal: AbortSignal,
): Promise<Archive> {
  const directory = absolutePath(request.path)
  const found = await statFile(directory)
  if (found === null) throw new ParleyError('not_found', 'Directory not found')
  if (found.kind !== 'directory') throw new ParleyError('bad_request', 'Path is not a directory')
  const repository = await repositoryOf(workspace, directory, signal)
  const excludes = [...(request.useDefaultExcludes ? DEFAULT_EXCLUDES : []), ...request.exclude]
  if (excludes.some((pattern) => pattern === '' || pattern.includes('\0')))
    throw new ParleyError('bad_request', 'An exclude must not be empty')
  const name = basename(directory) || 'root'
  if (request.format === 'tar.gz') {
    const facts = repository === null ? {} : await factsOf(repository, signal)
    const argv = ['tar', '-cz', '-f', '-', ...excludes.map((pattern) => `--exclude=${pattern}`), '-C', directory, '.']
    const program = await workspace.spawn({ argv, cwd: directory }, signal)
    return archive(program, { name: `${name}.tar.gz`, facts })
  }
  if (repository === null) throw new ParleyError('bad_request', 'Not a git repository')
  return delta(workspace, repository, { baseRef: request.baseRef, excludes, name }, signal)
}

type DeltaRequest = { baseRef: string | undefined; excludes: readonly string[]; name: string }

/** The patch contains untracked files too, so all files are added to a temporary index; the repository does not change. */
async function delta(
  workspace: Workspace,
  repository: Repository,
  { baseRef, excludes, name }: DeltaRequest,
  signal: AbortSignal,
): Promise<Archive> {
  const isAuto = baseRef === undefined || baseRef === ''
  const baseCommit = isAuto ? await baseOf(repository, signal) : await commitOf(repository, baseRef, signal)
  const facts = { ...(await factsOf(repository, signal)), baseCommit, baseRef: isAuto ? 'auto' : baseRef }
  const paths = [
    '--',
    '.',
    ...excludes.map((pattern) => `:(exclude,glob)**/${pattern}/**`),
    ...excludes.map((pattern) => `:(exclude,glob)**/${pattern}`),
  ]
  const objects = (
    await repository.git.tell(['rev-parse', '--path-format=absolute', '--git-path', 'objects'], signal)
  ).trim()
  const scratch = await mkdtemp(join(tmpdir(), 'parley-archive-'))
  const env = {
    ...gitEnvironment(workspace),
    GIT_INDEX_FILE: join(scratch, 'index'),
    GIT_OBJECT_DIRECTORY: scratch,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: objects,
  }
  const forget = () => rm(scratch, { recursive: true, force: true })
  try {
    for (const args of [
      ['read-tree', baseCommit],
      ['add', '--all', ...paths],
    ]) {
      const { exit_code, stderr } = await workspace.exec({ argv: ['git', ...args], cwd: repository.root, env }, signal)
      if (exit_code !== 0) throw new ParleyError('bad_request', stderr.trim() || `git ${args[0]} failed`)
    }
    const argv = ['git', 'diff', '--binary', '--no-ext-diff', '--no-textconv', '--cached', baseCommit, ...paths]
    const program = await workspace.spawn({ argv, cwd: repository.root, env }, signal)
    return archive(program, { name: `${name}.patch`, facts }, forget)
  } catch (error) {
    await forget()
    throw error
  }
}

function archive(
  program: Process,
  { name, facts }: { name: string; facts: ArchiveFacts },
  forget: () => Promise<void> = async () => {},
): Archive {
  // Standard error is discarded, but must be read, so that the program does not block.
  const drained = program.stderr.pipeTo(new WritableStream()).catch(() => undefined)
  void program.stdin.close().catch(() => undefined)
  const complete = program.exited.then(({ exit_code }) => {
    // Exit code 1: a file changed while it was read. In a directory that is in use, this does not invalidate the rest.
    if (exit_code !== 0 && exit_code !== 1) throw new Error(`the archive ended with exit code ${exit_code}`)
  })
  complete.catch(() => undefined)
  return {
    name,
    facts,
    bytes: program.stdout,
    complete,
    async [Symbol.asyncDispose]() {
      await program.kill('SIGKILL').catch(() => undefined)
      await program[Symbol.asyncDispose]()
      await drained
      await forget()
    },
  }
}

async function factsOf({ root, git }: Repository, signal: AbortSignal): Promise<ArchiveFacts> {
  const [remote, branch, head] = await Promise.all([
    git.ask(['config', '--get', 'remote.origin.url'], signal),
    git.ask(['symbolic-ref', '--quiet', '--short', 'HEAD'], signal),
    git.ask(['rev-parse', '--verify', '--quiet', 'HEAD'], signal),
  ])
  return {
    repoRoot: root,
    ...(remote !== null && { repoRemote: withoutLogin(remote.trim()) }),
    ...(branch !== null && { branch: branch.trim() }),
    ...(head !== null && { headCommit: head.trim() }),
  }
}

const withoutLogin = (url: string): string => url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1')
