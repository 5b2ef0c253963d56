/**
 * Sub-agents: conversations of the same store that work for another one, driven by the same heart.
 *
 * Invariants
 *   A1. What a call begins has an id that follows from the call: performed again, it finds what it has begun.
 *   A2. A sub-agent may never do more than its parent may, also when the parent is told to be more careful later.
 *   A3. What it spends is in its parent's stats before it goes on; budgets of all above it are looked at before each answer.
 *   A4. Who waits for sub-agents holds no place among the runs, so that they can have one.
 *   A5. Who is interrupted, or taken over at rest, has nobody at work: its calls have ended before those who work for it are
 *       called off, and they rest before its own end is recorded.
 *   A6. A command goes down from parent to child outside of both mailboxes, news goes up inside the child's: nobody waits in a ring.
 */
import { ParleyError, type ConversationId, type ConversationState } from '@parley/protocol'
import {
  MAX_DELEGATES,
  type DelegateRequest,
  type SpawnRequest,
  type SubAgentEnd,
  type SubAgents,
  type SubAgentType,
  type TaskRequest,
} from '../../tools/index.ts'
import { isInterruption, RunCancelled } from '../run/interruption.ts'
import type { LiveConversation } from '../live/live-conversation.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { Roster } from '../live/roster.ts'
import { attend, type Attended } from './attend.ts'
import { callOff, mayBeInStep } from './call-off.ts'
import { Calls } from './calls.ts'
import { actorOf, Children, type Child, type ChildrenDeps, type Parent } from './children.ts'
import { childId, taskId, workId } from './ids.ts'
import type { Kin, Purse } from './kin.ts'
import { pauseAsParent } from './resuming.ts'
import { bucketOf, overdrawn, spending } from './spending.ts'
import { typeNamed } from './types.ts'

export type FamilyDeps = ChildrenDeps & {
  roster: Pick<Roster, 'channel' | 'release'>
  log: { warn(fields: object, message: string): void }
}

/** Milliseconds that an interrupt waits for calls to see it; what they begin later they call off themselves. */
const SEEN_MS = 5000

/** What the agent of one conversation is given. */
export type OwnSubAgents = SubAgents & { types(): Promise<SubAgentType[]> }

export class Family implements Kin {
  readonly #deps: FamilyDeps
  readonly #children: Children
  readonly #calls = new Calls()
  /** Whom each conversation waits for now. */
  readonly #attended = new Map<ConversationId, Set<ConversationId>>()

  constructor(deps: FamilyDeps) {
    this.#deps = deps
    this.#children = new Children(deps)
  }

