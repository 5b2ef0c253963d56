/** Endpoint rows of Parley's own for pages that show conversations: the outline of a log. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'

/** Most events of one outline. */
export const MAX_OUTLINE = 50_000

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
