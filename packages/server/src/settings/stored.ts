/**
 * Settings of a user in their stored form: one object for both APIs. It holds only values that the user chose, so that a choice
 * can be distinguished from a default.
 */
import {
  AgentSettings,
  ConversationSettings,
  invalidInput,
  type InvalidValue,
  type Place,
  relocate,
  type Settings,
  under,
} from '@parley/protocol'
import type { z } from 'zod'
import { sealRecord, unsealRecord, type Cipher, type JsonObject } from '../secrets/index.ts'
import { prune } from './merge.ts'

export type AgentKind = 'openhands' | 'acp'

/** Members of the settings record that the agent-server API does not have. */
export type OwnSettings = Partial<
  Omit<
    Settings,
    | 'agent'
    | 'llm_model'
    | 'llm_api_key'
    | 'llm_base_url'
    | 'max_iterations'
    | 'confirmation_mode'
    | 'enable_default_condenser'
    | 'mcp_config'
    | 'secrets_store'
  >
>

export type ProviderToken = { token: string | null; host: string | null }

export type Stored = {
  agent_kind: AgentKind
  /** Sparse AgentSettings of each kind; switching the kind back and forth loses nothing. */
  agents: Record<AgentKind, JsonObject>
  /** Sparse ConversationSettings. */
  conversation: JsonObject
  misc: JsonObject
  active_profile: string | null
  active_agent_profile_id: string | null
  /** `security_analyzer` is here only under a name that ConversationSettings does not know. */
  own: OwnSettings
  /** By git host, in the spelling of the request. */
  provider_tokens: Record<string, ProviderToken>
}

/** The settings of a user who has chosen nothing. */
export const NOTHING: Stored = {
  agent_kind: 'openhands',
  agents: { openhands: {}, acp: {} },
  conversation: {},
  misc: {},
  active_profile: null,
  active_agent_profile_id: null,
  own: {},
  provider_tokens: {},
}

/** @throws ParleyError `unavailable` when the server's key does not decrypt the stored text. */
export function readStored(text: string | null, cipher: Pick<Cipher, 'open' | 'referenced'>): Stored {
  if (text === null) return NOTHING
  return { ...NOTHING, ...(unsealRecord(JSON.parse(text), cipher) as Partial<Stored>) }
}

/** Returns the text for the store, secrets encrypted. */
export const writeStored = (stored: Stored, cipher: Pick<Cipher, 'seal' | 'referenced'>): string =>
  JSON.stringify(sealRecord(stored, cipher))

/** AgentSettings of one kind with all defaults. @throws ParleyError `invalid_input`. */
export const wholeAgent = (stored: Stored, kind: AgentKind = stored.agent_kind): AgentSettings =>
  parse(AgentSettings, { ...stored.agents[kind], agent_kind: kind })

/** @throws ParleyError `invalid_input`. */
export const wholeConversation = (stored: Stored): ConversationSettings =>
  parse(ConversationSettings, stored.conversation)

/** Members of a request that hold the groups of settings; null: the groups are not members of the request. */
export type GroupPlaces = { agent: Place | null; conversation: Place | null }

/**
 * The same settings without unknown members.
 * @throws ParleyError `invalid_input`, at its place in the request, when a group does not fit its schema; its message contains no values.
 */
export function checked(stored: Stored, places: GroupPlaces): Stored {
  const kinds = ['openhands', 'acp'] as const
  const agentOf = (kind: AgentKind) => placed(places.agent, () => wholeAgent(stored, kind))
  const agents = kinds.map((kind) => [kind, prune(stored.agents[kind], asJson(agentOf(kind)))])
  const conversation = placed(places.conversation, () => wholeConversation(stored))
  return {
    ...stored,
    agents: Object.fromEntries(agents) as Stored['agents'],
    conversation: prune(stored.conversation, asJson(conversation)),
  }
}

const placed = <T>(place: Place | null, work: () => T): T =>
  place === null ? relocate(() => [], work) : under(place, work)

function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw unfit(schema, value)
}

/** The error for settings that do not fit their schema. The sentence names no value, because values may be secret. */
export const unfit = (schema: z.ZodType, value: unknown): InvalidValue =>
  invalidInput('Settings validation failed', [], { misfit: { schema, value } })

export const asJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject
