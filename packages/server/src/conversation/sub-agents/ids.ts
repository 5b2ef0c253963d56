/** Ids that follow from a call, so that whoever performs it again finds what it has begun. */
import { createHash } from 'node:crypto'
import { asConversationId, asEventId, type ConversationId, type EventId } from '@parley/protocol'

/** The conversation that a call begins. `name` tells the delegates of one call apart; empty for a task. */
export const childId = (parent: ConversationId, callId: string, name = ''): ConversationId =>
  asConversationId(derived(['sub-agent', parent, callId, name]))

/** The message with which a call gives a sub-agent its work. */
export const workId = (child: ConversationId, callId: string): EventId => asEventId(derived(['work', child, callId]))

/** What the model knows a task by. Source: agent-core.md 12.1. */
export const taskId = (child: ConversationId): string => `task_${child.slice(0, 8)}`

/** A UUIDv8 of these words. */
function derived(words: readonly string[]): string {
  const hex = createHash('sha256').update(JSON.stringify(words)).digest('hex')
  const variant = (8 + (Number.parseInt(hex.charAt(16), 16) & 3)).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
