/** What calls of tools are about, as the rows and their open form show it. */
import { listOf, membersOf } from '../../log/read.ts'
import type { Call } from '../call.ts'

/** The arguments without the members that the server adds. */
export function argumentsOf({ action }: Call): unknown {
  if (action['kind'] === 'MCPToolAction') return action['data']
  const { kind: _kind, ...rest } = action
  return rest
}

/** The tasks of a list, as the result or else the call has them. */
export const tasksOf = ({ action, observation }: Call) => {
  const list = listOf(observation['task_list'])
  return (list.length > 0 ? list : listOf(action['task_list'])).map(membersOf)
}
