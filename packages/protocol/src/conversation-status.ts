/** Where a conversation stands. Source: seed: Execution status of a conversation. */
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
/** Answered by New Conversation. Source: seed: Conversation status returned by New Conversation. */
export type ConversationStatus = z.infer<typeof ConversationStatus>
