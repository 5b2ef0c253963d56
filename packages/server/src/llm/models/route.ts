/** Chooses the API, the address and the provider's name of a model from its configuration. Pure. */
import type { LLM } from '@parley/protocol'
import { featuresOf } from './features.ts'
import { CLOUDS, HOSTS, type Host, type ModelApi } from './hosts.ts'

export type { ModelApi } from './hosts.ts'

export type Remote = {
  kind: 'remote'
  api: ModelApi
  /** The prefix of the provider, also where the name of the model implies it; null: none is known. */
  provider: string | null
  /** The provider's name for the model, without the prefix of the configuration. */
  modelId: string
  /** Without a trailing slash. */
  baseUrl: string
  apiKey: string | null
  /**
   * The provider's name in the price table; null: look up the model by its name alone; `none`: the model costs nothing.
   */
  priceProvider: string | null
  /** True for a server with an address of the user's, or on this machine: it was started with settings that no table knows. */
  isOwnServer: boolean
  /** True where the provider reports with each answer what it cost. */
  reportsCost: boolean
  /** Present for Azure: the key has a header of its own there. `version` is a query parameter; null: none. */
  azure?: { version: string | null }
}
export type Route =
  | Remote
  | { kind: 'scripted'; script: string }
  | { kind: 'demo' }
  | { kind: 'unconfigured'; reason: string }

/** The name of the scripted model of the demo. */
export const DEMO_MODEL = 'parley/demo'

/**
 * Prefixes that choose a provider, with its name in the price table; null where the table does not have the provider.
 */
export const PROVIDERS: ReadonlyMap<string, string | null> = new Map(
  Object.entries(HOSTS).map(([prefix, { price }]) => [prefix, price === 'none' ? null : price]),
)

/** Names that are recognised without a prefix. */
const BARE: readonly [RegExp, keyof typeof HOSTS][] = [
  [/^(gpt-|chatgpt-|o[1-9](-|$)|codex)/i, 'openai'],
  [/^claude-/i, 'anthropic'],
  [/^gemini-/i, 'gemini'],
]

/** For messages. */
const KNOWN = Object.keys(HOSTS)
  .map((prefix) => `${prefix}/…`)
  .join(', ')

const HOW =
  'set `llm_model`, `llm_api_key` and, for a server of your own, `llm_base_url` with POST /api/settings, or give `agent.llm` when the conversation starts'

/**
 * Chooses by prefix, name and base URL. A missing setting results in `unconfigured` with a reason for the user, never
 * an exception.
 */
export function routeOf(config: LLM): Route {
  const [prefix, rest] = split(config.model)
  if (config.model === DEMO_MODEL) return { kind: 'demo' }
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
        `the prefix ${prefix}/ of ${config.model} alone reaches nothing: ${cloud}; with a base_url, name the model openai/<its name there>; ${HOW}`,
      )
    if (host === null)
      return unconfigured(
        `no provider is known for the model ${config.model}; name one as a prefix (${KNOWN}), or give a base URL of a server that understands Chat Completions; ${HOW}`,
      )
    if (isAzure(named))
      return unconfigured(
        `the model ${config.model} needs the address of its resource as base URL (https://<resource>.openai.azure.com); ${HOW}`,
      )
    if (host.baseUrl === null) return unconfigured(`the model ${config.model} needs a base URL; ${HOW}`)
    if (apiKey === null && host.keyless !== true)
      return unconfigured(`no API key is set for the model ${config.model}; ${HOW}`)
  }
  const own = configured === null ? null : hostnameOf(configured)
  if (own === undefined) return unconfigured(`the base URL ${configured} is not an http or https URL; ${HOW}`)
  if (configured !== null && isAzure(named))
    return azureRoute(config, { provider: named, modelId, resource: configured, apiKey })
  const api = apiOf(config, host, prefix, own)
  const baseUrl = configured === null ? (host?.baseUrl ?? '') : versioned(configured, api, named)
  const priceProvider = host?.price ?? null
  const reportsCost = host?.reportsCost === true
  const isOwnServer = api === 'compatible' && (configured !== null || host?.keyless === true)
  const place = { kind: 'remote', api, provider: named ?? null, modelId, baseUrl, apiKey } as const
  return { ...place, priceProvider, isOwnServer, reportsCost }
}

const isAzure = (named: string | null | undefined): named is 'azure' | 'azure_ai' =>
  named === 'azure' || named === 'azure_ai'

/** Versions of the API that need no date. */
const UNDATED = new Set(['v1', 'preview', 'latest'])

/**
 * A dated `api_version` selects the older addresses, with the deployment in the path; otherwise the address of version 1 is used. A base
 * URL with a path is kept as it is.
 */
function azureRoute(
  config: LLM,
  {
    provider,
    modelId,
    resource,
    apiKey,
  }: { provider: 'azure' | 'azure_ai'; modelId: string; resource: string; apiKey: string | null },
): Route {
  if (apiKey === null) return unconfigured(`no API key is set for the model ${config.model}; ${HOW}`)
  const version = blankToNull(config.api_version)
  const isDated = version !== null && !UNDATED.has(version)
  const clean = resource.replace(/\/+$/, '')
  const dated = provider === 'azure' ? `/openai/deployments/${encodeURIComponent(modelId)}` : '/models'
  const path = new URL(clean).pathname !== '/' ? '' : isDated ? dated : '/openai/v1'
  return {
    kind: 'remote',
    // The addresses of version 1 have both of OpenAI's APIs; which models offer Responses depends on the region.
    api: config.api_mode === 'responses' ? 'responses' : 'chat',
    provider,
    modelId,
    baseUrl: clean + path,
    apiKey,
    priceProvider: null,
    isOwnServer: false,
    reportsCost: false,
    azure: { version: version === 'v1' ? null : version },
  }
}

function apiOf(config: LLM, host: Host | null, prefix: string | null, own: string | null): ModelApi {
  const openAi = (own === null && host === HOSTS.openai) || own === 'api.openai.com'
  if (config.api_mode === 'responses' && host?.api !== 'anthropic' && host?.api !== 'google') return 'responses'
  if (openAi) return config.api_mode !== 'chat' && featuresOf(config).responsesApi ? 'responses' : 'chat'
  if (own === 'api.anthropic.com') return 'anthropic'
  // A bare name with a base URL says nothing about the API: nearly all such servers implement Chat Completions.
  const native = own === null || prefix !== null
  return native && host?.api !== undefined && host.api !== 'chat' ? host.api : 'compatible'
}

/** Adds the version to a base URL that needs one. */
function versioned(url: string, api: ModelApi, named: string | null | undefined): string {
  const clean = url.replace(/\/+$/, '')
  if (/\/v\d/.test(clean)) return clean
  if (api === 'google') return `${clean}/v1beta`
  const bare = new URL(clean).pathname === '/'
  const knownToNeedOne =
    api === 'anthropic' || (bare && (api !== 'compatible' || named?.startsWith('ollama') || named === 'lm_studio'))
  return knownToNeedOne ? `${clean}/v1` : clean
}

/** Splits a name into prefix and rest; null as prefix for a bare name. */
function split(model: string): [string | null, string] {
  const at = model.indexOf('/')
  return at < 0 ? [null, model] : [model.slice(0, at), model.slice(at + 1)]
}

/** Undefined when `url` is not an http or https URL. */
function hostnameOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' || protocol === 'https:' ? hostname : undefined
}

const unconfigured = (reason: string): Route => ({ kind: 'unconfigured', reason })
const blankToNull = (text: string | null | undefined): string | null =>
  text === null || text === undefined || text.trim() === '' ? null : text.trim()
