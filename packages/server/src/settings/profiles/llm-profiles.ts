/** Named models. Sources: agent-server-wire.md 1.11; agent-core.md 12.5. */
import { invalidInput, LLM, ParleyError, type ProfileInfo, type SaveProfileRequest, under } from '@parley/protocol'
import { HIDDEN, redact, type Cipher, type Json, type JsonObject } from '../../secrets/index.ts'
import type { DocumentEdit, DocumentRow, DocumentStore } from '../../storage/index.ts'
import { decrypted, exposed, type Exposure, type FindLlm, type UserSettings } from '../settings.ts'
import { isObject } from '../merge.ts'
import { asJson } from '../stored.ts'
import {
  AGENT_PROFILES,
  bound,
  type Bound,
  CONNECTIONS,
  type Connection,
  expectRoom,
  LLM_PROFILES,
  MAX_PROFILES,
  noProfile,
  readAgentProfile,
  readConnection,
  readLlm,
  sealed,
} from './documents.ts'

export interface LlmProfiles {
  /** Sorted by name. */
  list(user: string): Promise<{ profiles: ProfileInfo[]; active_profile: string | null }>
  /** @throws ParleyError `not_found`. */
  get(
    user: string,
    name: string,
    exposure: Exposure,
  ): Promise<{ name: string; config: Record<string, unknown>; api_key_set: boolean }>
  /** @throws ParleyError `conflict` beyond the limit, `invalid_input` for an unknown connection. */
  save(user: string, name: string, request: SaveProfileRequest): Promise<void>
  /** Deleting an unknown name is no error. @throws ParleyError `conflict` naming the references to it. */
  delete(user: string, name: string): Promise<void>
  /** @throws ParleyError `not_found`, `conflict`. */
  rename(user: string, name: string, to: string): Promise<void>
  /** Copies the model into the user's settings. @throws ParleyError `not_found`, `conflict` for a broken one. */
  activate(user: string, name: string): Promise<void>
}

/** Returns a reader of profiles, which throws ParleyError `conflict` for a broken one. */
export function openFindLlm(documents: DocumentStore, cipher: Cipher): FindLlm {
  return async (user, name) => {
    const row = await documents.get(user, LLM_PROFILES, name)
    if (row === null) return null
    const stored = readLlm(row, cipher)
    const id = stored.provider_connection_id
    const connection = id === null ? null : await documents.get(user, CONNECTIONS, id)
    const { llm, isBroken } = bound(stored, () => (connection === null ? null : readConnection(connection, cipher)))
    if (isBroken && llm.api_key === null)
      throw new ParleyError('conflict', `Profile '${name}' uses the provider connection '${id}', which does not exist.`)
    return llm
  }
}

export const openLlmProfiles = (documents: DocumentStore, settings: ProfileSettings, cipher: Cipher): LlmProfiles =>
  new StoredLlmProfiles(documents, settings, cipher)

type ProfileSettings = Pick<UserSettings, 'current' | 'activate'>

class StoredLlmProfiles implements LlmProfiles {
  readonly #documents: DocumentStore
  readonly #settings: ProfileSettings
  readonly #cipher: Cipher
  readonly #find: FindLlm

  constructor(documents: DocumentStore, settings: ProfileSettings, cipher: Cipher) {
    this.#documents = documents
    this.#settings = settings
    this.#cipher = cipher
    this.#find = openFindLlm(documents, cipher)
  }

