/** The endpoint row for results of client tool calls. Parley's own; see docs/client-tools.md. */
import { z } from 'zod'
import { ContentPart } from '../events/message.ts'
import { laxBoolean } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint, LARGE_BODY_LIMIT_BYTES } from './endpoint.ts'
import { list } from '../lists.ts'

export const ClientToolResult = z.strictObject({
  /** Plain text, or parts of text and images. */
  content: z.union([z.string(), list(ContentPart)]),
  /** The call failed; `content` holds the reason. */
  is_error: laxBoolean().default(false),
})
/** The result of a client tool call. */
export type ClientToolResult = z.infer<typeof ClientToolResult>
export type ClientToolResultInput = z.input<typeof ClientToolResult>

export const postClientToolResult = endpoint({
  operationId: 'postClientToolResult',
  method: 'POST',
  tag: 'Conversations',
  auth: 'session_key',
  path: '/api/conversations/{conversation_id}/events/{event_id}/result',
  description: 'Stores the result of a client tool call; the event is an ActionEvent with awaits_result.',
  params: z.object({ conversation_id: laxConversationId(), event_id: z.string() }),
  body: ClientToolResult,
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  ok: { status: 200, schema: Success, description: 'Stored durably; the agent continues with the result' },
  errors: [400, 404, 409],
})
