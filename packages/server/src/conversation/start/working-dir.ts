import { isAbsolute, resolve } from 'node:path'
import { invalidInput, type BaseWorkspace } from '@parley/protocol'

/** The workspace of a start request, with an absolute working directory if it is on this machine. */
export const placedWorkspace = (workspace: BaseWorkspace, cwd: string): BaseWorkspace =>
  workspace.kind === 'RemoteWorkspace'
    ? workspace
    : { ...workspace, working_dir: workingDirOf(workspace.working_dir, cwd) }

/**
 * The absolute working directory of a new conversation on this machine.
 * @param given as the request names it
 * @param cwd the directory in which the server was started; start of relative paths
 * @throws ParleyError `invalid_input` for a name that no directory can have, and for `~`, which only a shell expands.
 * Source: docs/agent-server.md, Working directory.
 */
function workingDirOf(given: string, cwd: string): string {
  const at = ['workspace', 'working_dir']
  if (given.trim() === '')
    throw invalidInput(
      'working_dir is empty. Give an absolute path, or one relative to the directory of the server.',
      at,
    )
  if (given.includes('\0')) throw invalidInput('working_dir holds the character NUL. Give a path without it.', at)
  if (/^~(?:\/|$)/.test(given))
    throw invalidInput('working_dir begins with ~, which this server does not expand. Give the absolute path.', at)
  return isAbsolute(given) ? given : resolve(cwd, given)
}
