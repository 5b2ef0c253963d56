/** Endpoint rows of Parley's own for pages that show conversations: outlines of logs, waiting approvals. */
import { z } from 'zod'
import { RiskReason } from '../events/control.ts'
import { ConfirmationPolicy, SecurityRisk } from '../policy.ts'
import { laxInt } from '../lax.ts'
import { laxConversationId, text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

/** Most events of one outline. */
const MAX_OUTLINE = 50_000

const numbers = z.array(z.int())

export const OutlineType = z.object({
  /** As it is stored: control events have kinds of their own. */
  kind: z.string(),
  source: z.string().nullable(),
  tool: z.string().optional(),
  /** Of an action: LOW, MEDIUM or HIGH. Absent: not known. */
  risk: z.string().optional(),
  /** The result of a tool, or the event itself, reports a failure. */
  error: z.literal(true).optional(),
  images: z.literal(true).optional(),
  /** Of an ApprovalEvent. */
  decision: z.enum(['accept', 'reject']).optional(),
})
/** What many events have in common. Members that do not apply are absent. */
export type OutlineType = z.infer<typeof OutlineType>

export const EventOutline = z.object({
  /** Seqs of the first and the last element; 0 without one. */
  first_seq: z.int(),
  last_seq: z.int(),
  /** Of the whole log. */
  newest_seq: z.int(),
  /** Time of the first element, in milliseconds since 1970. */
  started_at: z.int(),
  types: z.array(OutlineType),
  /** Index into `types`. */
  type: numbers,
  /** How many seqs before the event its parent is; 0: it has none. */
  parent: numbers,
  /** As `parent`, for the event that it is about: the action of a result, the batch of a decision, the new leaf of a move. */
  refers: numbers,
  /** Milliseconds after the element before; may be negative. */
  at: numbers,
  /** Bytes as it is stored, in units of 64, rounded up. */
  size: numbers,
})
/** Kind, place, time and size of consecutive events, one column each: element `i` is the event with the seq `first_seq + i`. */
export type EventOutline = z.infer<typeof EventOutline>

export const getEventOutline = endpoint({
  operationId: 'getEventOutline',
  tag: 'Events',
  auth: 'session_key',
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/outline',
  description: 'Returns kind, place, time and size of the newest events of a range, oldest first.',
  params: z.object({ conversation_id: laxConversationId() }),
  query: z.object({
    /** Only events with a smaller seq. */
    before_seq: laxInt({ ge: 1 }).optional(),
    /** Only events with a greater seq. */
    after_seq: laxInt({ ge: 0 }).optional(),
    limit: laxInt({ ge: 1, le: MAX_OUTLINE }).default(MAX_OUTLINE),
  }),
  ok: { status: 200, schema: EventOutline, description: 'The outline' },
  errors: [404],
})

export const WaitingAction = z.object({
  action_id: z.string(),
  risk: SecurityRisk,
  /** The server and schema of a tool that another server provides. */
  origin: z.string().optional(),
  reasons: z.array(RiskReason).optional(),
  tool_name: z.string(),
  summary: z.string().nullable(),
  /** The action as it is stored, secrets masked; null when it could not be read. */
  action: z.unknown(),
  /** JSON of the arguments as the model wrote them, secrets masked. */
  arguments: z.string(),
  /** Text of the answer before the call. */
  thought: z.string(),
})
/** An action that a person decides about. */
export type WaitingAction = z.infer<typeof WaitingAction>

export const WaitingApproval = z.object({
  /** The conversation that answers the batch: that of the sub-agent for an action of a sub-agent. */
  conversation_id: z.string(),
  /** Of the conversation, or of the nearest one above it that has one. */
  title: z.string().nullable(),
  batch_id: z.string(),
  /** Of the request in the log of the conversation. */
  seq: z.int(),
  /** UTC, without offset. */
  asked_at: z.string(),
  /** The policy that required the approval. */
  policy: ConfirmationPolicy,
  /** The top-level conversation; without sub-agents the same as `conversation_id`. */
  root_conversation_id: z.string(),
  /** Names of the sub-agents from the top-level conversation to the one that asks; null: it asks itself. */
  sub_agent_of: z.array(z.string()).nullable(),
  actions: z.array(WaitingAction),
})
/** A batch that waits for a decision. */
export type WaitingApproval = z.infer<typeof WaitingApproval>

export const WaitingApprovals = z.object({
  approvals: z.array(WaitingApproval),
  /** Further batches wait; they are returned when some of these have been decided. */
  has_more: z.boolean(),
})
export type WaitingApprovals = z.infer<typeof WaitingApprovals>

export const getApprovals = endpoint({
  operationId: 'getApprovals',
  tag: 'Conversations',
  auth: 'session_key',
  method: 'GET',
  path: '/api/approvals',
  description: 'Returns the batches of actions that wait for a decision of the user, oldest first.',
  ok: { status: 200, schema: WaitingApprovals, description: 'The batches; at most 200' },
  errors: [],
})

export const findEvents = endpoint({
  operationId: 'findEvents',
  tag: 'Events',
  auth: 'session_key',
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/find',
  description: 'Returns the places of a text in messages, calls and results, newest first, each with an excerpt.',
  params: z.object({ conversation_id: laxConversationId() }),
  query: z.object({
    /** The text; case-insensitive. */
    q: text({ min: 1, max: 500 }),
    /** Kinds, divided by commas; default: all. */
    kinds: text({ min: 1, max: 500 }).optional(),
    limit: laxInt({ ge: 1, le: 200 }).default(50),
  }),
  ok: {
    status: 200,
    schema: z.array(z.object({ seq: z.int(), excerpt: z.string() })),
    description: 'The places',
  },
  errors: [404],
})
