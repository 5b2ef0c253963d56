/** Clones a repository into a workspace: queries the remote, makes a shallow clone, then checks out the branch. */
import { randomBytes } from 'node:crypto'
import type { Workspace } from '../workspace.ts'
import { GitFailure, gitFailure } from './failure.ts'
import { agentHelper, git } from './git.ts'
import type { Remote } from './remote.ts'

/** Commits of the branch in a clone; `git fetch --unshallow` fetches the rest. */
export const CLONE_DEPTH = 50
/** Prefix of the temporary folder of a clone, which a killed clone leaves behind. */
const UNFINISHED = '.parley-clone-'

export type Found = { url: string; defaultBranch: string | null }
export type Identity = { name: string; email: string }

/**
 * Queries the remote for the branch, before anything is downloaded.
 * @param branch null: its default branch
 * @throws GitFailure
 */
export async function inspectRemote(
  workspace: Workspace,
  remote: Remote,
  branch: string | null,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Found> {
  let refused: GitFailure | null = null
  for (const url of remote.urls) {
    const refs = branch === null ? ['HEAD'] : ['HEAD', `refs/heads/${branch}`]
    const result = await git(workspace, ['ls-remote', '--symref', '--', url, ...refs], { remote, timeoutMs }, signal)
    if (result.exit_code === 0) {
      const lines = result.stdout.split('\n').map((line) => line.split('\t'))
      if (branch !== null && !lines.some(([, name]) => name === `refs/heads/${branch}`)) {
        throw new GitFailure('GIT$BRANCH_NOT_FOUND', `${remote.slug} has no branch ${branch}.`)
      }
      const head = lines.find(([target, name]) => name === 'HEAD' && target?.startsWith('ref: refs/heads/'))?.[0]
      return { url, defaultBranch: head?.slice('ref: refs/heads/'.length) ?? null }
    }
    refused ??= gitFailure(result, remote.slug, secretsOf(remote))
    if (refused.code !== 'GIT$REPOSITORY_NOT_FOUND') break
  }
  throw refused!
}

/**
 * Clones into `<working directory>/<remote.directory>` and configures the identity of committers. The rest of a killed clone is
 * removed and the clone repeated. `takeBranch` then checks out the files, without a credential.
 * @throws GitFailure
 */
export async function clone(
  workspace: Workspace,
  remote: Remote,
  { url, branch, identity }: { url: string; branch: string | null; identity: Identity },
  signal: AbortSignal,
): Promise<void> {
  const left = (await workspace.list('.', signal)).map(({ name }) => name).filter((name) => name.startsWith(UNFINISHED))
  await run(workspace, ['rm', '-rf', '--', remote.directory, ...left], signal)
  const fresh = `${UNFINISHED}${randomBytes(6).toString('hex')}`
  const args = [
    'clone',
    '--no-checkout',
    `--depth=${CLONE_DEPTH}`,
    '--single-branch',
    ...(branch === null ? [] : [`--branch=${branch}`]),
    `--config=user.name=${identity.name}`,
    `--config=user.email=${identity.email}`,
    ...(remote.agentLogin === null
      ? []
      : [`--config=${agentHelper({ ...remote.agentLogin, origin: new URL(url).origin })}`]),
    '--',
    url,
    fresh,
  ]
  const result = await git(workspace, args, { remote }, signal)
  if (result.exit_code !== 0) throw gitFailure(result, remote.slug, secretsOf(remote))
  await run(workspace, ['mv', '--', fresh, remote.directory], signal)
}

/**
 * Checks out the branch, or creates a new one from the cloned commit. May be repeated.
 * @throws GitFailure
 */
export async function takeBranch(
  workspace: Workspace,
  directory: string,
  branch: { name: string; isFresh: boolean },
  signal: AbortSignal,
): Promise<void> {
  const options = { cwd: directory }
  const must = async (...args: string[]) => {
    const result = await git(workspace, args, options, signal)
    if (result.exit_code !== 0) throw gitFailure(result, directory, [])
  }
  // A killed git leaves its lock behind; no other process uses the repository yet.
  await run(workspace, ['rm', '-f', '--', `${directory}/.git/index.lock`], signal)
  if (!branch.isFresh) return must('switch', '--discard-changes', branch.name)
  const head = await git(workspace, ['rev-parse', '--verify', '--quiet', 'HEAD'], options, signal)
  if (head.exit_code === 0) await must('reset', '--hard', '--quiet')
  await must('switch', '-C', branch.name)
}

const secretsOf = ({ credential }: Remote): string[] =>
  credential === null ? [] : [credential.password, `${credential.username}:${credential.password}`]

async function run(workspace: Workspace, argv: readonly string[], signal: AbortSignal): Promise<void> {
  const { exit_code, stderr } = await workspace.exec({ argv, isOwn: true }, signal)
  if (exit_code !== 0) throw new GitFailure('GIT$CLONE_FAILED', `${argv[0]} failed in the workspace: ${stderr.trim()}`)
}
