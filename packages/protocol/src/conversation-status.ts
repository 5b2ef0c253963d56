/** Execution status of a conversation. Source: interface.md, Execution status. */
import { z } from 'zod'

export const ConversationExecutionStatus = z.enum([
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
])
export type ConversationExecutionStatus = z.infer<typeof ConversationExecutionStatus>

export const ConversationStatus = z.enum(['STARTING', 'RUNNING', 'STOPPED'])
/** Status in the response of New Conversation. Source: interface.md, Conversation status. */
export type ConversationStatus = z.infer<typeof ConversationStatus>
