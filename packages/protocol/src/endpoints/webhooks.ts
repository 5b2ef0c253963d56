/** Endpoint rows of webhooks: the receiver, and the deliveries of this server. Source: interface.md, Events; conversation-service.md 5. */
import { z } from 'zod'
import { ConversationInfo } from '../conversation.ts'
import { laxInt } from '../lax.ts'
import { laxConversationId, text } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint, LARGE_BODY_LIMIT_BYTES } from './endpoint.ts'
import { list } from '../lists.ts'

/** API version that the receiver's description declares. Source: interface.md, Versioning. */
export const WEBHOOK_VERSION = '0.0.1'

export const ReceivedEvent = z.looseObject({
  kind: text({ min: 1 }),
  id: text({ min: 1 }),
  /** Absent: the time of receipt. */
  timestamp: z.string().optional(),
})
/** An event of another server. Kinds of every version are accepted and stored unchanged. */
export type ReceivedEvent = z.infer<typeof ReceivedEvent>

const receiver = { tag: 'Webhooks', auth: 'session_key', method: 'POST' } as const
const stored = { status: 200, schema: Success, description: 'Stored, now or earlier' } as const

export const receiveConversation = endpoint({
  operationId: 'receiveConversation',
  ...receiver,
  path: '/api/v1/webhooks/conversations',
  summary: 'On Conversation Update',
  description: 'Receives a conversation of another server that has started, paused, resumed or been deleted.',
  body: ConversationInfo,
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  ok: stored,
  errors: [503],
})

export const receiveEvents = endpoint({
  operationId: 'receiveEvents',
  ...receiver,
  path: '/api/v1/webhooks/events/{conversation_id}',
  description: 'Receives events of a conversation of another server.',
  params: z.object({ conversation_id: laxConversationId() }),
  body: list(ReceivedEvent),
  bodyLimitBytes: LARGE_BODY_LIMIT_BYTES,
  ok: stored,
  errors: [503, 507],
})

const DeliveryStatus = z.enum(['pending', 'delivered', 'parked'])

export const WebhookDelivery = z.object({
  /** Sent as `webhook-id` with every attempt. */
  id: z.string(),
  /** Base URL of the target. */
  target: z.string(),
  conversation_id: z.string(),
  kind: z.enum(['notification', 'events']),
  /** Sent as `X-Parley-Event`. */
  event: z.string(),
  /** Sent as `X-Parley-Sequence`. */
  sequence: z.int(),
  status: DeliveryStatus,
  created_at: z.string(),
  attempts: z.int(),
  /** Time of its creation or of the last redelivery; its age counts from it. */
  queued_at: z.string(),
  first_attempt_at: z.string().nullable(),
  /** Null while an earlier delivery of the same conversation is in progress, and after the last attempt. */
  next_attempt_at: z.string().nullable(),
  /** HTTP status of the latest answer. */
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  /** Time of the acknowledgement or of the parking. */
  finished_at: z.string().nullable(),
})
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

const operator = { tag: 'Webhooks', auth: 'session_key' } as const

export const listDeliveries = endpoint({
  operationId: 'listDeliveries',
  ...operator,
  method: 'GET',
  path: '/api/webhooks/deliveries',
  description: 'Lists the webhook deliveries, newest first; for administrators.',
  query: z.object({
    status: DeliveryStatus.optional(),
    limit: laxInt({ gt: 0, le: 100 }).default(100),
    /** Id of the last delivery of the previous page; an unknown one starts at the beginning. */
    after: z.string().optional(),
  }),
  ok: {
    status: 200,
    schema: z.object({ items: z.array(WebhookDelivery), next_after: z.string().nullable() }),
    description: 'The page',
  },
  errors: [403],
})

export const redeliver = endpoint({
  operationId: 'redeliver',
  ...operator,
  method: 'POST',
  path: '/api/webhooks/deliveries/{delivery_id}/redeliver',
  description: 'Sends a parked or acknowledged delivery again; for administrators.',
  params: z.object({ delivery_id: z.string() }),
  ok: { status: 200, schema: Success, description: 'Queued behind earlier deliveries of the conversation' },
  errors: [403, 404, 409],
})
