/**
 * Looks for work that would be lost with a directory: files outside of any repository, changes that are not committed, and commits
 * that are on no remote branch. Files that a repository ignores do not count.
 *
 * The files are those of an agent, so git runs without anything that they configure to run: no hooks, no file system monitor, no
 * filters, no submodules, no network.
 */
import { lstat, readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { gitEnvironment, LIST_PROGRAMS, withoutPrograms } from '../git/run.ts'
import type { ExecResult, Workspace } from '../workspace.ts'

export type UnsavedWork = { reason: 'uncommitted' | 'unpushed' | 'unchecked'; detail: string }

/** Directories and repositories that are looked at; a workspace with more is kept. */
const MAX_DIRECTORIES = 5_000
const MAX_REPOSITORIES = 20
/** Bytes of an answer of git; a longer one is enough to know that there is something. */
const MAX_BYTES = 64 * 1024

/** The unsaved work in a workspace, or the reason why it is not known; null: there is none. */
export async function unsavedWork(
  workspace: Workspace,
  { root, isWorktree }: { root: string; isWorktree: boolean },
  signal: AbortSignal,
): Promise<UnsavedWork | null> {
  try {
    if (isWorktree) return await inRepository(workspace, root, root, true, signal)
    const found = await repositoriesIn(root, signal)
    if ('reason' in found) return found
    for (const repository of found.repositories) {
      const unsaved = await inRepository(workspace, root, repository, false, signal)
      if (unsaved !== null) return unsaved
    }
    return null
  } catch (error) {
    return unchecked(`it could not be checked: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const unchecked = (detail: string): UnsavedWork => ({ reason: 'unchecked', detail })

/** The repositories below a directory, or a file that belongs to none. */
async function repositoriesIn(root: string, signal: AbortSignal): Promise<{ repositories: string[] } | UnsavedWork> {
  const repositories: string[] = []
  const directories = [root]
  for (let at = 0; at < directories.length; at++) {
    signal.throwIfAborted()
    if (at >= MAX_DIRECTORIES) return unchecked(`it has more than ${MAX_DIRECTORIES} directories`)
    const directory = directories[at]!
    const entries = await readdir(directory, { withFileTypes: true })
    const git = entries.find(({ name }) => name === '.git')
    if (git !== undefined) {
      if (!git.isDirectory()) return unchecked(`the repository of ${nameIn(root, directory)} is in another place`)
      repositories.push(directory)
      if (repositories.length > MAX_REPOSITORIES) return unchecked(`it has more than ${MAX_REPOSITORIES} repositories`)
      continue
    }
    for (const entry of entries) {
      const path = join(directory, entry.name)
      if (!entry.isDirectory()) return { reason: 'uncommitted', detail: `${nameIn(root, path)} is in no repository` }
      directories.push(path)
    }
  }
  return { repositories }
}

const nameIn = (root: string, path: string): string => relative(root, path) || 'the workspace'

/** @param isWorktree its commits are also safe on other branches of the repository */
async function inRepository(
  workspace: Workspace,
  root: string,
  directory: string,
  isWorktree: boolean,
  signal: AbortSignal,
): Promise<UnsavedWork | null> {
  const name = nameIn(root, directory)
  const git = new CarefulGit(workspace, directory, signal)
  await git.disablePrograms()
  // Submodules have configurations of their own, and files whose changes git is configured to overlook are not in its status.
  const special = await git.run(['sh', '-c', 'git ls-files --stage -v | grep -q "^\\([a-z] \\|. 160000\\)"'])
  const hasModules = (await lstat(join(directory, '.git', 'modules')).catch(() => null)) !== null
  if (special.exit_code === 0 || hasModules)
    return unchecked(`${name} has submodules, or files whose changes git is configured to overlook`)

  const status = ['--porcelain', '--untracked-files=normal', '--ignore-submodules=all', '--no-renames']
  if ((await git.tell('status', ...status)) !== '')
    return { reason: 'uncommitted', detail: `${name} has changes that are not committed` }
  if ((await git.ask('rev-parse', '--verify', '--quiet', 'refs/stash')) !== null)
    return { reason: 'uncommitted', detail: `${name} has stashed changes` }

  const head = await git.ask('rev-parse', '--verify', '--quiet', 'HEAD^{commit}')
  const saved = isWorktree ? await git.otherBranches() : ['--remotes']
  const made = [...(head === null ? [] : ['HEAD']), ...(isWorktree ? [] : ['--branches'])]
  const isUnpushed = made.length > 0 && (await git.tell('rev-list', '--max-count=1', ...made, '--not', ...saved)) !== ''
  return isUnpushed ? { reason: 'unpushed', detail: `${name} has commits that are on no remote branch` } : null
}

/** Git in one directory of an agent. */
class CarefulGit {
  readonly #workspace: Workspace
  readonly #directory: string
  readonly #signal: AbortSignal
  #env: Record<string, string>

  constructor(workspace: Workspace, directory: string, signal: AbortSignal) {
    this.#workspace = workspace
    this.#directory = directory
    this.#signal = signal
    this.#env = this.#environment([])
  }

  /** Turns off the programs that the repository names. */
  async disablePrograms(): Promise<void> {
    const listed = await this.run(['git', ...LIST_PROGRAMS])
    if (listed.dropped.stdout > 0) throw new Error('its configuration is too long')
    this.#env = this.#environment(withoutPrograms(listed.stdout))
  }

  /** Output of git; null when the exit code is not 0. */
  async ask(...args: string[]): Promise<string | null> {
    const { exit_code, stdout } = await this.run(['git', ...args])
    return exit_code === 0 ? stdout : null
  }

  /** @throws Error with git's message when the exit code is not 0 */
  async tell(...args: string[]): Promise<string> {
    const { exit_code, stdout, stderr } = await this.run(['git', ...args])
    if (exit_code === 0) return stdout
    throw new Error(`git ${args[0]}: ${stderr.trim().slice(0, 500) || `exit code ${exit_code}`}`)
  }

  run(argv: readonly string[]): Promise<ExecResult> {
    const request = { argv, cwd: this.#directory, env: this.#env, maxBytes: MAX_BYTES }
    return this.#workspace.exec(request, this.#signal)
  }

  /** Arguments for all branches of the repository but the one that is checked out. */
  async otherBranches(): Promise<string[]> {
    const branch = (await this.ask('symbolic-ref', '--quiet', 'HEAD'))?.trim().replace(/^refs\/heads\//, '')
    return [
      '--remotes',
      ...(branch === undefined ? [] : [`--exclude=${branch.replaceAll(/[*?[\\]/g, '\\$&')}`]),
      '--branches',
    ]
  }

  /** The work tree is named, because a configuration can name another one. */
  #environment(more: readonly (readonly [string, string])[]): Record<string, string> {
    const overridden = [
      ['core.attributesFile', '/dev/null'],
      ['core.excludesFile', '/dev/null'],
      ['core.ignoreStat', 'false'],
      ['core.untrackedCache', 'false'],
      ...more,
    ] as const
    return {
      ...gitEnvironment(this.#workspace, overridden),
      HOME: '/dev/null',
      GIT_DIR: join(this.#directory, '.git'),
      GIT_WORK_TREE: this.#directory,
      GIT_NO_LAZY_FETCH: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
    }
  }
}
