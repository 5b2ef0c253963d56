/**
 * Settings of a user: one stored object that both APIs read and write.
 *
 * Invariants
 *   T1. A change is merged inside the store's transaction, so that two writers never lose each other's members.
 *   T2. A change that does not fit its schema has no effect.
 *   T3. Secrets are encrypted at rest; an answer shows them only in the requested form.
 */
import {
  invalidInput,
  LLM,
  MCPServer,
  type MCPServerPatch,
  type Place,
  ParleyError,
  type Settings,
  SETTINGS_UPDATE_MEMBERS,
  type SettingsResponse,
  type SettingsUpdateRequest,
} from '@parley/protocol'
import {
  encryptSecrets,
  expectSecretsFit,
  openTokens,
  plainSecrets,
  redact,
  type Cipher,
  type Exposure,
  type UserTokens,
  type Json,
  type JsonObject,
} from '../secrets/index.ts'
import type { SettingsStore } from '../storage/index.ts'
import { isObject, merge, mergeGroup } from './merge.ts'
import { settingsRecord, withSettingsRecord } from './settings-record.ts'
import type { NamedSecrets } from './secrets.ts'
import {
  asJson,
  checked,
  readStored,
  wholeAgent,
  wholeConversation,
  unfit,
  writeStored,
  type AgentKind,
  type GroupPlaces,
  type Stored,
} from './stored.ts'

export type { Exposure }

/** Absent members keep their value. */
type Activation = { active_profile?: string | null; active_agent_profile_id?: string | null; llm?: LLM }

/** Reads an LLM profile; null for an unknown name. */
export type FindLlm = (user: string, name: string) => Promise<LLM | null>

export interface UserSettings {
  /** Implements Store Settings. @throws ParleyError `invalid_input`, `too_large`; so does every other change. */
  store(user: string, body: Settings): Promise<void>
  /** The members of both APIs side by side. Only those of the agent-server API can be shown with their secrets. */
  read(user: string, exposure: Exposure): Promise<SettingsResponse>
  /** @throws ParleyError `bad_request` for an empty change, `not_found` for an unknown profile, `invalid_input`. */
  patch(user: string, change: SettingsUpdateRequest): Promise<SettingsResponse>
  /** @throws ParleyError `conflict` when the name is taken, `not_found` for an empty one. */
  addMcpServer(user: string, name: string, server: MCPServer): Promise<SettingsResponse>
  /** @throws ParleyError `not_found`, `invalid_input`. */
  patchMcpServer(user: string, name: string, patch: MCPServerPatch): Promise<SettingsResponse>
  /** @throws ParleyError `not_found`. */
  removeMcpServer(user: string, name: string): Promise<SettingsResponse>
  /** Sets the active profiles. A model in `chosen` replaces the model of the settings. */
  activate(user: string, chosen: Activation): Promise<void>
  /** The stored settings with decrypted secrets, for other modules of the server. */
  current(user: string): Promise<Stored>
  /** The stored text, for detecting changes. */
  text(user: string): Promise<string | null>
}

export const openUserSettings = (
  store: SettingsStore,
  secrets: NamedSecrets,
  cipher: Cipher,
  findLlm: FindLlm = async () => null,
): UserSettings => new StoredSettings(store, secrets, cipher, findLlm)

/** Characters of the stored settings of a user, which every change and every start reads. Source: docs/errors.md, Size of a body. */
const MAX_STORED = 1024 * 1024

/** Settings that an earlier version stored may be larger, and can be made smaller. @throws ParleyError `too_large`. */
function withinSize(after: string, before: string | null): string {
  if (after.length <= MAX_STORED || after.length < (before?.length ?? 0)) return after
  throw new ParleyError(
    'too_large',
    `The settings of a user have at most ${MAX_STORED} characters. Remove what is not needed, or send less.`,
  )
}

class StoredSettings implements UserSettings {
  readonly #store: SettingsStore
  readonly #secrets: NamedSecrets
  readonly #cipher: Cipher
  readonly #findLlm: FindLlm

  constructor(store: SettingsStore, secrets: NamedSecrets, cipher: Cipher, findLlm: FindLlm) {
    this.#store = store
    this.#secrets = secrets
    this.#cipher = cipher
    this.#findLlm = findLlm
  }

