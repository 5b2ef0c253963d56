/** Which API a configuration speaks, where, and under which name the model is known there. Pure. */
import type { LLM } from '@parley/protocol'
import { featuresOf } from './features.ts'

/** The wire formats, one per provider library (OpenAI's library speaks two). */
export type Dialect = 'anthropic' | 'responses' | 'chat' | 'google' | 'compatible'

export type Remote = {
  kind: 'remote'
  dialect: Dialect
  /** The name at the provider, without the prefix that chose it. */
  modelId: string
  /** Without a trailing slash. */
  baseUrl: string
  apiKey: string | null
  /** The provider's name in the price table; null: look the model up by its own name; `none`: nothing to pay. */
  priceProvider: string | null
}
export type Route = Remote | { kind: 'scripted'; script: string } | { kind: 'unconfigured'; reason: string }

type Host = { baseUrl: string | null; price: string | null; dialect?: Dialect; keyless?: boolean }

/** Prefixes and the address each stands for; null where only the user knows it. */
const HOSTS: Record<string, Host> = {
  anthropic: { baseUrl: 'https://api.anthropic.com/v1', price: 'anthropic', dialect: 'anthropic' },
  openai: { baseUrl: 'https://api.openai.com/v1', price: 'openai', dialect: 'chat' },
  gemini: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', price: 'google', dialect: 'google' },
  google: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', price: 'google', dialect: 'google' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', price: 'openrouter' },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', price: 'deepseek' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', price: 'mistral' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', price: 'groq' },
  xai: { baseUrl: 'https://api.x.ai/v1', price: 'x-ai' },
  together_ai: { baseUrl: 'https://api.together.xyz/v1', price: 'together' },
  fireworks_ai: { baseUrl: 'https://api.fireworks.ai/inference/v1', price: 'fireworks' },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', price: 'cerebras' },
  moonshot: { baseUrl: 'https://api.moonshot.ai/v1', price: 'moonshotai' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', price: 'none', keyless: true },
  ollama_chat: { baseUrl: 'http://127.0.0.1:11434/v1', price: 'none', keyless: true },
  lm_studio: { baseUrl: 'http://127.0.0.1:1234/v1', price: 'none', keyless: true },
  litellm_proxy: { baseUrl: null, price: null },
  hosted_vllm: { baseUrl: null, price: 'none', keyless: true },
  vllm: { baseUrl: null, price: 'none', keyless: true },
}

/** Prefixes that choose a provider, with its name in the price table; null where nothing is known of it there. */
export const PROVIDERS: ReadonlyMap<string, string | null> = new Map(
  Object.entries(HOSTS).map(([prefix, { price }]) => [prefix, price === 'none' ? null : price]),
)

/** Names that need no prefix to be recognised. */
const BARE: readonly [RegExp, keyof typeof HOSTS][] = [
  [/^(gpt-|chatgpt-|o[1-9](-|$)|codex)/i, 'openai'],
  [/^claude-/i, 'anthropic'],
  [/^gemini-/i, 'gemini'],
]

/** Clouds whose own way of logging in is not spoken, with what they offer besides. */
const CLOUDS: Readonly<Record<string, string>> = {
  azure: 'Azure OpenAI (https://<resource>.openai.azure.com/openai/v1)',
  azure_ai: 'Azure AI Foundry (https://<resource>.services.ai.azure.com/openai/v1)',
  bedrock: 'Amazon Bedrock (https://bedrock-runtime.<region>.amazonaws.com/openai/v1)',
  vertex_ai:
    'Vertex AI (https://<region>-aiplatform.googleapis.com/v1/projects/<project>/locations/<region>/endpoints/openapi)',
}

const HOW =
  'set `llm_model`, `llm_api_key` and, for a server of your own, `llm_base_url` with POST /api/settings, or give `agent.llm` when the conversation starts'

