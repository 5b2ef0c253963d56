/** Creates sub-agents and finds existing ones. Source: agent-core.md 12.1. */
import { type AgentDefinition, type ConversationId, invalidInput, type LLM, ParleyError } from '@parley/protocol'
import type { TaskRequest } from '../../tools/index.ts'
import type { Actor, StartRequest } from '../conversations.ts'
import type { ConversationRecord, OwnedConversation, SubAgentOrigin } from '../record/record.ts'
import type { Roster } from '../live/roster.ts'
import { create, expectSame, type StartDeps } from '../start/start.ts'
import { childAgent } from './child-agent.ts'
import { hooksBelow, policyBelow } from '../definitions/guard.ts'
import { registered, typeNamed } from './types.ts'

/** Maximum depth of sub-agents below a top-level conversation. Source: agent-core.md 12.1. */
const MAX_DEPTH = 2
/** Maximum number of sub-agents over the lifetime of one conversation. */
const MAX_CHILDREN = 64
const TITLE_CHARS = 60

/** The conversation whose tools create sub-agents. */
export type Parent = OwnedConversation

export type Child = { id: ConversationId; origin: SubAgentOrigin }

export type ChildrenDeps = {
  start: StartDeps
  roster: Pick<Roster, 'load' | 'admit'>
  readRecord: (text: string) => ConversationRecord
  /** Returns the model of a stored profile; null for an unknown name. */
  findLlm: (owner: string, name: string) => Promise<LLM | null>
  llmNames: (owner: string) => Promise<readonly string[]>
  /** Returns the definitions in files, the project's before the user's. */
  findDefinitions: (parent: Parent) => Promise<readonly AgentDefinition[]>
}

export class Children {
  readonly #deps: ChildrenDeps

  constructor(deps: ChildrenDeps) {
    this.#deps = deps
  }

  async types(parent: Parent): Promise<ReadonlyMap<string, AgentDefinition>> {
    const found = await this.#deps.findDefinitions(parent)
    return registered(parent.record.agent_definitions ?? [], found)
  }

  /** Returns the children that a tool created, by name; the newest of each name. */
  async named(parent: ConversationId, tool: SubAgentOrigin['tool']): Promise<Map<string, Child>> {
    const rows = await this.#conversations.getMany(await this.#conversations.children(parent))
    const children = new Map<string, Child>()
    const byAge = rows.filter((row) => row !== null).toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
    for (const row of byAge) {
      const origin = this.#deps.readRecord(row.record).sub_agent
      if (origin?.tool === tool) children.set(origin.name, { id: row.id, origin })
    }
    return children
  }

  /** Creates the child of a call, unless it exists: an existing child stays unchanged. */
  async make(
    parent: Parent,
    asked: Omit<SubAgentOrigin, 'depth'>,
    id: ConversationId,
    { prompt, description }: Pick<TaskRequest, 'prompt' | 'description'>,
  ): Promise<SubAgentOrigin> {
    const row = await this.#conversations.get(id)
    const before = row === null ? null : this.#deps.readRecord(row.record).sub_agent
    if (before) return before
    const type = typeNamed(await this.types(parent), asked.type)
    const origin = this.origin(parent, { ...asked, type: type.name })
    const request = await this.request(parent, type, origin, id, prompt)
    await this.create(parent, { ...request, title: titleOf(description ?? prompt) })
    return origin
  }

  origin({ record }: Parent, asked: Omit<SubAgentOrigin, 'depth'>): SubAgentOrigin {
    const depth = (record.sub_agent?.depth ?? 0) + 1
    if (depth <= MAX_DEPTH) return { ...asked, depth }
    throw invalidInput(`A sub-agent ${MAX_DEPTH} levels down can have none of its own. Do the work yourself.`)
  }

  async request(
    parent: Parent,
    type: AgentDefinition,
    origin: SubAgentOrigin,
    id: ConversationId,
    prompt: string | null,
  ): Promise<StartRequest> {
    const live = await this.#deps.roster.load(parent.id)
    const { record } = live
    const state = live.state()
    if (record.agent.kind !== 'Agent')
      throw new ParleyError('unsupported', 'Only an agent of kind Agent has sub-agents.')
    const made = (await this.#conversations.children(parent.id)).length
    if (made >= MAX_CHILDREN)
      throw invalidInput(`This conversation has had ${made} sub-agents, which is the limit. Resume one of them.`)
    return {
      conversation_id: id,
      agent: childAgent(record.agent, type, await this.#model(parent.owner, type)),
      working_dir: record.workspace.working_dir,
      remote: record.workspace.kind === 'RemoteWorkspace' ? record.workspace : null,
      confirmation_policy: policyBelow(state.confirmation_policy, type.permission_mode),
      security_analyzer: state.security_analyzer,
      hook_config: hooksBelow(state.hook_config, type.hooks),
      max_iterations: type.max_iteration_per_run ?? state.max_iterations ?? record.max_iterations,
      max_budget_per_task: type.max_budget_per_run,
      stuck_detection: record.stuck_detection,
      parent_conversation_id: parent.id,
      sub_agent: origin,
      agent_definitions: record.agent_definitions ?? [],
      secrets: record.secrets ?? {},
      title: `${origin.name} (${origin.type})`,
      autotitle: false,
      initial_message: prompt === null ? null : { content: [{ type: 'text', text: prompt, cache_prompt: false }] },
      fingerprint: `sub-agent ${origin.call_id} ${origin.name}`,
    }
  }

  /** Null: the parent's model. @throws ParleyError `invalid_input` naming the profiles. */
  async #model(owner: string, { name, model }: AgentDefinition): Promise<LLM | null> {
    if (model === 'inherit' || model === '') return null
    const found = await this.#deps.findLlm(owner, model)
    if (found !== null) return found
    const names = (await this.#deps.llmNames(owner)).join(', ') || 'none'
    throw invalidInput(`Type '${name}' wants the model profile '${model}', which does not exist. Profiles: ${names}.`)
  }

  async create(parent: Parent, request: StartRequest): Promise<void> {
    const { start, roster, readRecord } = this.#deps
    const started = await create(start, request, actorOf(parent))
    if (!('existing' in started)) {
      roster.admit(started.row, started.record, started.state).resume()
      return
    }
    const row = await this.#conversations.get(started.existing)
    expectSame(row, row === null ? null : readRecord(row.record), request, actorOf(parent))
  }

  get #conversations() {
    return this.#deps.start.storage.conversations
  }
}

export const actorOf = ({ id, owner }: Pick<Parent, 'id' | 'owner'>): Actor => ({
  user: owner,
  role: 'user',
  keyId: `conversation ${id}`,
})

const titleOf = (text: string): string => {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line
}
