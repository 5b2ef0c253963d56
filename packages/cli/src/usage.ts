/** Tokens and cost of a conversation. */

export type Usage = { prompt_tokens: number; completion_tokens: number; cost: number }

type Snapshot = {
  accumulated_cost?: number
  accumulated_token_usage?: { prompt_tokens?: number; completion_tokens?: number } | null
}

/** Totals over every model of the `stats` of a state; cost in US dollars. Members that are missing count as 0. */
export function usageOf(stats: unknown): Usage {
  const metrics = (stats as { usage_to_metrics?: Record<string, Snapshot> } | null | undefined)?.usage_to_metrics ?? {}
  const usage: Usage = { prompt_tokens: 0, completion_tokens: 0, cost: 0 }
  for (const { accumulated_cost = 0, accumulated_token_usage: tokens } of Object.values(metrics)) {
    usage.prompt_tokens += tokens?.prompt_tokens ?? 0
    usage.completion_tokens += tokens?.completion_tokens ?? 0
    usage.cost += accumulated_cost
  }
  return usage
}