  /** Sub-agents as the tools of one conversation see them. */
  of(parent: Parent): OwnSubAgents {
    return {
      types: async () => [...(await this.#children.types(parent)).values()],
      task: (request, signal) => this.#calls.perform(parent.id, () => this.#task(parent, request, signal)),
      spawn: (request) => this.#calls.perform(parent.id, () => this.#spawn(parent, request)),
      delegate: (request, signal) => this.#calls.perform(parent.id, () => this.#delegate(parent, request, signal)),
      knows: async (callId) => (await this.#conversations.get(childId(parent.id, callId))) !== null,
    }
  }

  async purseOf(record: ConversationRecord): Promise<Purse | null> {
    const above: LiveConversation[] = []
    for (let at: ConversationRecord | null = record; at?.sub_agent && at.parent_conversation_id !== null;) {
      const live: LiveConversation | null = await this.#loaded(at.parent_conversation_id)
      if (live !== null) above.push(live)
      at = live?.record ?? null
    }
    if (above.length === 0) return null
    return () => {
      for (const live of above) {
        const reason = overdrawn(live.record, live.state())
        if (reason !== null) return reason
      }
      return null
    }
  }

  async spent(id: ConversationId, record: ConversationRecord, state: ConversationState): Promise<Purse | null> {
    const { sub_agent: origin, parent_conversation_id: parentId } = record
    if (!origin || parentId === null) return null
    const parent = await this.#loaded(parentId)
    // What cannot be told now is told when the parent attends to it again.
    const tell = parent?.commit((books) => spending(books, bucketOf(origin), state))
    await tell?.catch((err: unknown) => this.#deps.log.warn({ conversation_id: id, err }, 'spending could not be told'))
    return this.purseOf(record)
  }

  async interrupt(parent: ConversationId): Promise<void> {
    await this.#calls.settled(parent, SEEN_MS)
    const ids = await this.#conversations.children(parent)
    if (ids.length === 0) return
    const rows = await this.#conversations.getMany(ids)
    const own = rows.filter((row) => row !== null).filter((row) => this.#isSubAgent(row.record))
    // Whoever is interrupted does the same for its own; one that rests may still have some that do not.
    await Promise.all(own.map(({ id, status }) => (mayBeInStep(status) ? callOff(this.#deps, id) : this.interrupt(id))))
  }

  async beforeResuming(child: LiveConversation): Promise<void> {
    const { sub_agent: origin, parent_conversation_id: parentId } = child.record
    if (!origin || parentId === null || child.state().execution_status !== 'running') return
    try {
      const parent = await this.#loaded(parentId)
      if (parent !== null) await pauseAsParent(this.#deps.start.storage.events, parent, child)
    } catch (err) {
      this.#deps.log.warn({ conversation_id: child.id, err }, 'a sub-agent goes on without a look at who waits for it')
    }
  }

  async #task(parent: Parent, request: TaskRequest, signal: AbortSignal): Promise<SubAgentEnd> {
    signal.throwIfAborted()
    const { callId, prompt, resume } = request
    if (resume !== null) {
      const { id, origin } = await this.#earlier(parent, resume)
      return this.#attend(
        parent,
        { childId: id, origin, callId, work: { id: workId(id, callId), text: prompt } },
        signal,
      )
    }
    const id = childId(parent.id, callId)
    const name = taskId(id)
    const made = await this.#children.make(
      parent,
      { tool: 'task', name, type: request.type, call_id: callId },
      id,
      request,
    )
    return this.#attend(parent, { childId: id, origin: made, callId, work: null }, signal)
  }

  async #spawn(parent: Parent, { callId, ids, types }: SpawnRequest): Promise<void> {
    const there = new Set((await this.#children.named(parent.id, 'delegate')).keys())
    for (const id of ids) there.add(id)
    if (there.size > MAX_DELEGATES)
      throw new ParleyError(
        'invalid_input',
        `There may be ${MAX_DELEGATES} delegates at most; give an id anew to replace one.`,
      )
    // All of them can be made, or none is.
    const known = await this.#children.types(parent)
    const requests = await Promise.all(
      ids.map(async (name, at) => {
        const type = typeNamed(known, types[at]!)
        const origin = this.#children.origin(parent, { tool: 'delegate', name, type: type.name, call_id: callId })
        return this.#children.request(parent, type, origin, childId(parent.id, callId, name), null)
      }),
    )
    for (const request of requests) await this.#children.create(parent, request)
  }

  async #delegate(parent: Parent, { callId, tasks }: DelegateRequest, signal: AbortSignal): Promise<SubAgentEnd[]> {
    const delegates = await this.#children.named(parent.id, 'delegate')
    const unknown = Object.keys(tasks).filter((name) => !delegates.has(name))
    if (unknown.length > 0) {
      const names = [...delegates.keys()].join(', ') || 'none; spawn some first'
      throw new ParleyError('invalid_input', `There is no delegate ${unknown.join(', ')}. Delegates: ${names}.`)
    }
    const working = Object.entries(tasks).map(async ([name, text]) => {
      const { id, origin } = delegates.get(name)!
      const work = { id: workId(id, callId), text }
      return this.#attend(parent, { childId: id, origin, callId, work }, signal).catch((error: unknown) => {
        signal.throwIfAborted()
        // One that fails in a way of its own takes nobody else's result away.
        const reason = error instanceof Error ? error.message : String(error)
        return { conversation_id: id, name, type: origin.type, status: 'error' as const, reason, text: '' }
      })
    })
    const ends = await Promise.allSettled(working)
    signal.throwIfAborted()
    return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  }

  /** Waits without a place among the runs. Whoever is interrupted while he waits calls the child off. */
  async #attend(parent: Parent, attended: Omit<Attended, 'parentId'>, signal: AbortSignal): Promise<SubAgentEnd> {
    const { roster, start } = this.#deps
    const { childId: id, origin } = attended
    const waiting = this.#attended.get(parent.id) ?? new Set()
    if (waiting.has(id))
      throw new ParleyError('invalid_input', `${origin.name} is at work already. Wait for its result, then ask again.`)
    this.#attended.set(parent.id, waiting.add(id))
    const deps = {
      roster,
      events: start.storage.events,
      actor: actorOf(parent),
      purseOf: (child: LiveConversation) => this.purseOf(child.record),
      settle: (child: LiveConversation) => this.spent(child.id, child.record, child.state()),
    }
    try {
      const live = await roster.load(parent.id)
      return await live.lend(() => attend(deps, { ...attended, parentId: parent.id }, signal), signal)
    } catch (error) {
      if (signal.aborted && !goesOn(signal.reason)) await callOff(this.#deps, id)
      throw error
    } finally {
      waiting.delete(id)
      if (waiting.size === 0) this.#attended.delete(parent.id)
    }
  }

  /** Others may name this conversation as their parent too, and are nobody's to interrupt. */
  #isSubAgent(record: string): boolean {
    return Boolean(this.#deps.readRecord(record).sub_agent)
  }

  get #conversations() {
    return this.#deps.start.storage.conversations
  }

  /** Null for a conversation that is not there any more, or that this process lets go of. */
  async #loaded(id: ConversationId): Promise<LiveConversation | null> {
    try {
      return await this.#deps.roster.load(id)
    } catch (error) {
      if (error instanceof ParleyError && (error.code === 'not_found' || error.code === 'unavailable')) return null
      throw error
    }
  }

  /** The task of this id. @throws ParleyError `invalid_input` naming those that there are. */
  async #earlier(parent: Parent, name: string): Promise<Child> {
    const tasks = await this.#children.named(parent.id, 'task')
    const found = tasks.get(name)
    if (found !== undefined) return found
    const names = [...tasks.keys()].join(', ') || 'none'
    throw new ParleyError('invalid_input', `There is no task '${name}' to resume. Tasks: ${names}.`)
  }
}

/** Whether another process, or this one later, goes on where the run was cancelled: the children do so too. */
const goesOn = (reason: unknown): boolean =>
  reason instanceof RunCancelled && !isInterruption(reason) && reason.why !== 'deleted'
