/** Ids derived from a call, so that a repeated call finds the conversation that it created. */
import { createHash } from 'node:crypto'
import { asConversationId, asEventId, type ConversationId, type EventId } from '@parley/protocol'

/** Id of the conversation that a call creates. `name` distinguishes the delegates of one call; empty for a task. */
export const childId = (parent: ConversationId, callId: string, name = ''): ConversationId =>
  asConversationId(derived(['sub-agent', parent, callId, name]))

/** Id of the message with which a call assigns work to a sub-agent. */
export const workId = (child: ConversationId, callId: string): EventId => asEventId(derived(['work', child, callId]))

/** Id of a task for the model. Source: agent-core.md 12.1. */
export const taskId = (child: ConversationId): string => `task_${child.slice(0, 8)}`

/** A UUIDv8 of these words. */
function derived(words: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(words)).digest('hex')
  const variant = (8 + (Number.parseInt(hex.charAt(16), 16) & 3)).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
