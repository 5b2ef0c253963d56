/** Named agent configurations without secrets, with revisions. Sources: agent-server-wire.md 1.12; agent-core.md 12.6. */
import { randomUUID } from 'node:crypto'
import {
  ACPAgentProfile,
  type AgentProfile,
  type AgentProfileDiagnostics,
  type AgentProfileInfo,
  type AgentSettings,
  invalidInput,
  type LaunchedAgentProfile,
  LLM,
  MCPServers,
  OpenHandsAgentProfile,
  ParleyError,
} from '@parley/protocol'
import { shellQuote } from '../../lib/index.ts'
import type { DocumentEdit, DocumentStore } from '../../storage/index.ts'
import { modelOf, type ServerModel } from '../conversation-defaults.ts'
import { isObject } from '../merge.ts'
import type { FindLlm, UserSettings } from '../settings.ts'
import { type Stored, wholeAgent } from '../stored.ts'
import { AGENT_PROFILES, expectRoom, MAX_PROFILES, noProfile, readAgentProfile } from './documents.ts'
import { resolveProfile, type Resolved } from './resolve-profile.ts'

export interface AgentProfiles {
  /** Sorted by name. The first call for a user without profiles creates the active profile `default` from the settings. */
  list(user: string): Promise<{ profiles: AgentProfileInfo[]; active_agent_profile_id: string | null }>
  /** @throws ParleyError `not_found`. */
  get(user: string, name: string): Promise<AgentProfile>
  /** A known name keeps its id and gets the next revision. @throws ParleyError `conflict` beyond the limit. */
  save(user: string, name: string, profile: AgentProfile): Promise<void>
  /** Deleting an unknown name is no error. */
  delete(user: string, name: string): Promise<void>
  /** Counts as a revision. @throws ParleyError `not_found`, `conflict`. */
  rename(user: string, name: string, to: string): Promise<void>
  /** Changes only the active profile; the agent settings stay. @throws ParleyError `not_found`. */
  activate(user: string, id: string): Promise<void>
  /** What a start would use, and what is missing. @throws ParleyError `not_found`. */
  materialize(user: string, name: string, signal: AbortSignal): Promise<AgentProfileDiagnostics>
  /** @throws ParleyError `not_found`, `invalid_input` with all faults of the profile. */
  launch(user: string, id: string): Promise<{ settings: AgentSettings; launched: LaunchedAgentProfile }>
}

export type AgentProfileDeps = {
  documents: DocumentStore
  settings: Pick<UserSettings, 'current' | 'activate'>
  findLlm: FindLlm
  /** The model of the server's own configuration. */
  serverModel: ServerModel
  /** Names of the skills that a user has in every workspace. */
  skillsOf: (user: string, signal: AbortSignal) => Promise<readonly string[]>
}

/** Name of the profile, and of the model, of a user who has chosen none. */
const DEFAULT_NAME = 'default'

export const openAgentProfiles = (deps: AgentProfileDeps): AgentProfiles => new StoredAgentProfiles(deps)

class StoredAgentProfiles implements AgentProfiles {
  readonly #deps: AgentProfileDeps

  constructor(deps: AgentProfileDeps) {
    this.#deps = deps
  }

