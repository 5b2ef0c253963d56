/** Configuration of a language model. Source: agent-server-wire.md 5.7. */
import { z } from 'zod'
import { laxBoolean, laxInt, laxNumber, type Bounds } from './lax.ts'
import { secretText, text } from './lax-text.ts'
import { list, map } from './lists.ts'

const flag = (value: boolean) => laxBoolean().default(value)
const maybeFlag = (value: boolean | null = null) => laxBoolean().nullable().default(value)
const maybeText = () => z.string().nullable().default(null)
const maybeNumber = (bounds: Bounds) => laxNumber(bounds).nullable().default(null)
const maybeInt = (bounds: Bounds) => laxInt(bounds).nullable().default(null)

export const FallbackStrategy = z.object({
  /** Names of stored profiles. */
  fallback_llms: list(z.string()),
  profile_store_dir: maybeText(),
})
export type FallbackStrategy = z.infer<typeof FallbackStrategy>

export const LLM = z.object({
  /** Name with the provider as prefix. */
  model: text({ min: 1 }).default('gpt-5.5'),
  api_key: secretText(),
  provider_connection_id: maybeText(),
  auth_type: z.enum(['api_key', 'subscription']).default('api_key'),
  subscription_vendor: z.literal('openai').nullable().default(null),
  base_url: maybeText(),
  api_version: maybeText(),
  aws_access_key_id: secretText(),
  aws_secret_access_key: secretText(),
  aws_session_token: secretText(),
  aws_region_name: maybeText(),
  aws_profile_name: maybeText(),
  aws_role_name: maybeText(),
  aws_session_name: maybeText(),
  aws_bedrock_runtime_endpoint: maybeText(),
  openrouter_site_url: z.string().default('https://docs.all-hands.dev/'),
  openrouter_app_name: z.string().default('OpenHands'),
  /** Attempts after the first failure. */
  num_retries: laxInt({ ge: 0 }).default(5),
  retry_multiplier: laxNumber({ ge: 0 }).default(8),
  /** Seconds. */
  retry_min_wait: laxInt({ ge: 0 }).default(8),
  /** Seconds. */
  retry_max_wait: laxInt({ ge: 0 }).default(64),
  /** Seconds of one request; null: no limit. */
  timeout: laxInt({ ge: 0 }).nullable().default(300),
  max_message_chars: laxInt({ ge: 1 }).default(30_000),
  temperature: maybeNumber({ ge: 0 }),
  top_p: maybeNumber({ ge: 0, le: 1 }),
  top_k: maybeNumber({ ge: 0 }),
  max_input_tokens: maybeInt({ ge: 1 }),
  max_output_tokens: maybeInt({ ge: 1 }),
  /** Look-up key for capability tables. */
  model_canonical_name: maybeText(),
  api_mode: z.enum(['auto', 'chat', 'responses']).default('auto'),
  capability_overrides: map(z.union([z.boolean(), z.string()])).default({}),
  extra_headers: map(z.string()).nullable().default(null),
  /** US dollars. */
  input_cost_per_token: maybeNumber({ ge: 0 }),
  output_cost_per_token: maybeNumber({ ge: 0 }),
  ollama_base_url: maybeText(),
  stream: flag(false),
  drop_params: flag(true),
  modify_params: flag(true),
  disable_vision: maybeFlag(),
  disable_stop_word: maybeFlag(false),
  caching_prompt: flag(true),
  log_completions: flag(false),
  log_completions_folder: z.string().default('logs/completions'),
  custom_tokenizer: maybeText(),
  native_tool_calling: flag(true),
  force_string_serializer: maybeFlag(),
  inline_image_urls: maybeFlag(),
  /** low, medium, high, xhigh, none; other words are passed on to the provider. */
  reasoning_effort: z.string().nullable().default('high'),
  reasoning_summary: z.enum(['auto', 'concise', 'detailed']).nullable().default(null),
  enable_encrypted_reasoning: flag(true),
  prompt_cache_retention: z.string().nullable().default('24h'),
  extended_thinking_budget: laxInt().nullable().default(200_000),
  seed: laxInt().nullable().default(null),
  /** Key of this model's metrics in `stats.usage_to_metrics`. */
  usage_id: z.string().default('default'),
  litellm_extra_body: map(z.unknown()).default({}),
  /** Accepted in requests, never returned. */
  fallback_strategy: FallbackStrategy.nullable().default(null),
})
export type LLM = z.infer<typeof LLM>
/** Input form: without defaults filled in. */
export type LLMInput = z.input<typeof LLM>
