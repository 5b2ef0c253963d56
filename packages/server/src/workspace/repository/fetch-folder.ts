import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Workspace } from '../workspace.ts'
import { GitFailure, gitFailure } from './failure.ts'
import { git } from './git.ts'
import type { Remote } from './remote.ts'

/** Prefix of the temporary folder of a fetch. */
const UNFINISHED = '.parley-fetch-'
const CLEANUP_MS = 10_000
/** Age after which a temporary folder counts as left behind: no fetch takes that long. */
const STALE_MINUTES = 60

/**
 * Fetches one commit of a repository into a folder named after it, without history and credential. An existing folder of that name
 * has the same content and is kept.
 * @param base absolute path of the parent folder, which may be outside the working directory
 * @param ref branch, tag or commit; null: the default branch
 * @throws GitFailure
 */
export async function fetchFolder(
  workspace: Workspace,
  remote: Remote,
  { ref, base }: { ref: string | null; base: string },
  signal: AbortSignal,
): Promise<{ path: string; commit: string }> {
  const secrets = remote.credential === null ? [] : [remote.credential.password]
  const fresh = join(base, `${UNFINISHED}${randomBytes(6).toString('hex')}`)
  const here = async (...args: string[]) => {
    const result = await git(workspace, args, {}, signal)
    if (result.exit_code !== 0) throw gitFailure(result, remote.slug, secrets)
    return result.stdout.trim()
  }
  await must(workspace, ['mkdir', '-p', '--', base], signal)
  // Folders that killed fetches left behind.
  const stale = [
    '-maxdepth',
    '1',
    '-name',
    `${UNFINISHED}*`,
    '-mmin',
    `+${STALE_MINUTES}`,
    '-exec',
    'rm',
    '-rf',
    '--',
    '{}',
    '+',
  ]
  await workspace.exec({ argv: ['find', base, ...stale] }, signal)
  try {
    await here('init', '--quiet', '--', fresh)
    await fetch(workspace, remote, { ref, fresh, secrets }, signal)
    await here('-C', fresh, 'checkout', '--quiet', '--detach', 'FETCH_HEAD')
    const commit = await here('-C', fresh, 'rev-parse', 'HEAD')
    const path = join(base, folderOf(remote, commit))
    const { exit_code: isThere } = await workspace.exec({ argv: ['test', '-d', path] }, signal)
    if (isThere !== 0) await must(workspace, ['mv', '--', fresh, path], signal)
    return { path, commit }
  } finally {
    await workspace.exec({ argv: ['rm', '-rf', '--', fresh] }, AbortSignal.timeout(CLEANUP_MS)).catch(() => undefined)
  }
}

/** The hash distinguishes repositories with the same name. */
function folderOf({ directory, slug }: Remote, commit: string): string {
  return `${directory}-${createHash('sha256').update(slug).digest('hex').slice(0, 8)}-${commit}`
}

async function fetch(
  workspace: Workspace,
  remote: Remote,
  { ref, fresh, secrets }: { ref: string | null; fresh: string; secrets: string[] },
  signal: AbortSignal,
): Promise<void> {
  let refused: GitFailure | null = null
  for (const url of remote.urls) {
    const args = ['-C', fresh, 'fetch', '--quiet', '--depth=1', '--no-tags', '--', url, ref ?? 'HEAD']
    const result = await git(workspace, args, { remote }, signal)
    if (result.exit_code === 0) return
    refused ??= gitFailure(result, remote.slug, secrets)
    if (refused.code !== 'GIT$REPOSITORY_NOT_FOUND') break
  }
  throw refused!
}

async function must(workspace: Workspace, argv: readonly string[], signal: AbortSignal): Promise<void> {
  const { exit_code, stderr } = await workspace.exec({ argv }, signal)
  if (exit_code !== 0) throw new GitFailure('GIT$CLONE_FAILED', `${argv[0]} failed in the workspace: ${stderr.trim()}`)
}