  async #readAll(user: string): Promise<{ name: string; entry: Bound }[]> {
    const [rows, connections] = await Promise.all([
      this.#documents.list(user, LLM_PROFILES),
      this.#documents.list(user, CONNECTIONS),
    ])
    const known = new Map(connections.map((row) => [row.name, row]))
    const connectionOf = (id: string): Connection | null => {
      const row = known.get(id)
      return row === undefined ? null : readConnection(row, this.#cipher)
    }
    return rows.map((row) => ({ name: row.name, entry: bound(readLlm(row, this.#cipher), connectionOf) }))
  }

  /** References to a profile: agent profiles, and fallbacks of other profiles (F73). */
  #referrers(edit: DocumentEdit, name: string): string[] {
    const agents = edit
      .list(AGENT_PROFILES)
      .map(readAgentProfile)
      .filter((profile) => profile.agent_kind === 'openhands' && profile.llm_profile_ref === name)
      .map((profile) => `agent profile '${profile.name}'`)
    const fallbacks = edit
      .list(LLM_PROFILES)
      .filter((row) => row.name !== name && fallbacksOf(row, this.#cipher).includes(name))
      .map((row) => `the fallbacks of profile '${row.name}'`)
    return [...agents, ...fallbacks]
  }

  /** The settings keep the model itself; only the name of its profile changes. */
  async #forgetActive(user: string, name: string, to: string | null): Promise<void> {
    if ((await this.#settings.current(user)).active_profile === name)
      await this.#settings.activate(user, { active_profile: to })
  }

  async list(user: string): ReturnType<LlmProfiles['list']> {
    const [all, { active_profile }] = await Promise.all([this.#readAll(user), this.#settings.current(user)])
    return { profiles: all.map(({ name, entry }) => infoOf(name, entry)), active_profile }
  }

  async get(user: string, name: string, exposure: Exposure): ReturnType<LlmProfiles['get']> {
    const all = await this.#readAll(user)
    const found = all.find((profile) => profile.name === name)
    if (found === undefined) throw noProfile(name, namesOf(all))
    const { llm } = found.entry
    const { fallback_strategy: _, ...config } = asJson(llm)
    const shown = exposed(
      { ...config, is_subscription: llm.auth_type === 'subscription' },
      exposure,
      this.#cipher.tokensOf(user),
    )
    return { name, config: shown, api_key_set: llm.api_key !== null }
  }

  async save(user: string, name: string, { llm, include_secrets }: SaveProfileRequest): Promise<void> {
    const written = under(['llm'], () => decrypted(asJson(llm), this.#cipher.tokensOf(user)))
    await this.#documents.edit(user, (edit) => {
      const before = edit.get(LLM_PROFILES, name)
      if (before === null) expectRoom(edit, LLM_PROFILES, MAX_PROFILES, 'profiles')
      const old = before === null ? {} : asJson(readLlm(before, this.#cipher))
      const kept = unmasked(written, old) as JsonObject
      const record = LLM.parse(include_secrets ? kept : redact(kept, 'rest'))
      const id = record.provider_connection_id
      if (id !== null && edit.get(CONNECTIONS, id) === null)
        throw invalidInput(`There is no provider connection '${id}'.`, ['llm', 'provider_connection_id'])
      edit.put(
        LLM_PROFILES,
        name,
        sealed(id === null ? record : { ...record, api_key: null, base_url: null }, this.#cipher),
      )
    })
  }

  async delete(user: string, name: string): Promise<void> {
    await this.#documents.edit(user, (edit) => {
      const others = this.#referrers(edit, name)
      if (others.length > 0)
        throw new ParleyError('conflict', `Profile '${name}' is used by ${others.join(', ')}. Change that first.`)
      edit.delete(LLM_PROFILES, name)
    })
    await this.#forgetActive(user, name, null)
  }

  async rename(user: string, name: string, to: string): Promise<void> {
    await this.#documents.edit(user, (edit) => {
      const row = edit.get(LLM_PROFILES, name)
      if (row === null) throw noProfile(name, namesOf(edit.list(LLM_PROFILES)))
      if (to === name) return
      if (edit.get(LLM_PROFILES, to) !== null)
        throw new ParleyError('conflict', `Profile '${to}' already exists. Choose another name, or delete it first.`)
      edit.put(LLM_PROFILES, to, row.json)
      edit.delete(LLM_PROFILES, name)
      rewriteReferences(edit, name, to, this.#cipher)
    })
    await this.#forgetActive(user, name, to)
  }

  async activate(user: string, name: string): Promise<void> {
    const llm = await this.#find(user, name)
    if (llm === null) throw noProfile(name, namesOf(await this.#documents.list(user, LLM_PROFILES)))
    await this.#settings.activate(user, { active_profile: name, llm })
  }
}

const namesOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name)

const fallbacksOf = (row: DocumentRow, cipher: Cipher): readonly string[] =>
  readLlm(row, cipher).fallback_strategy?.fallback_llms ?? []

function rewriteReferences(edit: DocumentEdit, name: string, to: string, cipher: Cipher): void {
  for (const row of edit.list(AGENT_PROFILES)) {
    const profile = readAgentProfile(row)
    if (profile.agent_kind !== 'openhands' || profile.llm_profile_ref !== name) continue
    edit.put(AGENT_PROFILES, row.name, JSON.stringify({ ...profile, llm_profile_ref: to }))
  }
  for (const row of edit.list(LLM_PROFILES)) {
    const llm = readLlm(row, cipher)
    const { fallback_strategy } = llm
    if (fallback_strategy === null || !fallback_strategy.fallback_llms.includes(name)) continue
    const fallback_llms = fallback_strategy.fallback_llms.map((other) => (other === name ? to : other))
    edit.put(
      LLM_PROFILES,
      row.name,
      sealed({ ...llm, fallback_strategy: { ...fallback_strategy, fallback_llms } }, cipher),
    )
  }
}

const infoOf = (name: string, { llm, isBroken }: Bound): ProfileInfo => ({
  name,
  model: llm.model,
  base_url: llm.base_url,
  provider_connection_id: llm.provider_connection_id,
  provider_connection_broken: isBroken,
  api_key_set: llm.api_key !== null,
})

/** Returns what is written, with masked texts replaced by the stored values at the same place. */
function unmasked(written: Json, stored: Json | undefined): Json | undefined {
  if (written === HIDDEN) return stored
  if (!isObject(written)) return written
  const members = Object.entries(written).flatMap(([name, member]): [string, Json][] => {
    const kept = unmasked(member, isObject(stored) ? stored[name] : undefined)
    return kept === undefined ? [] : [[name, kept]]
  })
  return Object.fromEntries(members)
}
