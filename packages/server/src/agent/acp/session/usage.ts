/** Cost and tokens that the agent reports. Pure. Source: agent-core.md 11.11, F37. */
import type { Draft } from '@parley/protocol'

export type SessionUsage = {
  /** US dollars of the whole session, as last reported; null: not reported. */
  sessionCost: number | null
  /** Tokens in the model's context window; 0: unknown. */
  contextWindow: number
}

export const NO_USAGE: SessionUsage = { sessionCost: null, contextWindow: 0 }

type Loose = Record<string, unknown>
const loose = (value: unknown): Loose => (typeof value === 'object' && value !== null ? (value as Loose) : {})
const count = (...values: unknown[]): number => {
  const found = values.find((value) => typeof value === 'number' && Number.isFinite(value) && value >= 0)
  return Math.round((found as number | undefined) ?? 0)
}

/** The session's usage after a usage update. */
export function withUsageUpdate(before: SessionUsage, update: Loose): SessionUsage {
  const { amount, currency } = loose(update['cost'])
  const isDollars = typeof currency !== 'string' || currency.toUpperCase() === 'USD'
  const isCost = typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 && isDollars
  return {
    sessionCost: isCost ? amount : before.sessionCost,
    contextWindow: count(update['size']) || before.contextWindow,
  }
}

export type Tokens = { input: number; output: number; cacheRead: number; cacheWrite: number; thought: number }

/** Tokens of one prompt; null when the answer reports none. */
export function tokensOf(answer: Loose): Tokens | null {
  const usage = loose(answer['usage'])
  const quota = loose(loose(loose(answer['_meta'])['quota'])['token_count'])
  const tokens = {
    input: count(usage['inputTokens'], usage['input_tokens'], quota['input_tokens']),
    output: count(usage['outputTokens'], usage['output_tokens'], quota['output_tokens']),
    cacheRead: count(usage['cachedReadTokens'], usage['cached_read_tokens']),
    cacheWrite: count(usage['cachedWriteTokens'], usage['cached_write_tokens']),
    thought: count(usage['thoughtTokens'], usage['thought_tokens']),
  }
  return tokens.input > 0 || tokens.output > 0 ? tokens : null
}

export type PromptUsage = {
  usageId: string
  model: string
  responseId: string
  tokens: Tokens | null
  /** US dollars of this prompt; null: unknown. */
  cost: number | null
  contextWindow: number
  /** Seconds. */
  latency: number
  seenSeq?: number
}

/** Prompt tokens include those read from a cache, as in all usage events; the agent reports them separately. */
export function usageDraft({
  usageId,
  model,
  responseId,
  tokens,
  cost,
  contextWindow,
  latency,
  seenSeq,
}: PromptUsage): Draft {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, thought = 0 } = tokens ?? {}
  return {
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id: usageId,
    model,
    response_id: responseId,
    cost,
    latency,
    tokens: {
      model,
      prompt_tokens: input + cacheRead + cacheWrite,
      completion_tokens: output,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      reasoning_tokens: thought,
      context_window: contextWindow,
      per_turn_token: input + cacheRead + cacheWrite + output,
      response_id: responseId,
    },
    ...(seenSeq === undefined ? {} : { seen_seq: seenSeq }),
  }
}
