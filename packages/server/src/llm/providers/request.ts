/** Converts a configuration and a request to one call of a provider library. Pure. */
import type { LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { LLM, type AnswerOrigin } from '@parley/protocol'
import type { ModelFeatures } from '../models/features.ts'
import type { LlmRequest } from '../llm.ts'
import type { AssistantOptions } from '../prompt/assistant.ts'
import { freeformTools, offeredTool } from '../prompt/freeform.ts'
import { toPrompt, type CacheTtl } from '../prompt/prompt.ts'
import type { Remote } from '../models/route.ts'
import { anthropicThinking, THINKING_SHARE } from './anthropic-thinking.ts'
import { knownEffort } from './effort.ts'
import { outputLimit } from './output-limit.ts'

type ProviderOptions = NonNullable<SharedV4ProviderOptions[string]>

/** Limits that every Gemini with a thinking budget accepts. */
const GEMINI_BUDGET = { min: 512, max: 24_576 }

/** Models that refuse a history with a call without a signature. */
const SIGNED_CALLS = /gemini-[3-9]/i

/** OpenAI models that accept only `max_completion_tokens`. */
const COMPLETION_TOKENS = /(^|\/)(gpt-[5-9]|o[134](-|$))/i

/**
 * Attribution headers of OpenRouter are sent only when they are configured: the defaults of the record name another
 * project.
 */
let parsed: LLM | undefined
const defaults = (): LLM => (parsed ??= LLM.parse({}))

function headersOf(config: LLM, { priceProvider }: Remote): Record<string, string> | null {
  if (priceProvider !== 'openrouter') return config.extra_headers
  const { openrouter_site_url: site, openrouter_app_name: app } = config
  return {
    ...(site === defaults().openrouter_site_url ? {} : { 'HTTP-Referer': site }),
    ...(app === defaults().openrouter_app_name ? {} : { 'X-Title': app }),
    ...config.extra_headers,
  }
}

/** The server of a model: how it is reached, and what it accepts. */
export type ModelServer = { route: Remote; origin: AnswerOrigin; features: ModelFeatures }

/** Returns the call, without the signal. `temperature` replaces the configured one when given. */
export function toCall(
  config: LLM,
  { route, origin, features }: ModelServer,
  request: LlmRequest,
  temperature = config.temperature,
): LanguageModelV4CallOptions {
  const effort =
    features.reasoningEffort && config.capability_overrides.thinking_mode !== 'none' ? config.reasoning_effort : null
  const assistant: AssistantOptions = {
    api: route.api,
    origin,
    echoReasoning: features.echoReasoning && (route.api !== 'responses' || config.enable_encrypted_reasoning),
    needsReasoning: features.needsReasoning,
    needsSignature: route.api === 'compatible' && SIGNED_CALLS.test(route.modelId),
    freeform: freeformTools(request.tools, route, features),
  }
  const limit = outputLimit(config, route, request.afterCut)
  const thinking =
    route.api === 'anthropic'
      ? anthropicThinking(config, { modelId: route.modelId, effort, limit }, request, assistant)
      : null
  const samples = samplesFreely(config, route, features)
  const call: LanguageModelV4CallOptions = {
    prompt: toPrompt(request.messages, {
      ...assistant,
      echoReasoning: assistant.echoReasoning && thinking?.isOff !== true,
      cacheTtl: config.caching_prompt && features.cacheMarkers ? cacheTtl(config) : null,
      vision: features.vision,
      stringContent: features.stringContent,
    }),
    ...optional('maxOutputTokens', limit),
    ...(samples ? { ...optional('temperature', temperature), ...optional('topP', config.top_p) } : {}),
    ...(samples && route.api !== 'compatible' ? optional('topK', config.top_k) : {}),
    ...optional('seed', config.seed),
    ...(request.stop === undefined ? {} : { stopSequences: [...request.stop] }),
    ...optional('headers', headersOf(config, route)),
    ...(request.tools.length > 0
      ? { tools: request.tools.map((tool) => offeredTool(tool, assistant.freeform)), toolChoice: { type: 'auto' } }
      : {}),
  }
  switch (route.api) {
    case 'anthropic':
      return { ...call, ...thinking?.call }
    case 'google':
      return googleCall(call, config, route, effort)
    case 'compatible':
      return { ...call, providerOptions: { openaiCompatible: compatibleOptions(config, route, { effort, limit }) } }
    default:
      return { ...call, providerOptions: { openai: openAiOptions(config, features, request, route, effort) } }
  }
}

/** The retention of OpenAI's caches has other values; where they stand, breakpoints last for five minutes. */
const cacheTtl = ({ prompt_cache_retention }: LLM): CacheTtl => (prompt_cache_retention === '1h' ? '1h' : '5m')

/** Sampling settings are dropped where a reasoning model would refuse them (10.2); Gemini accepts them. */
function samplesFreely(config: LLM, route: Remote, features: ModelFeatures): boolean {
  if (!config.drop_params) return true
  if (config.capability_overrides.supports_sampling_params !== undefined)
    return config.capability_overrides.supports_sampling_params === true
  return route.api !== 'compatible' || !features.reasoningEffort || /gemini/i.test(config.model)
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
    Math.max(GEMINI_BUDGET.min, Math.floor(limit * (THINKING_SHARE[effort] ?? 0.6))),
  )
  return { ...call, providerOptions: { google: { thinkingConfig: { includeThoughts, thinkingBudget } } } }
}

/** The library puts unknown members into the body as they are. */
function compatibleOptions(
  config: LLM,
  route: Remote,
  { effort, limit }: { effort: string | null; limit: number | null },
): ProviderOptions {
  const completion = COMPLETION_TOKENS.test(route.modelId) && limit !== null
  return {
    ...optional('reasoningEffort', effort),
    ...optional('top_k', config.top_k),
    ...(completion ? { max_completion_tokens: limit, max_tokens: undefined } : {}),
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
    // A deployment has any name, from which the library cannot tell what its model accepts.
    ...(route.azure !== undefined && features.reasoningEffort ? { forceReasoning: true } : {}),
    // Nothing of a conversation is stored at the provider. Summaries need a verified organisation, so they are only
    // sent on request.
    ...(route.api === 'responses' ? { store: false, reasoningSummary: config.reasoning_summary } : {}),
  }
}

/** Returns `{ [key]: value }`, or `{}` for null and undefined. */
function optional<K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } {
  return (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
