/**
 * The start phase that collects skills, plugins and notes and stores them with the conversation, so that a restart, a fork and
 * another owner use the same.
 *
 * Invariants
 *   S1. Skills of a project are read as text. Commands in them, and MCP servers, count only where the operator trusts the
 *       project (trusted_hooks).
 *   S2. Files in the home folder of the server's account are for the owner of that account alone.
 */
import { isAbsolute } from 'node:path'
import { AgentContext, skillsInForce, type AgentDefinition, type Skill } from '@parley/protocol'
import {
  catalogue,
  invokeSkill,
  projectSkills,
  readNotes,
  skillsOfUser,
  type SkillCatalogue,
  type FoundSkills,
  type SkillOrigin,
} from '../../../skills/index.ts'
import { isInside } from '../../../lib/index.ts'
import type { Log } from '../../../observability/index.ts'
import type { SkillService } from '../../../tools/index.ts'
import type { Workspace, Workspaces } from '../../../workspace/index.ts'
import { workspaceSpec, type ConversationRecord } from '../../record/record.ts'
import { isTrustedProject } from '../../record/trusted-project.ts'
import { DEFAULT_DEADLINES, START_TIMEOUT, type Phase, type PhaseDeadlines } from './phase.ts'
import { attachPlugins, restorePlugins, type PluginDeps } from './plugins.ts'

const NOTHING: FoundSkills = { skills: [], notes: [] }

export type SkillPhaseDeps = Omit<PluginDeps, 'workspace'> & {
  workspaces: Pick<Workspaces, 'open'>
  /** Home folder of the account that the server runs under. */
  home: string
  /** Patterns of projects whose own commands count. */
  trusted: readonly string[]
  deadlines?: Partial<PhaseDeadlines>
  log: Pick<Log, 'info'>
}

/** The phase; it applies to conversations whose request contains skills, plugins or notes. */
export function skillPhase(deps: SkillPhaseDeps): Phase {
  return {
    name: 'skills',
    deadlineMs: deps.deadlines?.skills ?? DEFAULT_DEADLINES.skills,
    timeoutCode: START_TIMEOUT,
    subject: () => 'Reading skills and plugins',
    applies: (record) =>
      record.loaded ? isOwedPlugins(record) : asksForAny(record) || readsByDefault(record, deps.trusted),
    async run(starting, signal) {
      const { id, owner, record } = starting
      await using workspace = await deps.workspaces.open(workspaceSpec(starting), signal)
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
      const memory = context?.load_memory === true ? await readNotes(deps.home, owner, workspace, signal) : null
      const skilled =
        context === null && found.skills.length === 0 ? null : { ...emptyContext(context), skills: found.skills }
      return {
        detail: summary({ of, notes, context, plugins: attached.plugins.filter(({ is_skill }) => is_skill !== true) }),
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

/** A request without a context leaves it to the server, which reads the instructions of projects that the operator trusts. */
const readsByDefault = (record: ConversationRecord, trusted: readonly string[]): boolean =>
  record.agent.kind === 'Agent' && record.agent.agent_context === null && isTrustedProject(record, trusted)

/** A fork keeps what its source has loaded, but its sandbox may not show the source's folder of plugins. */
function isOwedPlugins({ loaded, plugins = [] }: ConversationRecord): boolean {
  return loaded?.is_restored === false && plugins.some(({ resolved_ref }) => resolved_ref !== null)
}

async function read(
  deps: SkillPhaseDeps,
  owner: string,
  record: ConversationRecord,
  workspace: Workspace,
  signal: AbortSignal,
) {
  const { agent, workspace: place } = record
  const context = agent.agent_context
  const isWanted = context?.load_project_skills === true || readsByDefault(record, deps.trusted)
  const project = isWanted ? await projectSkills(workspace, place.working_dir, signal) : NOTHING
  const user = context?.load_user_skills === true ? await skillsOfUser(deps.home, owner, signal) : NOTHING
  return { context, sources: { project, user } }
}

/** Definitions of the request take precedence over those of plugins. */
function withDefinitions(
  { agent_definitions: own = [] }: ConversationRecord,
  brought: readonly AgentDefinition[],
): Pick<ConversationRecord, 'agent_definitions'> {
  const added = brought.filter(({ name }) => !own.some((each) => each.name === name))
  return added.length === 0 ? {} : { agent_definitions: [...own, ...added] }
}

/** MCP servers of skills, without those of an untrusted project (S1). */
function serversOf({ skills }: SkillCatalogue, isTrusted: (skill: Skill) => boolean, notes: string[]) {
  const servers: NonNullable<Skill['mcp_tools']> = {}
  for (const skill of skills) {
    const { name, mcp_tools } = skill
    if (mcp_tools === null || Object.keys(mcp_tools).length === 0) continue
    if (!isTrusted(skill)) notes.push(`${name}: its MCP servers are left alone`)
    else Object.assign(servers, mcp_tools)
  }
  return servers
}

/** Summary of the phase for its event. */
function summary(of: {
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

/** The skill service of a conversation's agent. */
export function skillsFor(record: ConversationRecord, trusted: readonly string[]): SkillService {
  const skills = skillsInForce(record.agent.agent_context)
  const isKnown = isTrustedProject(record, trusted)
  const origins = record.loaded?.origins ?? {}
  // An agent outlives the record it was opened with, so the service keeps no more of it than it needs.
  const { workspace, sub_agent = null } = record
  const isTrusted = (skill: Skill) => isKnown || !isOfProject(skill, origins[skill.name], { workspace, sub_agent })
  return { invoke: (name, call) => invokeSkill({ skills, isTrusted }, name, call) }
}

/**
 * True when a skill comes from the project. A skill of the request counts as the project's too when its source lies in the
 * working directory, or when the conversation is a sub-agent's, which gets the skills of its parent.
 */
function isOfProject(
  { source }: Skill,
  origin: SkillOrigin | undefined,
  { workspace, sub_agent }: Pick<ConversationRecord, 'workspace' | 'sub_agent'>,
): boolean {
  if (origin === 'project') return true
  if (origin !== undefined || source === null || !isAbsolute(source)) return false
  return Boolean(sub_agent) || isInside(workspace.working_dir, source)
}

const emptyContext = (context: AgentContext | null): AgentContext => context ?? AgentContext.parse({})

/** The agent of a record as it is opened: with the notes, which records do not show to clients. */
export function withNotes({ agent, loaded }: ConversationRecord): ConversationRecord['agent'] {
  const memory = loaded?.memory ?? null
  return memory === null
    ? agent
    : { ...agent, agent_context: { ...emptyContext(agent.agent_context), memory_context: memory } }
}
