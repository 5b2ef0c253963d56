/**
 * Capabilities of model families, as data. Each row is a pattern of model names; `capability_overrides` of a
 * configuration
 * overrides the table. Source: agent-core.md 10.7.
 */
import type { LLM } from '@parley/protocol'
import { knownModel } from './known-model.ts'

export type ModelFeatures = {
  /** `reasoning_effort` may be sent. */
  reasoningEffort: boolean
  /** Cache breakpoints must be marked in the request. */
  cacheMarkers: boolean
  /** Reasoning is sent back to the server that sent it. */
  echoReasoning: boolean
  /** The server refuses a history with an answer without reasoning. */
  needsReasoning: boolean
  /** The Responses API is used when `api_mode` is auto. */
  responsesApi: boolean
  /** Tools may be offered as custom ones, whose calls are one text. */
  customTools: boolean
  /** `prompt_cache_retention` may be sent. */
  cacheRetention: boolean
  /** Images may be sent. */
  vision: boolean
  /** Images are sent inline, because the model does not accept image addresses. */
  inlineImages: boolean
  /** The provider refuses images above a number of pixels, and every later request of the conversation with them. */
  limitsPixels: boolean
  /** Content is sent as one string; the provider refuses lists of parts. */
  stringContent: boolean
  /** Stop sequences may be sent. */
  stopWords: boolean
  /** The provider removes the reasoning of a turn from later requests when the next message of a person arrives. */
  forgetsReasoning: boolean
}

type Row = { yes: RegExp; no?: RegExp }

const TABLE = {
  reasoningEffort: {
    yes: /(^|\/)(gpt-[5-9]|o[134](-|$))|codex|gpt-oss|claude-(3-7|(opus|sonnet|haiku|fable)-[4-9]|[4-9])|gemini-(2\.5|[3-9])|grok-(3-mini|4)|kimi-k3|magistral/i,
    no: /gpt-5-chat|grok-4-0709|grok-code-fast-1|o1-(mini|preview)/i,
  },
  cacheMarkers: { yes: /claude/i, no: /claude-(instant|2|v2|3-sonnet)/i },
  echoReasoning: { yes: /./ },
  needsReasoning: {
    yes: /kimi-k3|kimi-k2-thinking|kimi-k2\.[56]|openrouter.*minimax-m2|deepseek-reasoner|deepseek.*v4/i,
  },
  responsesApi: { yes: /(^|\/)gpt-[5-9]|codex/i },
  // https://cookbook.openai.com/examples/gpt-5/gpt-5_new_params_and_tools
  customTools: { yes: /(^|\/)gpt-([5-9]|\d\d)/i, no: /-chat/i },
  cacheRetention: { yes: /(^|\/)gpt-(5|4\.1)|gpt-5\.1-codex-mini/i, no: /azure|(?<!codex-)mini/i },
  // For models that the table of models does not have. An unknown one is assumed to accept images; one that does not would fail every
  // later request of the conversation.
  vision: {
    yes: /./,
    no: /deepseek-(chat|reasoner|coder|v3|r1)|gpt-3\.5|gpt-oss|(^|\/)o[13]-mini|o1-preview|codestral|devstral-small-2505|qwen[\d.]*-?coder|kimi-k2(-(instruct|thinking|0[79]\d\d|turbo)|$)|glm-4\.[567](-air|-flash)?$/i,
  },
  inlineImages: { yes: /gemini|kimi-k2\.6|kimi-k3/i },
  limitsPixels: { yes: /claude/i },
  stringContent: { yes: /deepseek|glm-|groq.*kimi-k2-instruct|openrouter.*minimax/i, no: /glm-[\d.]+v/i },
  stopWords: { yes: /./, no: /(^|\/)o[13](-|$)|grok-4-0709|grok-code-fast-1|deepseek-r1-0528/i },
} satisfies Record<string, Row>

const OVERRIDE = {
  reasoningEffort: 'supports_reasoning_effort',
  cacheMarkers: 'supports_prompt_cache',
  echoReasoning: 'echoes_reasoning',
  needsReasoning: 'echoes_reasoning',
  responsesApi: 'supports_responses_api',
  customTools: 'supports_custom_tools',
  cacheRetention: 'supports_prompt_cache_retention',
  vision: 'supports_vision',
  inlineImages: 'inlines_images',
  limitsPixels: 'limits_pixels',
  stringContent: 'takes_strings_only',
  stopWords: 'supports_stop_words',
} satisfies Record<keyof typeof TABLE, string>

/** Models before Opus 4.5 and Sonnet 4.6: https://platform.claude.com/docs/en/build-with-claude/extended-thinking */
const FORGETS_REASONING = /claude-(3[-.]7|opus-4(?![-.][5-9](?!\d))|(sonnet|haiku)-4(?![-.][6-9](?!\d)))/i

type Subject = Pick<LLM, 'model' | 'model_canonical_name' | 'capability_overrides'> &
  Partial<Pick<LLM, 'disable_vision' | 'inline_image_urls' | 'force_string_serializer'>>

/** Returns the features of a configuration's model. */
export function featuresOf(config: Subject): ModelFeatures {
  const name = config.model_canonical_name ?? config.model
  const overrides: Record<string, unknown> = config.capability_overrides ?? {}
  const has = (feature: keyof typeof TABLE, known?: boolean) => {
    const override = overrides[OVERRIDE[feature]]
    if (typeof override === 'boolean') return override
    const row: Row = TABLE[feature]
    return known ?? (row.yes.test(name) && row.no?.test(name) !== true)
  }
  const stringContent =
    config.force_string_serializer ?? (overrides['supports_vision'] !== true && has('stringContent'))
  return {
    reasoningEffort: has('reasoningEffort'),
    cacheMarkers: has('cacheMarkers'),
    echoReasoning: has('echoReasoning'),
    needsReasoning: has('needsReasoning'),
    responsesApi: has('responsesApi'),
    customTools: has('customTools'),
    cacheRetention: has('cacheRetention'),
    // A string cannot contain an image.
    vision: config.disable_vision !== true && !stringContent && has('vision', knownModel(name)?.images),
    inlineImages: config.inline_image_urls ?? has('inlineImages'),
    limitsPixels: has('limitsPixels'),
    stringContent,
    stopWords: has('stopWords'),
    forgetsReasoning: FORGETS_REASONING.test(name),
  }
}
