import { ParleyError, type ConversationId } from '@parley/protocol'

/** Names the part of a conversation that cannot be read, and what to do. Nothing is changed by the failed attempt to read. */
export const unreadable = (id: ConversationId, part: string, cause: unknown): ParleyError =>
  new ParleyError(
    'conflict',
    `Conversation ${id} cannot be read: ${part} is damaged, or a newer version wrote it. ` +
      'Start the version that wrote it, restore the store from a backup, or delete the conversation.',
    { details: { reason: 'unreadable', conversation_id: id }, cause },
  )

/** True for an error of `unreadable`. */
export const isUnreadable = (error: unknown): error is ParleyError =>
  error instanceof ParleyError && error.details['reason'] === 'unreadable'
