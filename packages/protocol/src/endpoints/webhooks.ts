/** Rows of webhooks: what other servers tell us, and what became of what we tell. Source: seed: Events; conversation-service.md 5. */
import { z } from 'zod'
import { ConversationInfo } from '../conversation.ts'
import { laxInt } from '../lax.ts'
import { laxConversationId, text } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

/** The version that the description of the receiver declares. Source: seed: Versioning. */
export const WEBHOOK_VERSION = '0.0.1'

export const ReceivedEvent = z.looseObject({
  kind: text({ min: 1 }),
  id: text({ min: 1 }),
  /** Absent: when it was received. */
  timestamp: z.string().optional(),
})
/** An event of another server: kinds of every version are taken, and kept as they came. */
export type ReceivedEvent = z.infer<typeof ReceivedEvent>

const receiver = { tag: 'Webhooks', auth: 'session_key', method: 'POST' } as const
const taken = { status: 200, schema: Success, description: 'Stored, or known already' } as const

export const receiveConversation = endpoint({
  ...receiver,
  path: '/api/v1/webhooks/conversations',
  summary: 'On Conversation Update: a conversation of another server has started, paused, resumed or been deleted',
  body: ConversationInfo,
  ok: taken,
  errors: [503],
})

export const receiveEvents = endpoint({
  ...receiver,
  path: '/api/v1/webhooks/events/{conversation_id}',
  summary: 'Events of a conversation of another server',
  params: z.object({ conversation_id: laxConversationId() }),
  body: z.array(ReceivedEvent),
  ok: taken,
  errors: [503],
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
  first_attempt_at: z.string().nullable(),
  /** Null while an earlier one of the same conversation is under way, and when it is over. */
  next_attempt_at: z.string().nullable(),
  /** HTTP status of the newest answer. */
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  /** When it was acknowledged or parked. */
  finished_at: z.string().nullable(),
})
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

const operator = { tag: 'Webhooks', auth: 'session_key' } as const

export const listDeliveries = endpoint({
  ...operator,
  method: 'GET',
  path: '/api/webhooks/deliveries',
  summary: 'Webhook deliveries, newest first; for administrators',
  query: z.object({
    status: DeliveryStatus.optional(),
    limit: laxInt({ gt: 0, le: 100 }).default(100),
    /** Id of the last delivery seen; an unknown one starts at the beginning. */
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
  ...operator,
  method: 'POST',
  path: '/api/webhooks/deliveries/{delivery_id}/redeliver',
  summary: 'Send a parked or acknowledged delivery again; for administrators',
  params: z.object({ delivery_id: z.string() }),
  ok: { status: 200, schema: Success, description: 'It is due, once what is under way before it is over' },
  errors: [403, 404, 409],
})

export const receiverRows = [receiveConversation, receiveEvents] as const
export const deliveryRows = [listDeliveries, redeliver] as const
