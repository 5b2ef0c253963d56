/** Defaults of a conversation from its user's settings. Pure. Source: agent-core.md 12.7 and 12.8. */
import {
  LLM,
  MCPServers,
  OpenHandsAgentSettings,
  type Condenser,
  type ConfirmationPolicy,
  type SecurityAnalyzer,
} from '@parley/protocol'
import { type JsonObject, SERVER_CREDENTIAL } from '../secrets/index.ts'
import { isObject } from './merge.ts'
import { storedServers } from './settings-record.ts'
import type { Stored } from './stored.ts'

/** The model of the server's own configuration. */
export type ServerModel = { model: string | null; apiKey: string | null; baseUrl: string | null }

/** Defaults that come from the server's configuration. */
export type ServerDefaults = {
  llm: ServerModel
  /** Address of the MCP server for searches with a user's `search_api_key`; null: no search server. */
  searchUrl: string | null
}

export type ConversationDefaults = {
  /** An LLM record without defaults filled in. */
  llm: Record<string, unknown>
  /** An LLMSummarizingCondenser without defaults filled in; null: no condensation. */
  condenser: (Partial<Condenser> & { kind: Condenser['kind'] }) | null
  /** MCP servers whose tools the agent gets. */
  mcp_config: MCPServers
  /** The search server of a user with a key for it; it is added to any other list of servers. */
  search: MCPServers
  /** Absent: no confirmation. */
  confirmation_policy?: ConfirmationPolicy
  security_analyzer: SecurityAnalyzer | null
  max_budget_per_task: number | null
  max_iterations?: number
}

export function conversationDefaults(stored: Stored, { llm: server, searchUrl }: ServerDefaults): ConversationDefaults {
  const { openhands } = stored.agents
  const llm = modelOf(isObject(openhands.llm) ? openhands.llm : {}, server)
  const { condenser } = OpenHandsAgentSettings.parse({ condenser: openhands.condenser ?? {} })
  const { enabled, condenser_kind, ...shape } = condenser
  const mode = stored.conversation.confirmation_mode === true
  const { max_iterations } = stored.conversation
  const analyzer = stored.own.security_analyzer ?? stored.conversation.security_analyzer
  const security_analyzer = typeof analyzer === 'string' ? analyzerNamed(analyzer) : null
  return {
    llm,
    condenser:
      enabled && condenser_kind !== 'no_op'
        ? { kind: 'LLMSummarizingCondenser', ...shape, llm: { ...llm, usage_id: 'condenser' } as never }
        : null,
    mcp_config: storedServers(openhands),
    search: searchServer(searchUrl, stored.own.search_api_key),
    ...(mode ? { confirmation_policy: policyOf(security_analyzer, stored.own.confirmation_threshold) } : {}),
    security_analyzer,
    max_budget_per_task: stored.own.max_budget_per_task ?? null,
    ...(typeof max_iterations === 'number' ? { max_iterations } : {}),
  }
}

/** Source: agent-core.md 12.8. */
function searchServer(url: string | null, key: string | null | undefined): MCPServers {
  if (url === null || key === null || key === undefined || key === '') return {}
  return MCPServers.parse({ search: { url, transport: 'http', auth: { strategy: 'bearer', value: key } } })
}

/** Model of records that name none. */
const defaultModel = (): string => LLM.shape.model.parse(undefined)

/**
 * The user's model, or the server's where the user chose none. The server's key and address are used only with the server's
 * own provider, and its key never with an address that the user set. The key is a reference, and its address is added with it, so
 * that a conversation follows a change of the server's configuration.
 */
export function modelOf(llm: JsonObject, server: ServerModel): Record<string, unknown> {
  const own = Object.fromEntries(Object.entries(llm).filter(([, value]) => value !== null))
  const isSet = (name: keyof LLM) => typeof own[name] === 'string' && own[name].trim() !== ''
  const chosen = typeof own.model === 'string' ? own.model : null
  // An address without a model is that of a proxy for any model.
  const isProxy = server.model === null && server.baseUrl !== null
  const isServers = chosen === null || isProxy || providerOf(chosen) === providerOf(server.model ?? defaultModel())
  const hasOwnAddress = (isSet('base_url') && own.base_url !== server.baseUrl) || isSet('ollama_base_url')
  const usesServersKey = isServers && !hasOwnAddress && server.apiKey !== null && !isSet('api_key')
  const model = chosen ?? server.model
  return {
    ...(model === null ? {} : { model }),
    ...(isServers && !usesServersKey && server.baseUrl !== null ? { base_url: server.baseUrl } : {}),
    stream: true,
    ...own,
    ...(usesServersKey ? { api_key: SERVER_CREDENTIAL } : {}),
  }
}

/** A record to try, with the stored key of the user if its provider and address are those that the key was stored with. */
export function withStoredKey(llm: LLM, { agents }: Stored): LLM {
  const { model, base_url, api_key } = isObject(agents.openhands.llm) ? agents.openhands.llm : {}
  const isSame =
    providerOf(llm.model) === providerOf(typeof model === 'string' ? model : defaultModel()) &&
    (llm.base_url ?? '') === (base_url ?? '')
  return isSame && typeof api_key === 'string' ? { ...llm, api_key } : llm
}

/** The part before the first slash, or the provider that the name itself implies. */
function providerOf(model: string): string {
  if (model.includes('/')) return model.split('/')[0] ?? ''
  return /^claude-/i.test(model) ? 'anthropic' : /^gemini-/i.test(model) ? 'gemini' : 'openai'
}

/** Without an analyzer no action is known to be harmless, so each needs a confirmation. */
function policyOf(
  analyzer: SecurityAnalyzer | null,
  threshold: Stored['own']['confirmation_threshold'],
): ConfirmationPolicy {
  return analyzer === null
    ? { kind: 'AlwaysConfirm' }
    : { kind: 'ConfirmRisky', threshold: threshold ?? 'HIGH', confirm_unknown: true }
}

const ENSEMBLE: SecurityAnalyzer = {
  kind: 'EnsembleSecurityAnalyzer',
  analyzers: [{ kind: 'PatternSecurityAnalyzer' }, { kind: 'PolicyRailSecurityAnalyzer' }],
  propagate_unknown: false,
}

/** Analyzers that need only their name; `invariant` is the older name for rules. */
const ANALYZERS: Readonly<Record<string, SecurityAnalyzer>> = {
  llm: { kind: 'LLMSecurityAnalyzer' },
  pattern: { kind: 'PatternSecurityAnalyzer' },
  policyrail: { kind: 'PolicyRailSecurityAnalyzer' },
  ensemble: ENSEMBLE,
  invariant: ENSEMBLE,
}

/** Found by their short names or kinds, separated by commas; several are an ensemble. Null for `none` and without a known name. */
export function analyzerNamed(names: string): SecurityAnalyzer | null {
  const found = [...new Set(names.split(',').map(wordOf))].flatMap((word) =>
    Object.hasOwn(ANALYZERS, word) ? [ANALYZERS[word]!] : [],
  )
  const [first = null, ...others] = found
  if (others.length === 0) return first
  return { kind: 'EnsembleSecurityAnalyzer', analyzers: found, propagate_unknown: false }
}

const wordOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
    .replace(/(?:security)?analyzer$/, '')
