/** What one answer took: tokens, time, money. Source: agent-core.md 10.8. */
import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { calcPrice } from '@pydantic/genai-prices'
import type { LLM } from '@parley/protocol'
import type { LlmUsage } from './llm.ts'
import type { Remote } from './route.ts'

/** US dollars and window of a model, as the table knows them; null where it does not. */
export type Quote = { costUsd: number | null; contextWindow: number | null }

type Counts = { input: number; output: number; cacheRead: number; cacheWrite: number }

/** Prices of all known models. Offline: the table is part of the package. */
export type PriceBook = (route: Remote, modelName: string, counts: Counts) => Quote

const UNKNOWN: Quote = { costUsd: null, contextWindow: null }
/** Proxies report what they were charged in this header. */
const COST_HEADER = 'x-litellm-response-cost'

/** Loads the table, which takes some 30 ms and 20 MB; so nothing but a first answer asks for it. */
export async function loadPriceBook(): Promise<PriceBook> {
  const table = await import('@pydantic/genai-prices')
  return (route, modelName, counts) =>
    route.priceProvider === 'none' ? UNKNOWN : lookUp(table.calcPrice, route.priceProvider, modelName, counts)
}

function lookUp(calculate: typeof calcPrice, providerId: string | null, modelName: string, counts: Counts): Quote {
  const usage = {
    input_tokens: counts.input,
    output_tokens: counts.output,
    cache_read_tokens: counts.cacheRead,
    cache_write_tokens: counts.cacheWrite,
  }
  const options = providerId === null ? {} : { providerId }
  // Behind a proxy a name can carry its own provider: `anthropic/claude-…`.
  const bare = modelName.slice(modelName.lastIndexOf('/') + 1)
  const found = calculate(usage, modelName, options) ?? (bare === modelName ? null : calculate(usage, bare, options))
  return found === null ? UNKNOWN : { costUsd: found.total_price, contextWindow: found.model.context_window ?? null }
}

type Answered = {
  config: LLM
  route: Remote
  tokens: LanguageModelV4Usage | null
  headers: Record<string, string>
  latency: number
  book: PriceBook
}

/** `prompt_tokens` includes cached ones; `per_turn_token` is this call's total, `context_window` 0 where unknown. */
export function toUsage({ config, route, tokens, headers, latency, book }: Answered): LlmUsage {
  const { inputTokens, outputTokens } = tokens ?? {}
  const cacheRead = inputTokens?.cacheRead ?? 0
  const cacheWrite = inputTokens?.cacheWrite ?? 0
  const input = Math.max(inputTokens?.total ?? 0, cacheRead + cacheWrite)
  const output = outputTokens?.total ?? 0
  const counts = { input, output, cacheRead, cacheWrite }
  const quote = book(route, config.model_canonical_name ?? route.modelId, counts)
  return {
    tokens: {
      model: config.model,
      prompt_tokens: input,
      completion_tokens: output,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      reasoning_tokens: outputTokens?.reasoning ?? 0,
      context_window: config.max_input_tokens ?? quote.contextWindow ?? 0,
      per_turn_token: input + output,
    },
    costUsd: configuredCost(config, counts) ?? reportedCost(headers, tokens) ?? quote.costUsd,
    latency,
  }
}

/** Both prices of the configuration are needed for one. */
function configuredCost(
  { input_cost_per_token: perInput, output_cost_per_token: perOutput }: LLM,
  { input, output }: Counts,
): number | null {
  return perInput === null || perOutput === null ? null : input * perInput + output * perOutput
}

function reportedCost(headers: Record<string, string>, tokens: LanguageModelV4Usage | null): number | null {
  const cost = Number(headers[COST_HEADER] ?? tokens?.raw?.cost ?? Number.NaN)
  return Number.isFinite(cost) && cost >= 0 ? cost : null
}
