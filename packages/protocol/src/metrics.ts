/** Metrics of model usage. Source: interface.md, Metrics records; agent-server-wire.md 5.13. */
import { z } from 'zod'
import { laxInt, laxNumber } from './lax.ts'
import { list, LIST_LIMITS, map } from './lists.ts'

const count = () => laxInt({ ge: 0 }).default(0)

export const TokenUsage = z.object({
  model: z.string().default(''),
  prompt_tokens: count(),
  completion_tokens: count(),
  cache_read_tokens: count(),
  cache_write_tokens: count(),
  reasoning_tokens: count(),
  context_window: count(),
  per_turn_token: count(),
  response_id: z.string().default(''),
})
export type TokenUsage = z.infer<typeof TokenUsage>

export const Cost = z.object({
  model: z.string(),
  cost: laxNumber({ ge: 0 }),
  /** Seconds since 1970. */
  timestamp: laxNumber().optional(),
})
/** US dollars of one request. */
export type Cost = z.infer<typeof Cost>

export const ResponseLatency = z.object({
  model: z.string(),
  latency: laxNumber({ ge: 0 }),
  response_id: z.string(),
})
/** Seconds of one request. */
export type ResponseLatency = z.infer<typeof ResponseLatency>

const snapshotFields = {
  model_name: z.string().default('default'),
  accumulated_cost: laxNumber({ ge: 0 }).default(0),
  max_budget_per_task: laxNumber().nullable().default(null),
  accumulated_token_usage: TokenUsage.nullable().default(null),
}

export const MetricsSnapshot = z.object(snapshotFields)
/** Metrics without the three lists. */
export type MetricsSnapshot = z.infer<typeof MetricsSnapshot>

export const Metrics = z.object({
  ...snapshotFields,
  costs: list(Cost, { max: LIST_LIMITS.recorded }).default([]),
  response_latencies: list(ResponseLatency, { max: LIST_LIMITS.recorded }).default([]),
  token_usages: list(TokenUsage, { max: LIST_LIMITS.recorded }).default([]),
})
export type Metrics = z.infer<typeof Metrics>

export const ConversationStats = z.object({ usage_to_metrics: map(Metrics).default({}) })
/** Metrics per `usage_id` of the models in use. */
export type ConversationStats = z.infer<typeof ConversationStats>