  /** `places`: the members of the request that the groups of settings come from. */
  async #update(user: string, places: GroupPlaces, change: (stored: Stored) => Stored): Promise<Stored> {
    const text = await this.#store.update(user, (before) => {
      const stored = readStored(before, this.#cipher)
      const changed = checked(change(stored), places)
      expectSecretsFit('the settings of a user', changed, stored)
      return withinSize(writeStored(changed, this.#cipher), before)
    })
    return readStored(text, this.#cipher)
  }

  async #answer(user: string, stored: Stored, exposure: Exposure): Promise<SettingsResponse> {
    const agent = asJson(wholeAgent(stored))
    const shown = exposed(
      {
        agent_settings: { ...agent, mcp_config: compact(agent.mcp_config) },
        conversation_settings: asJson(wholeConversation(stored)),
        misc_settings: stored.misc,
      },
      exposure,
      this.#cipher.tokensOf(user),
    )
    const { active_profile, active_agent_profile_id } = stored
    const llm_api_key_is_set = isObject(agent.llm) && agent.llm.api_key !== null
    const own = settingsRecord(stored, await this.#secrets.list(user))
    return { ...own, ...shown, llm_api_key_is_set, active_profile, active_agent_profile_id } as SettingsResponse
  }

  /** Changes the servers of the active agent kind. */
  async #changeServers(user: string, change: (servers: JsonObject) => JsonObject): Promise<SettingsResponse> {
    const stored = await this.#update(user, WHOLE, (before) => {
      const sparse = before.agents[before.agent_kind]
      const servers = isObject(sparse.mcp_config) ? sparse.mcp_config : {}
      return withAgent(before, before.agent_kind, { ...sparse, mcp_config: change(servers) })
    })
    return this.#answer(user, stored, 'hidden')
  }

  async store(user: string, body: Settings): Promise<void> {
    const { secrets_store, ...record } = body
    await this.#secrets.expectStorable(user, secrets_store?.custom_secrets ?? {})
    const opened = decrypted(asJson(record), this.#cipher.tokensOf(user)) as Settings
    await this.#update(user, WHOLE, (stored) => withSettingsRecord(stored, { ...opened, secrets_store }))
    await this.#secrets.store(user, secrets_store?.custom_secrets ?? {})
  }

  async read(user: string, exposure: Exposure): Promise<SettingsResponse> {
    return this.#answer(user, await this.current(user), exposure)
  }

  async patch(user: string, request: SettingsUpdateRequest): Promise<SettingsResponse> {
    if (SETTINGS_UPDATE_MEMBERS.every((name) => request[name] === undefined)) {
      throw new ParleyError('bad_request', `Name at least one of ${SETTINGS_UPDATE_MEMBERS.join(', ')}.`)
    }
    const { active_profile, active_agent_profile_id, ...diffs } = request
    const llm = active_profile == null ? null : await this.#findLlm(user, active_profile)
    if (active_profile != null && llm === null)
      throw new ParleyError('not_found', `Profile '${active_profile}' not found`)
    const { agent_settings_diff, conversation_settings_diff, misc_settings_diff } = decrypted(
      asJson(diffs),
      this.#cipher.tokensOf(user),
    )
    const stored = await this.#update(user, DIFFS, (before) => {
      // A change of the model in the same request applies to the model of the profile.
      let after = llm === null ? before : withModel(before, llm)
      if (isObject(agent_settings_diff)) after = withAgentDiff(after, agent_settings_diff)
      if (isObject(conversation_settings_diff)) after = withConversationDiff(after, conversation_settings_diff)
      if (isObject(misc_settings_diff)) after = { ...after, misc: merge(after.misc, misc_settings_diff) }
      if (active_profile !== undefined) after = { ...after, active_profile }
      if (active_agent_profile_id !== undefined) after = { ...after, active_agent_profile_id }
      return after
    })
    return this.#answer(user, stored, 'hidden')
  }

  async addMcpServer(user: string, name: string, server: MCPServer): Promise<SettingsResponse> {
    if (name === '') throw noServer(name)
    return this.#changeServers(user, (servers) => {
      if (Object.hasOwn(servers, name)) {
        throw new ParleyError(
          'conflict',
          `MCP server '${name}' already exists. Change it with PATCH, or delete it first.`,
        )
      }
      return merge(servers, { [name]: decrypted(asJson(server), this.#cipher.tokensOf(user)) })
    })
  }

  patchMcpServer(user: string, name: string, patch: MCPServerPatch): Promise<SettingsResponse> {
    return this.#changeServers(user, (servers) => {
      const server = Object.hasOwn(servers, name) ? servers[name] : undefined
      if (!isObject(server)) throw noServer(name)
      const change = decrypted(asJson(patch), this.#cipher.tokensOf(user))
      return { ...servers, [name]: asJson(readServer(merge(server, change))) }
    })
  }

  removeMcpServer(user: string, name: string): Promise<SettingsResponse> {
    return this.#changeServers(user, (servers) => {
      if (!Object.hasOwn(servers, name)) throw noServer(name)
      return merge(servers, { [name]: null })
    })
  }

  async activate(user: string, { llm, ...pointers }: Activation): Promise<void> {
    await this.#update(user, WHOLE, (before) => ({
      ...(llm === undefined ? before : withModel(before, llm)),
      ...pointers,
    }))
  }

  async current(user: string): Promise<Stored> {
    return readStored(await this.#store.get(user), this.#cipher)
  }

  text(user: string): Promise<string | null> {
    return this.#store.get(user)
  }
}