/** Chooses by prefix, name and base URL. What is missing becomes `unconfigured` with words for the user, never an exception. */
export function routeOf(config: LLM): Route {
  const [prefix, rest] = split(config.model)
  if (prefix === 'scripted') return { kind: 'scripted', script: rest }
  if (config.auth_type === 'subscription')
    return unconfigured(`${config.model} is set up with a subscription login, which is not supported; ${HOW}`)
  if (rest === '') return unconfigured(`${config.model} names no model; ${HOW}`)
  const named =
    prefix === null ? BARE.find(([pattern]) => pattern.test(rest))?.[1] : Object.hasOwn(HOSTS, prefix) ? prefix : null
  const host = named === undefined || named === null ? null : (HOSTS[named] ?? null)
  const modelId = host !== null && prefix !== null ? rest : config.model
  const configured =
    blankToNull(config.base_url) ?? (named?.startsWith('ollama') ? blankToNull(config.ollama_base_url) : null)
  const apiKey = blankToNull(config.api_key)

  if (configured === null) {
    const cloud = prefix !== null && Object.hasOwn(CLOUDS, prefix) ? CLOUDS[prefix] : undefined
    if (cloud !== undefined)
      return unconfigured(
        `the prefix ${prefix}/ of ${config.model} alone reaches nothing: give the OpenAI-compatible endpoint of ${cloud}, ` +
          `or of a proxy before it, as base_url, its key as api_key, and name the model openai/<its name there>; ${HOW}`,
      )
    if (host === null)
      return unconfigured(
        `no provider is known for the model ${config.model}; name one as a prefix (for example anthropic/…, openai/…, gemini/…, ollama/…) or ${HOW}`,
      )
    if (host.baseUrl === null) return unconfigured(`the model ${config.model} needs a base URL; ${HOW}`)
    if (apiKey === null && host.keyless !== true)
      return unconfigured(`no API key is set for the model ${config.model}; ${HOW}`)
  }
  const own = configured === null ? null : hostnameOf(configured)
  if (own === undefined) return unconfigured(`the base URL ${configured} is not an http or https URL; ${HOW}`)
  const dialect = dialectOf(config, host, prefix, own)
  const baseUrl = configured === null ? (host?.baseUrl ?? '') : versioned(configured, dialect, named)
  return { kind: 'remote', dialect, modelId, baseUrl, apiKey, priceProvider: host?.price ?? null }
}

function dialectOf(config: LLM, host: Host | null, prefix: string | null, own: string | null): Dialect {
  const openAi = (own === null && host === HOSTS.openai) || own === 'api.openai.com'
  if (config.api_mode === 'responses' && host?.dialect !== 'anthropic' && host?.dialect !== 'google') return 'responses'
  if (openAi) return config.api_mode !== 'chat' && featuresOf(config).responsesApi ? 'responses' : 'chat'
  if (own === 'api.anthropic.com') return 'anthropic'
  // A bare name with a base URL says nothing about the API behind it: nearly all of them speak Chat Completions.
  const native = own === null || prefix !== null
  return native && host?.dialect !== undefined && host.dialect !== 'chat' ? host.dialect : 'compatible'
}

/** Base URLs as people write them: bare hosts get the version their API has. */
function versioned(url: string, dialect: Dialect, named: string | null | undefined): string {
  const clean = url.replace(/\/+$/, '')
  if (/\/v\d/.test(clean)) return clean
  if (dialect === 'google') return `${clean}/v1beta`
  const bare = new URL(clean).pathname === '/'
  const knownToNeedOne =
    dialect === 'anthropic' ||
    (bare && (dialect !== 'compatible' || named?.startsWith('ollama') || named === 'lm_studio'))
  return knownToNeedOne ? `${clean}/v1` : clean
}

/** Prefix and rest; null as prefix for a bare name. */
function split(model: string): [string | null, string] {
  const at = model.indexOf('/')
  return at < 0 ? [null, model] : [model.slice(0, at), model.slice(at + 1)]
}

/** Undefined when `url` is none. */
function hostnameOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? hostname : undefined
}

const unconfigured = (reason: string): Route => ({ kind: 'unconfigured', reason })
const blankToNull = (text: string | null | undefined): string | null =>
  text === null || text === undefined || text.trim() === '' ? null : text.trim()
