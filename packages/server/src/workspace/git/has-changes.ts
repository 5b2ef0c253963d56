/** Checks a working directory for changes, for a critic. Source: agent-core.md 3.3, F48. */
import type { Workspace } from '../workspace.ts'
import { shownBaseOf } from './repository.ts'
import { gitIn } from './run.ts'

/**
 * Returns true when the working directory differs from the base that its changes are shown against, including untracked files;
 * null outside a repository. Works on another server too.
 * @throws ParleyError `bad_request` when git fails.
 */
export async function hasChanges(workspace: Workspace, signal: AbortSignal): Promise<boolean | null> {
  const git = gitIn(workspace, workspace.workingDir)
  const root = (await git.ask(['rev-parse', '--show-toplevel'], signal))?.replace(/\n$/, '') ?? ''
  if (root === '') return null
  const base = await shownBaseOf({ root, git }, signal)
  const isSame = (await git.ask(['diff', '--quiet', '--no-ext-diff', '--no-textconv', base, '--'], signal)) !== null
  if (!isSame) return true
  return (await git.tell(['ls-files', '--others', '--exclude-standard'], signal)).trim() !== ''
}
