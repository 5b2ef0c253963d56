/**
 * Joins skills, plugins and notes to conversations: a phase of the start brings them together and keeps them with the
 * conversation, so that a restart, a fork and another owner see the same.
 *
 * Invariants
 *   S1. What a project brings along is read as text. Commands in it, and MCP servers, count only where the operator trusts the
 *       project (trusted_hooks).
 *   S2. What the server's account keeps in its home is for the owner of that account alone.
 */
import { isAbsolute, resolve } from 'node:path'
import { AgentContext, skillsInForce, type AgentDefinition, type Skill, type SkillsRequest } from '@parley/protocol'
import {
  DEFAULT_DEADLINES,
  remoteOf,
  START_TIMEOUT,
  type ConversationRecord,
  type Phase,
  type PhaseDeadlines,
} from '../conversation/index.ts'
import { attachPlugins, restorePlugins, type PluginDeps } from './plugging.ts'
import { memoryOf } from './remembering.ts'
import { DEFAULT_USER } from '../settings/index.ts'
import {
  catalogue,
  invoke,
  isWithin,
  OWN_FILES,
  projectSkills,
  userSkills,
  type Catalogue,
  type Found,
  type Origin,
} from '../skills/index.ts'
import type { SkillService } from '../tools/index.ts'
import { isTrusted, type Hosts, type Workspace, type Workspaces } from '../workspace/index.ts'

const NOTHING: Found = { skills: [], notes: [] }

export type SkillingDeps = Omit<PluginDeps, 'workspace'> & {
  workspaces: Workspaces
  /** Home folder of the account that the server runs under. */
  home: string
  /** Patterns of projects whose own commands count. */
  trusted: readonly string[]
  deadlines?: Partial<PhaseDeadlines>
  log: { info(fields: object, message: string): void }
}

/** The phase that brings knowledge into a conversation; it does not apply to one that asks for none. */
export function skillPhase(deps: SkillingDeps): Phase {
  return {
    name: 'skills',
    deadlineMs: deps.deadlines?.skills ?? DEFAULT_DEADLINES.skills,
    timeoutCode: START_TIMEOUT,
    subject: () => 'Reading skills and plugins',
    applies: (record) => (record.loaded ? isOwedPlugins(record) : asksForAny(record)),
    async run({ id, owner, epoch, record }, signal) {
      const { working_dir } = record.workspace
      const spec = { conversationId: id, workingDir: working_dir, epoch, remote: remoteOf(record.workspace) }
      await using workspace = await deps.workspaces.open(spec, signal)
      if (record.loaded) {
        await restorePlugins({ ...deps, workspace }, { owner, record }, signal)
        return { change: { loaded: { ...record.loaded, is_restored: true } } }
      }
      const { context, sources } = await read(deps, owner, record, workspace, signal)
      const attached = await attachPlugins({ ...deps, workspace }, { owner, record }, signal)
      const request = context?.skills ?? []
      const { user, project } = sources
      const of = { request, user: user.skills, project: project.skills, plugin: attached.skills }
      const found = catalogue(of, context?.disabled_skills ?? [])
      const notes = [...user.notes, ...project.notes, ...attached.notes, ...found.notes]
      const isKnown = isTrustedProject(record, deps.trusted)
      const mcp_config = {
        ...serversOf(found, (skill) => isKnown || !isOfProject(skill, found.origins[skill.name], record), notes),
        ...record.agent.mcp_config,
        ...attached.mcp,
      }
      if (notes.length > 0)
        deps.log.info({ conversation_id: id, notes: notes.slice(0, 50) }, 'parts of skills left out')
      const memory = context?.load_memory === true ? await memoryOf(deps.home, owner, workspace, signal) : null
      const skilled =
        context === null && found.skills.length === 0 ? null : { ...emptyContext(context), skills: found.skills }
      return {
        detail: told({ of, notes, context, plugins: attached.plugins }),
        change: {
          agent: { ...record.agent, mcp_config, agent_context: skilled },
          loaded: { origins: found.origins, hooks: attached.hooks, memory },
          ...(attached.plugins.length === 0 ? {} : { plugins: attached.plugins }),
          ...withDefinitions(record, attached.definitions),
        },
      }
    },
  }
}

function asksForAny({ agent: { agent_context: context }, plugins }: ConversationRecord): boolean {
  if (plugins !== undefined && plugins.length > 0) return true
  if (context === null) return false
  const { load_user_skills, load_project_skills, load_public_skills, load_memory } = context
  return load_user_skills || load_project_skills || load_public_skills || load_memory
}

/** A fork has what its source has loaded, and may not see where the source keeps its plugins. */
function isOwedPlugins({ loaded, plugins = [] }: ConversationRecord): boolean {
  return loaded?.is_restored === false && plugins.some(({ resolved_ref }) => resolved_ref !== null)
}

