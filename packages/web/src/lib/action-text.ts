/** The text of an action that a person decides about. */
import type { WaitingAction } from '@parley/protocol'

type Text = Pick<WaitingAction, 'action' | 'arguments'>

/** The command of an action that is one; null for any other. */
export function commandOf({ action }: Pick<WaitingAction, 'action'>): string | null {
  if (typeof action !== 'object' || action === null || 'path' in action || !('command' in action)) return null
  return typeof action.command === 'string' ? action.command : null
}

/** The command, otherwise the members of the action; the arguments of an action that could not be read. */
export function textOfAction(waiting: Text): string {
  const command = commandOf(waiting)
  if (command !== null) return command
  if (typeof waiting.action !== 'object' || waiting.action === null) return waiting.arguments
  return Object.entries(waiting.action)
    .filter(([name, value]) => name !== 'kind' && value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}
