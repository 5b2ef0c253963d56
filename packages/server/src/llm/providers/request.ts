/** Converts a configuration and a request to one call of a provider library. Pure. */
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { LLM } from '@parley/protocol'
import type { ModelFeatures } from '../models/features.ts'
import type { LlmMessage, LlmRequest, LlmTool } from '../llm.ts'
import { isSignedByAnthropic, toPrompt } from '../prompt/prompt.ts'
import type { Remote } from '../models/route.ts'

type Effort = Exclude<LanguageModelV4CallOptions['reasoning'], undefined | 'provider-default'>
type ProviderOptions = NonNullable<SharedV4ProviderOptions[string]>

const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/** Claude families with a thinking budget that counts in the output limit; later ones adapt by themselves. */
const BUDGET_THINKING = /claude-(3-7|(opus|sonnet)-4(-[015])?(-20\d{6}|$)|haiku-4-5)/i
const LEAST_BUDGET = 1024
/** Share of the output limit for thinking, by effort. */
const SHARE: Record<string, number> = { minimal: 0.02, low: 0.1, medium: 0.3, high: 0.6, xhigh: 0.8, max: 0.9 }

/** Limits that every Gemini with a thinking budget accepts. */
const GEMINI_BUDGET = { min: 512, max: 24_576 }

const MANY_IMAGES = 20

/** OpenAI models that accept only `max_completion_tokens`. */
const COMPLETION_TOKENS = /(^|\/)(gpt-[5-9]|o[134](-|$))/i

/**
 * Attribution headers of OpenRouter are sent only when they are configured: the defaults of the record name another
 * project.
 */
const DEFAULTS = LLM.parse({})

function headersOf(config: LLM, { priceProvider }: Remote): Record<string, string> | null {
  if (priceProvider !== 'openrouter') return config.extra_headers
  const { openrouter_site_url: site, openrouter_app_name: app } = config
  return {
    ...(site === DEFAULTS.openrouter_site_url ? {} : { 'HTTP-Referer': site }),
    ...(app === DEFAULTS.openrouter_app_name ? {} : { 'X-Title': app }),
    ...config.extra_headers,
  }
}

/** Returns the call, without the signal. `temperature` replaces the configured one when given. */
export function toCall(
  config: LLM,
  route: Remote,
  features: ModelFeatures,
  request: LlmRequest,
  temperature = config.temperature,
): LanguageModelV4CallOptions {
  const cacheMarkers = config.caching_prompt && features.cacheMarkers
  const samples = samplesFreely(config, route, features)
  const call: LanguageModelV4CallOptions = {
    prompt: toPrompt(request.messages, {
      api: route.api,
      cacheMarkers,
      echoReasoning: features.echoReasoning,
      vision: features.vision,
      stringContent: features.stringContent,
      maxPixels: features.limitsPixels ? pixelLimit(request.messages) : null,
      sealedReasoning: config.enable_encrypted_reasoning,
    }),
    ...optional('maxOutputTokens', config.max_output_tokens),
    ...(samples ? { ...optional('temperature', temperature), ...optional('topP', config.top_p) } : {}),
    ...(samples && route.api !== 'compatible' ? optional('topK', config.top_k) : {}),
    ...optional('seed', config.seed),
    ...(request.stop === undefined ? {} : { stopSequences: [...request.stop] }),
    ...optional('headers', headersOf(config, route)),
    ...(request.tools.length > 0 ? { tools: toTools(request.tools), toolChoice: { type: 'auto' } } : {}),
  }
  const effort =
    features.reasoningEffort && config.capability_overrides.thinking_mode !== 'none' ? config.reasoning_effort : null
  switch (route.api) {
    case 'anthropic':
      return anthropicCall(call, config, route, request, effort)
    case 'google':
      return googleCall(call, config, route, effort)
    case 'compatible':
      return { ...call, providerOptions: { openaiCompatible: compatibleOptions(config, route, effort) } }
    default:
      return { ...call, providerOptions: { openai: openAiOptions(config, features, request, route, effort) } }
  }
}

/** Pixels on either side of an image; fewer with many images in a request. Source: agent-core.md 10.10. */
function pixelLimit(messages: readonly LlmMessage[]): number {
  const images = messages.reduce(
    (sum, { content }) => sum + content.filter(({ type }) => (type as string) === 'image').length,
    0,
  )
  return images > MANY_IMAGES ? 2000 : 8000
}