async function read(
  deps: SkillingDeps,
  owner: string,
  { agent, workspace: { working_dir } }: ConversationRecord,
  workspace: Workspace,
  signal: AbortSignal,
) {
  const context = agent.agent_context
  const project = context?.load_project_skills === true ? await projectSkills(workspace, working_dir, signal) : NOTHING
  const user = context?.load_user_skills === true ? await skillsOfUser(deps.home, owner, signal) : NOTHING
  return { context, sources: { project, user } }
}

/** Those that the request describes itself go before those of plugins. */
function withDefinitions(
  { agent_definitions: own = [] }: ConversationRecord,
  brought: readonly AgentDefinition[],
): Pick<ConversationRecord, 'agent_definitions'> {
  const added = brought.filter(({ name }) => !own.some((each) => each.name === name))
  return added.length === 0 ? {} : { agent_definitions: [...own, ...added] }
}

/** Nobody's but the owner of the account (S2). */
export async function skillsOfUser(home: string, user: string, signal: AbortSignal): Promise<Found> {
  return user === DEFAULT_USER ? userSkills(OWN_FILES, home, signal) : NOTHING
}

/** Names of the skills that a user has wherever an agent works. */
export const openOwnSkillNames = (home: string) => async (user: string, signal: AbortSignal) =>
  (await skillsOfUser(home, user, signal)).skills.map(({ name }) => name)

/** MCP servers that skills bring along, those of an untrusted project left out (S1). */
function serversOf({ skills }: Catalogue, isAnsweredFor: (skill: Skill) => boolean, notes: string[]) {
  const servers: NonNullable<Skill['mcp_tools']> = {}
  for (const skill of skills) {
    const { name, mcp_tools } = skill
    if (mcp_tools === null || Object.keys(mcp_tools).length === 0) continue
    if (!isAnsweredFor(skill)) notes.push(`${name}: its MCP servers are left alone`)
    else Object.assign(servers, mcp_tools)
  }
  return servers
}

/** For people who watch the start. */
function told(of: {
  of: Record<'user' | 'project' | 'plugin', readonly Skill[]>
  notes: readonly string[]
  context: AgentContext | null
  plugins: readonly { name: string | null }[]
}): string {
  const { user, project, plugin } = of.of
  const counts = [`${project.length} of the project`, `${user.length} of the user`, `${plugin.length} of plugins`]
  const lines = [`skills: ${counts.join(', ')}`]
  if (of.plugins.length > 0) lines.push(`plugins: ${of.plugins.map(({ name }) => name).join(', ')}`)
  if (of.context?.load_public_skills === true) lines.push('public skills are not loaded by this version')
  if (of.notes.length > 0) lines.push(`left out: ${of.notes.slice(0, 5).join('; ')}`)
  return lines.join('; ').slice(0, 2000)
}

/** What the agent of a conversation may ask of its skills. */
export function skillsFor(record: ConversationRecord, trusted: readonly string[]): SkillService {
  const skills = skillsInForce(record.agent.agent_context)
  const isKnown = isTrustedProject(record, trusted)
  const origins = record.loaded?.origins ?? {}
  const isAnsweredFor = (skill: Skill) => isKnown || !isOfProject(skill, origins[skill.name], record)
  return { invoke: (name, call) => invoke({ skills, isTrusted: isAnsweredFor }, name, call) }
}

/**
 * Whether a skill was written by whoever writes the project. One that a request brings may have been read there before, by a
 * client or for the conversation that a sub-agent works for.
 */
function isOfProject(
  { source }: Skill,
  origin: Origin | undefined,
  { workspace, sub_agent }: ConversationRecord,
): boolean {
  if (origin === 'project') return true
  if (origin !== undefined || source === null || !isAbsolute(source)) return false
  return Boolean(sub_agent) || isWithin(workspace.working_dir, source)
}

/** The skills of a directory of this machine and of a user, as a client lists them before it starts anything. */
export function openSkillsOf({ hosts, home, log }: { hosts: Hosts; home: string; log: SkillingDeps['log'] }) {
  return async (user: string, { load_user, load_project, project_dir }: SkillsRequest, signal: AbortSignal) => {
    const host = await hosts.of(user)
    const own = load_user ? await skillsOfUser(home, user, signal) : NOTHING
    const isAsked = load_project && project_dir !== null && project_dir !== ''
    const project = isAsked ? await projectSkills(host, resolve(host.workingDir, project_dir), signal) : NOTHING
    const notes = [...own.notes, ...project.notes]
    if (notes.length > 0) log.info({ directory: project_dir, notes: notes.slice(0, 50) }, 'parts of skills left out')
    const { skills } = catalogue({ request: [], user: own.skills, project: project.skills, plugin: [] }, [])
    const sources = { public: 0, user: own.skills.length, project: project.skills.length, org: 0, sandbox: 0 }
    return { skills, sources }
  }
}

/** A project is known by its repository, or else by its folder. */
function isTrustedProject(record: ConversationRecord, trusted: readonly string[]): boolean {
  return isTrusted(record.repository?.slug ?? record.workspace.working_dir, trusted)
}

const emptyContext = (context: AgentContext | null): AgentContext => context ?? AgentContext.parse({})
