/** Checks a working directory for changes, for a critic. Source: agent-core.md 3.3, F48. */
import type { Workspace } from '../workspace.ts'
import { locate, shownBaseOf } from './repository.ts'
import { DIFF, gitIn } from './run.ts'

/**
 * Returns true when the working directory differs from the base that its changes are shown against, including untracked files;
 * null outside a repository. Works on another server too.
 * @throws ParleyError `bad_request` when git fails.
 */
export async function hasChanges(workspace: Workspace, signal: AbortSignal): Promise<boolean | null> {
  const place = await locate(workspace, workspace.workingDir, signal)
  if (place === null) return null
  const git = gitIn(workspace, workspace.workingDir, place)
  const base = await shownBaseOf({ root: place.root, git }, signal)
  const isSame = (await git.ask(['diff', ...DIFF, '--quiet', base, '--'], signal)) !== null
  if (!isSame) return true
  return (await git.tell(['ls-files', '--others', '--exclude-standard'], signal)).trim() !== ''
}