/** Sampling settings are dropped where a reasoning model would refuse them (10.2); Gemini accepts them. */
function samplesFreely(config: LLM, route: Remote, features: ModelFeatures): boolean {
  if (!config.drop_params) return true
  if (config.capability_overrides.supports_sampling_params !== undefined)
    return config.capability_overrides.supports_sampling_params === true
  return route.api !== 'compatible' || !features.reasoningEffort || /gemini/i.test(config.model)
}

/**
 * The library adds a thinking budget to the output limit, so a configured limit is split here instead of exceeded.
 * A budget also requires that the open tool loop begins with a thinking block of the same model.
 */
function anthropicCall(
  call: LanguageModelV4CallOptions,
  config: LLM,
  route: Remote,
  request: LlmRequest,
  effort: string | null,
): LanguageModelV4CallOptions {
  // The arguments of a call are validated as a whole, and no beta header is needed.
  const plain = { ...call, providerOptions: { anthropic: { toolStreaming: false } } }
  if (effort === null) return plain
  if (!BUDGET_THINKING.test(route.modelId)) return { ...plain, ...knownEffort(effort) }
  const limit = config.max_output_tokens
  if (effort === 'none' || !loopBeginsThinking(request.messages)) return plain
  if (limit === null) return { ...plain, ...knownEffort(effort) }
  const budgetTokens = Math.floor(Math.min(config.extended_thinking_budget ?? Infinity, limit * (SHARE[effort] ?? 0.6)))
  if (budgetTokens < LEAST_BUDGET) return plain
  return {
    ...plain,
    maxOutputTokens: limit - budgetTokens,
    providerOptions: { anthropic: { toolStreaming: false, thinking: { type: 'enabled', budgetTokens } } },
  }
}

/** Thoughts count in the output limit, and the library's budgets ignore a configured limit. */
function googleCall(
  call: LanguageModelV4CallOptions,
  config: LLM,
  route: Remote,
  effort: string | null,
): LanguageModelV4CallOptions {
  if (effort === null) return call
  const includeThoughts = effort !== 'none'
  const limit = config.max_output_tokens
  if (limit === null || !includeThoughts || !/gemini-2\.5/i.test(route.modelId))
    return { ...call, ...knownEffort(effort), providerOptions: { google: { thinkingConfig: { includeThoughts } } } }
  const thinkingBudget = Math.min(
    GEMINI_BUDGET.max,
    Math.max(GEMINI_BUDGET.min, Math.floor(limit * (SHARE[effort] ?? 0.6))),
  )
  return { ...call, providerOptions: { google: { thinkingConfig: { includeThoughts, thinkingBudget } } } }
}

function loopBeginsThinking(messages: readonly LlmMessage[]): boolean {
  const last = messages.findLast((message) => message.role === 'assistant')
  if (last === undefined || last.toolCalls.length === 0) return true
  return (last.thinkingBlocks ?? []).some(isSignedByAnthropic)
}

/** The library puts unknown members into the body as they are. */
function compatibleOptions(config: LLM, route: Remote, effort: string | null): ProviderOptions {
  const completion = COMPLETION_TOKENS.test(route.modelId) && config.max_output_tokens !== null
  return {
    ...optional('reasoningEffort', effort),
    ...optional('top_k', config.top_k),
    ...(completion ? { max_completion_tokens: config.max_output_tokens, max_tokens: undefined } : {}),
    ...config.litellm_extra_body,
  } as ProviderOptions
}

function openAiOptions(
  config: LLM,
  features: ModelFeatures,
  request: LlmRequest,
  route: Remote,
  effort: string | null,
): ProviderOptions {
  return {
    ...optional('reasoningEffort', effort),
    ...optional('promptCacheKey', request.cacheKey),
    ...(features.cacheRetention ? optional('promptCacheRetention', config.prompt_cache_retention) : {}),
    // Nothing of a conversation is stored at the provider. Summaries need a verified organisation, so they are only
    // sent on request.
    ...(route.api === 'responses' ? { store: false, reasoningSummary: config.reasoning_summary } : {}),
  }
}

const knownEffort = (effort: string | null): { reasoning?: Effort } =>
  effort !== null && EFFORTS.has(effort) ? { reasoning: effort as Effort } : {}

function toTools(tools: readonly LlmTool[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parameters,
  }))
}

/** Returns `{ [key]: value }`, or `{}` for null and undefined. */
function optional<K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } {
  return (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
