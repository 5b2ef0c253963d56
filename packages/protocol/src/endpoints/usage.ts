/** Endpoint row of the usage of models by one conversation. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { laxConversationId } from '../lax-text.ts'
import { MetricsSnapshot, TokenUsage } from '../metrics.ts'
import { endpoint } from './endpoint.ts'

const TokenCounts = TokenUsage.pick({
  prompt_tokens: true,
  completion_tokens: true,
  cache_read_tokens: true,
  cache_write_tokens: true,
  reasoning_tokens: true,
})
export type TokenCounts = z.infer<typeof TokenCounts>

const UsageCall = z.object({
  /** Of its record in the log. */
  seq: z.int(),
  /** UTC, without offset. */
  at: z.string(),
  /** The purpose of the call; of a sub-agent its tool and name, divided by a colon. */
  usage_id: z.string(),
  /** The model that answered, which may be a fallback. */
  model: z.string(),
  tokens: TokenCounts,
  /** US dollars; null when no price is known. */
  cost: z.number().nullable(),
  /** Seconds; null for a record that sums up calls of a sub-agent, or of the conversation that a fork comes from. */
  latency: z.number().nullable(),
})
export type UsageCall = z.infer<typeof UsageCall>

const ModelUsage = z.object({
  model: z.string(),
  calls: z.int(),
  tokens: TokenCounts,
  /** US dollars of the calls with a known price. */
  cost: z.number(),
  unpriced_calls: z.int(),
})
export type ModelUsage = z.infer<typeof ModelUsage>

export const ConversationUsage = z.object({
  /** Totals by purpose, those of the state `stats`. */
  totals: z.record(z.string(), MetricsSnapshot),
  /** Sums of all calls by model, the most expensive one first; null on further pages. */
  models: z.array(ModelUsage).nullable(),
  /** Newest first. */
  calls: z.array(UsageCall),
  /** `before_seq` of the next page; null: there is none. */
  next_before_seq: z.int().nullable(),
})
export type ConversationUsage = z.infer<typeof ConversationUsage>

export const getConversationUsage = endpoint({
  operationId: 'getConversationUsage',
  tag: 'Conversations',
  auth: 'session_key',
  method: 'GET',
  path: '/api/conversations/{conversation_id}/usage',
  description:
    'Returns the tokens and costs of a conversation: totals, sums by model, and a page of its calls of models.',
  params: z.object({ conversation_id: laxConversationId() }),
  query: z.object({
    /** Only calls whose record has a smaller seq. */
    before_seq: laxInt({ ge: 1 }).optional(),
    limit: laxInt({ ge: 1, le: 500 }).default(100),
  }),
  ok: { status: 200, schema: ConversationUsage, description: 'The usage' },
  errors: [404],
})