  async #readAll(user: string): Promise<AgentProfile[]> {
    const rows = await this.#deps.documents.list(user, AGENT_PROFILES)
    if (rows.length > 0) return rows.map(readAgentProfile)
    const stored = await this.#deps.settings.current(user)
    // The id of a profile that was deleted stays, so that its user sees that a choice is missing.
    if (stored.active_agent_profile_id !== null) return []
    const first = seed(stored)
    const all = await this.#deps.documents.edit(user, (edit) => {
      if (edit.list(AGENT_PROFILES).length === 0) put(edit, first)
      return edit.list(AGENT_PROFILES).map(readAgentProfile)
    })
    // Another request may have stored its own first profile meanwhile.
    if (all.some(({ id }) => id === first.id))
      await this.#deps.settings.activate(user, { active_agent_profile_id: first.id })
    return all
  }

  async get(user: string, name: string): Promise<AgentProfile> {
    const all = await this.#readAll(user)
    const found = all.find((profile) => profile.name === name)
    if (found === undefined)
      throw noProfile(
        name,
        all.map((profile) => profile.name),
      )
    return found
  }

  async #findById(user: string, id: string): Promise<AgentProfile> {
    const found = (await this.#readAll(user)).find((profile) => profile.id === id)
    if (found === undefined) throw new ParleyError('not_found', `No agent profile has the id ${id}`)
    return found
  }

  async #resolve(user: string, profile: AgentProfile, skills: readonly string[] = []): Promise<Resolved> {
    const stored = await this.#deps.settings.current(user)
    const llm = profile.agent_kind === 'acp' ? null : await this.#modelFor(user, profile.llm_profile_ref, stored)
    return resolveProfile(profile, { llm, servers: serversFor(profile.agent_kind, stored), skills })
  }

  /** The name `default` refers to the model of the settings, unless an LLM profile has that name. */
  async #modelFor(user: string, name: string, stored: Stored): Promise<LLM | string | null> {
    try {
      const found = await this.#deps.findLlm(user, name)
      if (found !== null || name !== DEFAULT_NAME) return found
    } catch (error) {
      if (error instanceof ParleyError && error.code === 'conflict') return error.message
      throw error
    }
    const own = stored.agents.openhands.llm
    return LLM.parse(modelOf(isObject(own) ? own : {}, this.#deps.serverModel))
  }

  async list(user: string): ReturnType<AgentProfiles['list']> {
    const profiles = await this.#readAll(user)
    const { active_agent_profile_id } = await this.#deps.settings.current(user)
    return { profiles: profiles.map(infoOf), active_agent_profile_id }
  }

  async save(user: string, name: string, profile: AgentProfile): Promise<void> {
    await this.#deps.documents.edit(user, (edit) => {
      const row = edit.get(AGENT_PROFILES, name)
      if (row === null) expectRoom(edit, AGENT_PROFILES, MAX_PROFILES, 'agent profiles')
      const before = row === null ? null : readAgentProfile(row)
      const identity = { id: before?.id ?? randomUUID(), name, revision: before === null ? 0 : before.revision + 1 }
      put(edit, { ...profile, ...identity })
    })
  }

  async delete(user: string, name: string): Promise<void> {
    const id = await this.#deps.documents.edit(user, (edit) => {
      const row = edit.get(AGENT_PROFILES, name)
      edit.delete(AGENT_PROFILES, name)
      return row === null ? null : readAgentProfile(row).id
    })
    if (id !== null && (await this.#deps.settings.current(user)).active_agent_profile_id === id)
      await this.#deps.settings.activate(user, { active_agent_profile_id: null })
  }

  async rename(user: string, name: string, to: string): Promise<void> {
    await this.#deps.documents.edit(user, (edit) => {
      const row = edit.get(AGENT_PROFILES, name)
      if (row === null)
        throw noProfile(
          name,
          edit.list(AGENT_PROFILES).map((other) => other.name),
        )
      if (to === name) return
      if (edit.get(AGENT_PROFILES, to) !== null)
        throw new ParleyError('conflict', `Profile '${to}' already exists. Choose another name, or delete it first.`)
      const profile = readAgentProfile(row)
      edit.delete(AGENT_PROFILES, name)
      put(edit, { ...profile, name: to, revision: profile.revision + 1 })
    })
  }

  async activate(user: string, id: string): Promise<void> {
    await this.#findById(user, id)
    await this.#deps.settings.activate(user, { active_agent_profile_id: id })
  }

  async materialize(user: string, name: string, signal: AbortSignal): Promise<AgentProfileDiagnostics> {
    const profile = await this.get(user, name)
    const skills = profile.agent_kind === 'acp' ? [] : await this.#deps.skillsOf(user, signal)
    return (await this.#resolve(user, profile, skills)).diagnostics
  }

  async launch(user: string, id: string): ReturnType<AgentProfiles['launch']> {
    const profile = await this.#findById(user, id)
    const { settings: made, diagnostics } = await this.#resolve(user, profile)
    if (made !== null) return { settings: made, launched: { agent_profile_id: id, revision: profile.revision } }
    const { errors, dangling_mcp_server_refs } = diagnostics
    const details = dangling_mcp_server_refs.length > 0 ? { dangling_mcp_server_refs } : {}
    throw invalidInput(`Agent profile '${profile.name}': ${errors.join('; ')}`, ['agent_profile_id'], { details })
  }
}

/** The first profile of a user: the agent of the settings, without its secrets. */
function seed(stored: Stored): AgentProfile {
  const identity = { id: randomUUID(), name: DEFAULT_NAME }
  const settings = wholeAgent(stored)
  if (settings.agent_kind === 'acp') {
    const { acp_command, acp_args, ...acp } = settings
    const members = Object.entries(acp).filter(([name]) => Object.hasOwn(ACPAgentProfile.shape, name))
    return ACPAgentProfile.parse({
      ...Object.fromEntries(members),
      ...identity,
      schema_version: undefined,
      acp_command: acp_command.length === 0 ? null : acp_command.map(shellQuote).join(' '),
      acp_args: acp_args.length === 0 ? null : acp_args,
    })
  }
  const { verification, agent_context, ...native } = settings
  const { critic_api_key: _key, ...shown } = verification
  const members = Object.entries(native).filter(([name]) => Object.hasOwn(OpenHandsAgentProfile.shape, name))
  return OpenHandsAgentProfile.parse({
    ...Object.fromEntries(members),
    ...identity,
    schema_version: undefined,
    llm_profile_ref: stored.active_profile ?? DEFAULT_NAME,
    verification: shown,
    system_message_suffix: agent_context.system_message_suffix,
    disabled_skills: agent_context.disabled_skills,
  })
}

const put = (edit: DocumentEdit, profile: AgentProfile) =>
  edit.put(AGENT_PROFILES, profile.name, JSON.stringify(profile))

const infoOf = (profile: AgentProfile): AgentProfileInfo => ({
  id: profile.id,
  name: profile.name,
  agent_kind: profile.agent_kind,
  revision: profile.revision,
  llm_profile_ref: profile.agent_kind === 'openhands' ? profile.llm_profile_ref : null,
  mcp_server_refs: profile.mcp_server_refs,
})

/** All configured servers of a user, of both agent kinds; for equal names, those of this kind. */
function serversFor(kind: AgentProfile['agent_kind'], { agents }: Stored): MCPServers {
  const of = (one: AgentProfile['agent_kind']) => MCPServers.parse(agents[one].mcp_config ?? {})
  return { ...of(kind === 'acp' ? 'openhands' : 'acp'), ...of(kind) }
}
