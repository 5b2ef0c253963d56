/** Endpoint rows of the completion log. Source: docs/models.md, Completion log. */
import { z } from 'zod'
import { laxConversationId } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

export const CompletionFile = z.object({
  /** Begins with the time of the request. */
  filename: z.string(),
  bytes: z.int(),
  /** ISO 8601, UTC. */
  created_at: z.string(),
})
/** A file of the completion log. */
export type CompletionFile = z.infer<typeof CompletionFile>

const completions = { tag: 'Conversations', auth: 'session_key', method: 'GET' } as const

export const listCompletions = endpoint({
  operationId: 'listCompletions',
  ...completions,
  path: '/api/conversations/{conversation_id}/completions',
  description: 'Lists the files of the completion log, oldest first; none without `log_completions`.',
  params: z.object({ conversation_id: laxConversationId() }),
  ok: { status: 200, schema: z.object({ items: z.array(CompletionFile) }), description: 'The files' },
  errors: [404, 409],
})

export const readCompletion = endpoint({
  operationId: 'readCompletion',
  ...completions,
  path: '/api/conversations/{conversation_id}/completions/{filename}',
  description: 'Returns a request to a model and what came of it, secrets masked.',
  params: z.object({ conversation_id: laxConversationId(), filename: z.string() }),
  isAuditedRead: true,
  ok: { status: 200, schema: z.record(z.string(), z.unknown()), description: 'The content of the file' },
  errors: [404, 409],
})
