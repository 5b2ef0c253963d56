/**
 * A user's settings as they rest in the store: one object for both faces. It holds only what somebody chose, so that a
 * default that nobody touched can still be told from a choice.
 */
import { AgentSettings, ConversationSettings, ParleyError, type Settings } from '@parley/protocol'
import type { z } from 'zod'
import { sealRecord, unsealRecord, type Cipher, type JsonObject } from '../secrets/index.ts'
import { prune } from './merge.ts'

export type AgentKind = 'openhands' | 'acp'

/** Members of the seed's record that the agent-server face has no place for. */
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
  /** Sparse AgentSettings of each kind; changing the kind and back loses nothing. */
  agents: Record<AgentKind, JsonObject>
  /** Sparse ConversationSettings. */
  conversation: JsonObject
  misc: JsonObject
  active_profile: string | null
  active_agent_profile_id: string | null
  /** `security_analyzer` stands here only under a name that ConversationSettings does not know. */
  own: OwnSettings
  /** By git host, in the spelling that came in. */
  provider_tokens: Record<string, ProviderToken>
}

const NOTHING: Stored = {
  agent_kind: 'openhands',
  agents: { openhands: {}, acp: {} },
  conversation: {},
  misc: {},
  active_profile: null,
  active_agent_profile_id: null,
  own: {},
  provider_tokens: {},
}

/** @throws ParleyError `unavailable` when the server's key does not open what is stored. */
export function readStored(text: string | null, cipher: Pick<Cipher, 'open'>): Stored {
  if (text === null) return NOTHING
  return { ...NOTHING, ...(unsealRecord(JSON.parse(text), cipher) as Partial<Stored>) }
}

/** As text for the store, secrets sealed. */
export const writeStored = (stored: Stored, cipher: Pick<Cipher, 'seal'>): string =>
  JSON.stringify(sealRecord(stored, cipher))

/** AgentSettings of one kind with every default filled in. @throws ParleyError `invalid_input`. */
export const wholeAgent = (stored: Stored, kind: AgentKind = stored.agent_kind): AgentSettings =>
  parse(AgentSettings, { ...stored.agents[kind], agent_kind: kind })

/** @throws ParleyError `invalid_input`. */
export const wholeConversation = (stored: Stored): ConversationSettings =>
  parse(ConversationSettings, stored.conversation)

/**
 * The same settings without members that nobody knows.
 * @throws ParleyError `invalid_input` when a group does not fit its schema; nothing of a value is told.
 */
export function checked(stored: Stored): Stored {
  const kinds = ['openhands', 'acp'] as const
  const agents = kinds.map((kind) => [kind, prune(stored.agents[kind], asJson(wholeAgent(stored, kind)))])
  return {
    ...stored,
    agents: Object.fromEntries(agents) as Stored['agents'],
    conversation: prune(stored.conversation, asJson(wholeConversation(stored))),
  }
}

/** Source of the sentence: agent-server-wire.md 1.10. `members` says where, and no more: values may be secret. */
function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const members = [...new Set(result.error.issues.map(({ path }) => path.join('.')))]
  throw new ParleyError('invalid_input', 'Settings validation failed', { details: { members } })
}

export const asJson = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject
