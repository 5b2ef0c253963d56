/**
 * The settings record of the conversation service API as a view of the stored settings. Pure. An omitted member keeps the stored
 * value, null clears it. Source: interface.md, Settings record; decisions.md, Settings; conversation-service.md 3.
 */
import {
  MCPServers,
  SETTINGS_SECRETS,
  SettingsDefaults,
  type MCPConfig,
  type Settings,
  type UserSecrets,
} from '@parley/protocol'
import { HIDDEN, type Json, type JsonObject } from '../secrets/index.ts'
import { mcpConfigOf, serversOf } from './mcp-config.ts'
import { isObject, merge } from './merge.ts'
import { asJson, type OwnSettings, type ProviderToken, type Stored } from './stored.ts'

type Scalar = string | number | boolean | null

/** Members that both APIs have, and their place in the stored settings. */
const AGENT_TWINS = {
  agent: ['agent'],
  llm_model: ['llm', 'model'],
  llm_api_key: ['llm', 'api_key'],
  llm_base_url: ['llm', 'base_url'],
  enable_default_condenser: ['condenser', 'enabled'],
} as const satisfies Partial<Record<keyof Settings, readonly string[]>>
const CONVERSATION_TWINS = ['max_iterations', 'confirmation_mode'] as const

/** An empty text counts as absent: a model or an address cannot be empty. */
const CLEARED_BY_EMPTY = new Set<string>(['agent', 'llm_model', 'llm_base_url', ...SETTINGS_SECRETS])

const OWN = [
  'language',
  'confirmation_threshold',
  'remote_runtime_resource_factor',
  'enable_sound_notifications',
  'enable_proactive_conversation_starters',
  'enable_solvability_analysis',
  'user_consents_to_analytics',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
  'search_api_key',
  'sandbox_api_key',
  'max_budget_per_task',
  'email',
  'email_verified',
  'git_user_name',
  'git_user_email',
] as const satisfies readonly (keyof OwnSettings)[]

/** Names that ConversationSettings knows; any other name is stored beside it. */
const COMMON_ANALYZERS = new Set(['llm', 'none'])

/** The stored settings after Store Settings, without custom secrets. */
export function withSettingsRecord(stored: Stored, body: Settings): Stored {
  const written = Object.fromEntries(
    Object.entries(body).flatMap(([name, value]): [string, unknown][] => {
      if (value === undefined || value === HIDDEN) return []
      return [[name, value === '' && CLEARED_BY_EMPTY.has(name) ? null : value]]
    }),
  ) as Settings
  let openhands = stored.agents.openhands
  for (const [name, path] of Object.entries(AGENT_TWINS)) {
    const value = written[name as keyof typeof AGENT_TWINS]
    if (value !== undefined) openhands = merge(openhands, at(path, value))
  }
  if (written.mcp_config !== undefined) openhands = withServers(openhands, written.mcp_config)
  let { conversation } = stored
  for (const name of CONVERSATION_TWINS) {
    const value = written[name]
    if (value !== undefined) conversation = merge(conversation, { [name]: value })
  }
  const analyzed = analyzer({ ...stored, conversation }, written.security_analyzer)
  const provider_tokens = withTokens(stored.provider_tokens, written.secrets_store?.provider_tokens)
  const own = merge(analyzed.own as JsonObject, asJson(pick(written, OWN))) as OwnSettings
  return { ...stored, ...analyzed, own, provider_tokens, agents: { ...stored.agents, openhands } }
}

const at = ([first, ...rest]: readonly string[], value: Scalar): JsonObject => ({
  [first!]: rest.length === 0 ? value : at(rest, value),
})

const pick = (record: Settings, names: readonly (keyof Settings)[]) =>
  Object.fromEntries(names.filter((name) => record[name] !== undefined).map((name) => [name, record[name]]))

function withServers(openhands: JsonObject, config: MCPConfig | null): JsonObject {
  const { mcp_config: _, ...others } = openhands
  return config === null ? others : { ...others, mcp_config: asJson(serversOf(config, storedServers(openhands))) }
}

export const storedServers = (openhands: JsonObject): MCPServers => MCPServers.parse(openhands.mcp_config ?? {})

function analyzer(stored: Stored, name: string | null | undefined): Pick<Stored, 'own' | 'conversation'> {
  const { own, conversation } = stored
  if (name === undefined) return { own, conversation }
  const { security_analyzer: _, ...others } = own
  if (name === null) return { own: others, conversation: merge(conversation, { security_analyzer: null }) }
  if (COMMON_ANALYZERS.has(name)) return { own: others, conversation: { ...conversation, security_analyzer: name } }
  return { own: { ...others, security_analyzer: name }, conversation: { ...conversation, security_analyzer: null } }
}

function withTokens(
  stored: Stored['provider_tokens'],
  written: UserSecrets['provider_tokens'],
): Stored['provider_tokens'] {
  const result = new Map(Object.entries(stored))
  for (const [host, entry] of Object.entries(written ?? {})) {
    if (entry === null) result.delete(host)
    else result.set(host, token(typeof entry === 'string' ? { token: entry } : entry, result.get(host)))
  }
  return Object.fromEntries(result)
}

/** An absent or masked token stays; an empty one is cleared. */
function token(
  entry: { token?: string | null | undefined; host?: string | null | undefined },
  old?: ProviderToken,
): ProviderToken {
  const kept = entry.token === undefined || entry.token === HIDDEN
  return {
    token: kept ? (old?.token ?? null) : entry.token === '' ? null : (entry.token ?? null),
    host: entry.host === undefined ? (old?.host ?? null) : entry.host,
  }
}

/** The record as answers show it: secrets only as present or absent. A mask that is sent back keeps the stored value. */
export function settingsRecord(
  stored: Stored,
  secrets: readonly { name: string; description: string | null }[],
): JsonObject {
  const { openhands } = stored.agents
  const twins = Object.entries(AGENT_TWINS).map(([name, path]) => [name, valueAt(openhands, path)])
  const record: Record<string, Json> = {
    ...Object.fromEntries(OWN.map((name) => [name, null])),
    ...Object.fromEntries(twins),
    ...Object.fromEntries(CONVERSATION_TWINS.map((name) => [name, stored.conversation[name] ?? null])),
    security_analyzer: stored.own.security_analyzer ?? stored.conversation.security_analyzer ?? null,
    mcp_config: openhands.mcp_config === undefined ? null : asJson(mcpConfigOf(storedServers(openhands))),
    ...asJson(stored.own),
  }
  for (const [name, value] of Object.entries(SettingsDefaults)) record[name] ??= value
  for (const name of SETTINGS_SECRETS) {
    const isSet = typeof record[name] === 'string'
    record[name] = isSet ? HIDDEN : null
    record[`${name}_set`] = isSet
  }
  const tokens = Object.entries(stored.provider_tokens)
  const provider_tokens = tokens.map(([host, entry]) => [
    host,
    { token: entry.token === null ? null : HIDDEN, host: entry.host },
  ])
  const custom_secrets = secrets.map(({ name, description }) => [name, { secret: HIDDEN, description }])
  return {
    ...record,
    provider_tokens_set: Object.fromEntries(
      tokens.filter(([, { token: value }]) => value !== null).map(([name, { host }]) => [name, host]),
    ),
    secrets_store: {
      provider_tokens: Object.fromEntries(provider_tokens),
      custom_secrets: Object.fromEntries(custom_secrets),
    },
  }
}

function valueAt(object: JsonObject, path: readonly string[]): Json {
  let value: Json | undefined = object
  for (const name of path) value = isObject(value) ? value[name] : undefined
  return value ?? null
}