/** Of the agent-server API. */
const DIFFS: GroupPlaces = { agent: ['agent_settings_diff'], conversation: ['conversation_settings_diff'] }
/** Of requests whose members have other names than those of the groups. */
const WHOLE: GroupPlaces = { agent: null, conversation: null }

const withAgent = (stored: Stored, kind: AgentKind, sparse: JsonObject): Stored => ({
  ...stored,
  agent_kind: kind,
  agents: { ...stored.agents, [kind]: sparse },
})

/** Keeps only the members of a model that differ from the defaults, so that a default does not become a choice. */
function withModel(stored: Stored, llm: LLM): Stored {
  const defaults = asJson(LLM.parse({}))
  const chosen = Object.entries(asJson(llm)).filter(
    ([name, value]) => name === 'model' || JSON.stringify(value) !== JSON.stringify(defaults[name]),
  )
  return withAgent(stored, 'openhands', { ...stored.agents.openhands, llm: Object.fromEntries(chosen) })
}

/** The kind `llm` is the old name of `openhands`. Each kind keeps its own settings while the other one is active. */
function withAgentDiff(stored: Stored, { agent_kind = stored.agent_kind, ...diff }: JsonObject): Stored {
  const kind = agent_kind === 'llm' ? 'openhands' : agent_kind
  if (kind !== 'openhands' && kind !== 'acp') {
    throw invalidInput("Settings validation failed: agent_kind is 'openhands' or 'acp'", [
      'agent_settings_diff',
      'agent_kind',
    ])
  }
  const change = diff.mcp_config === undefined ? diff : { ...diff, mcp_config: normalized(diff.mcp_config) }
  return withAgent(stored, kind, mergeGroup(stored.agents[kind], change))
}

function withConversationDiff(stored: Stored, diff: JsonObject): Stored {
  const conversation = mergeGroup(stored.conversation, diff)
  if (!Object.hasOwn(diff, 'security_analyzer')) return { ...stored, conversation }
  const { security_analyzer: _, ...own } = stored.own
  return { ...stored, conversation, own }
}

/** Converts other tools' spellings of a server map. Source: agent-server-wire.md 5.9. */
function normalized(config: Json): Json {
  if (!isObject(config)) return config
  const servers = isObject(config.mcpServers) ? config.mcpServers : config
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if (!isObject(server) || typeof server.type !== 'string') return [name, server]
      const { type, ...rest } = server
      return [name, { transport: type === 'shttp' ? 'http' : type, ...rest }]
    }),
  )
}

function readServer(server: JsonObject): MCPServer {
  const result = MCPServer.safeParse(server)
  if (result.success) return result.data
  throw unfit(MCPServer, server)
}

const noServer = (name: string) => new ParleyError('not_found', `MCP server '${name}' not found`)

/** Servers without their empty members; `enabled` always stays. Source: agent-server-wire.md 5.9. */
function compact(servers: Json | undefined): JsonObject {
  if (!isObject(servers)) return {}
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      const members = Object.entries(server as JsonObject).filter(([, member]) => !isEmpty(member))
      return [name, Object.fromEntries(members)]
    }),
  )
}

const isEmpty = (value: Json): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value as object).length === 0)

export function exposed(record: JsonObject, exposure: Exposure, tokens: UserTokens): JsonObject {
  switch (exposure) {
    case 'plain':
      return plainSecrets(record) as JsonObject
    case 'hidden':
      return redact(record, 'socket') as JsonObject
    case 'encrypted':
      return encryptSecrets(record, tokens) as JsonObject
  }
}

/**
 * The record with its encrypted secrets, which this server issued to the same user for the same kind of place, decrypted.
 * @throws ParleyError `invalid_input` for any other token: dropping it would silently lose a secret (F71).
 */
export function decrypted(record: JsonObject, tokens: UserTokens): JsonObject {
  return openTokens(record, tokens, (text, name, isOwn) => {
    const why = isOwn
      ? 'is an encrypted value that was read from another kind of place, and may not be used here'
      : 'is encrypted for another user or place, by an earlier version, or by another server'
    throw invalidInput(
      `${name} ${why}. Send the value itself, or read it again with X-Expose-Secrets: encrypted.`,
      findPlace(record, text) ?? [],
    )
  }) as JsonObject
}

/** The first place of a text in a record; null when it is not there. */
function findPlace(value: Json, text: string): Place | null {
  if (typeof value !== 'object' || value === null) return value === text ? [] : null
  const members = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  for (const [name, member] of members as [string | number, Json][]) {
    const below = findPlace(member, text)
    if (below !== null) return [name, ...below]
  }
  return null
}
