/**
 * How a request to Anthropic's API asks for thinking. Pure.
 *
 * Rules
 *   T1. The parameters are the same in all requests of a conversation, because a change of them makes the cache of the messages invalid.
 *   T2. With a budget, the first answer after the newest message of a person must begin with a thinking block. A turn that another
 *       model began continues without thinking.
 *   T3. A request without thinking contains none.
 */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { LLM } from '@parley/protocol'
import type { LlmMessage, LlmRequest } from '../llm.ts'
import { beginsWithReasoning, type AssistantOptions } from '../prompt/assistant.ts'
import { knownEffort } from './effort.ts'

export type AnthropicThinking = {
  call: Pick<LanguageModelV4CallOptions, 'maxOutputTokens' | 'reasoning' | 'providerOptions'>
  isOff: boolean
}

/** Claude families with a thinking budget that counts in the output limit; later ones adapt by themselves. */
const BUDGET_THINKING = /claude-(3-7|(opus|sonnet)-4(-[015])?(-20\d{6}|$)|haiku-4-5)/i
const LEAST_BUDGET = 1024
/** Share of the output limit for thinking, by effort. */
export const THINKING_SHARE: Record<string, number> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.8,
  max: 0.9,
}

/** Lets models with a budget think between calls too. Versions before 4 do not know it; later ones do it by themselves. */
const INTERLEAVED = 'interleaved-thinking-2025-05-14'
const BINDING_CONTROLS = 'thinking-binding-controls-2026-08-01'
/**
 * From Claude 5.1 on a signature is valid only behind the messages that it was made for. A condensation changes these, and the vendor
 * then refuses the request or leaves the blocks out: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
 */
const LEFT_OUT = { blockBinding: { prefixMismatchBehavior: 'drop_block' } } as const

/** `effort` null: nothing is said about thinking. `limit`: output tokens of this request; null: those of the library. */
type Wanted = { modelId: string; effort: string | null; limit: number | null }

/**
 * The library adds a thinking budget to the output limit, so a configured limit is split here instead of exceeded. The budget depends on
 * the configured limit alone, also in a request with a higher one (T1).
 */
export function anthropicThinking(
  config: LLM,
  { modelId, effort, limit }: Wanted,
  { messages }: LlmRequest,
  assistant: AssistantOptions,
): AnthropicThinking {
  const isBudget = BUDGET_THINKING.test(modelId)
  const isOff = effort === 'none' || (isBudget && effort !== null && !isOpenFor(messages, assistant))
  if (!isBudget) return { call: { ...knownEffort(effort), ...options(bindingOf(modelId, effort)) }, isOff }
  if (effort === null || isOff) return { call: options(), isOff }
  const beta = /claude-3/i.test(modelId) ? {} : { anthropicBeta: [INTERLEAVED] }
  const { max_output_tokens: configured } = config
  if (configured === null) return { call: { ...knownEffort(effort), ...options(beta) }, isOff }
  const share = configured * (THINKING_SHARE[effort] ?? 0.6)
  const budgetTokens = Math.floor(Math.min(config.extended_thinking_budget ?? Infinity, share))
  if (budgetTokens < LEAST_BUDGET) return { call: options(), isOff: true }
  const thinking = { type: 'enabled', budgetTokens }
  return { call: { maxOutputTokens: (limit ?? configured) - budgetTokens, ...options({ ...beta, thinking }) }, isOff }
}

/** Returns whether the turn can continue with thinking (T2). */
function isOpenFor(messages: readonly LlmMessage[], assistant: AssistantOptions): boolean {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  const first = turn.find((message) => message.role === 'assistant')
  return first === undefined || beginsWithReasoning(first, assistant)
}

function bindingOf(modelId: string, effort: string | null): Record<string, unknown> {
  const [, major, minor] = /claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?!\d)/i.exec(modelId) ?? []
  const version = Number(major ?? 0) + Number(minor ?? 0) / 100
  if (version < 5.01) return {}
  const thinking = effort === null ? LEFT_OUT : { type: 'adaptive', display: 'summarized', ...LEFT_OUT }
  return { anthropicBeta: [BINDING_CONTROLS], thinking }
}

/** The arguments of a call are validated as a whole, and no beta header is needed for that. */
const options = (more: Record<string, unknown> = {}): { providerOptions: SharedV4ProviderOptions } => ({
  providerOptions: { anthropic: { toolStreaming: false, ...more } as never },
})
