/** The row by which a client brings back what came of a call of one of its tools. Ours; see docs/client-tools.md. */
import { z } from 'zod'
import { ContentPart } from '../events/message.ts'
import { laxBoolean } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

export const ClientToolResult = z.strictObject({
  /** Plain text, or parts of text and images. */
  content: z.union([z.string(), z.array(ContentPart)]),
  /** The call did not do what it was asked for; `content` says why. */
  is_error: laxBoolean().default(false),
})
/** What came of a call of a client's tool. */
export type ClientToolResult = z.infer<typeof ClientToolResult>
export type ClientToolResultInput = z.input<typeof ClientToolResult>

export const postClientToolResult = endpoint({
  method: 'POST',
  tag: 'Conversations',
  auth: 'session_key',
  path: '/api/conversations/{conversation_id}/events/{event_id}/result',
  summary:
    'Bring the result of a call that waits for it: the event is the ActionEvent of a client tool with awaits_result',
  params: z.object({ conversation_id: laxConversationId(), event_id: z.string() }),
  body: ClientToolResult,
  ok: { status: 200, schema: Success, description: 'Taken, durably; the agent goes on with it' },
  errors: [400, 404, 409],
})

export const clientToolRows = [postClientToolResult] as const
