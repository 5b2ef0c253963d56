/** The run of one conversation in memory: started when a command asks for it, ended by what the log concludes. */
import type { ConversationId, ConversationState, Draft, EventId, StoredEvent, TreeEvent } from '@parley/protocol'
import type { Agent, Turn } from '../../agent/index.ts'
import type { LlmDelta } from '../../llm/index.ts'
import type { Masker } from '../../secrets/index.ts'
import { abortable, type Mailbox } from '../../lib/index.ts'
import type { BranchView } from '../branch/view.ts'
import type { Channel } from '../watch/channel.ts'
import type { CondensationWish } from './condensation-wish.ts'
import { conversationError, describe, statusChanged } from '../drafts.ts'
import type { GoalRounds } from '../goal/rounds.ts'
import type { Hooked } from '../live/hooked.ts'
import { isInterruption, RunCancelled, type Interruption } from './interruption.ts'
import { LiveDeltas } from '../watch/live-deltas.ts'
import type { LiveLog } from '../log/live-log.ts'
import { next, type Limits, type Next } from './next.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { Reminder } from '../watch/reminder.ts'
import type { RunEnd } from './run-end.ts'
import type { Kin, Purse } from '../sub-agents/kin.ts'
import { run } from './run.ts'
import { findStuck } from './stuck.ts'

/** Hears of the runs of conversations. */
export type RunObserver = {
  /** Also when a run goes on, after a restart or an approval. */
  began(id: ConversationId, record: ConversationRecord): Promise<void>
  ended(id: ConversationId, record: ConversationRecord, end: RunEnd): Promise<void>
}

export type RunDeps = {
  /** Waits for a place among the runs of this process; the disposer frees it. */
  runSlot: (signal: AbortSignal) => Promise<Disposable>
  /** Told of runs, once what it is told is durable; the conversation waits for it. */
  runs?: RunObserver
  /** What binds sub-agents to those that they work for. */
  kin?: Kin
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
}

/** What a run needs of its conversation. */
export type RunHost = {
  id: ConversationId
  log: LiveLog
  mailbox: Mailbox
  channel: Channel
  goal: GoalRounds
  hooked: Hooked
  wish: CondensationWish
  reminder: Reminder
  openAgent: () => Promise<Agent>
  /** Hides what is secret in this conversation now. */
  masker: () => Promise<Masker>
  /** Waits for the start of the conversation, beginning it if need be. */
  started: () => Promise<void>
  append: (drafts: readonly Draft[]) => Promise<StoredEvent[]>
  emitSnapshot: () => void
  isClosed: () => boolean
}

export class Running {
  readonly #host: RunHost
  readonly #deps: RunDeps
  /** Calls that were open when the process took the conversation over: asked about, never performed afresh. */
  readonly #inherited: Set<string>
  #run: { controller: AbortController; ended: Promise<void> } | null = null
  /** The place among the runs of this process; null while the run waits for others, or for a place. */
  #slot: Disposable | null = null
  /** Calls of the run that wait for sub-agents. */
  #lending = 0
  /** Those who keep a run from beginning. */
  #holds = 0
  /** What those that this conversation works for have left; null: it works for nobody. */
  purse: Purse | null = null
  /** Up to here going round in circles has been reported; who runs it again wants it to try further. */
  #reportedStuck: EventId | null = null

  constructor(host: RunHost, deps: RunDeps) {
    this.#host = host
    this.#deps = deps
    const { open_actions, awaiting_approval } = host.log.state
    // A call for which a sub-agent asks is performed already, and is attended to again.
    const asked = awaiting_approval?.sub_agent === undefined ? awaiting_approval?.actions : []
    const awaited = new Set(asked?.map(({ action_id }) => action_id as string))
    this.#inherited = new Set(open_actions.map(({ id }) => id as string).filter((id) => !awaited.has(id)))
  }

  get isGoingOn(): boolean {
    return this.#run !== null
  }

  /** Resolves when the run that goes on now has ended. */
  get ended(): Promise<void> {
    return this.#run?.ended ?? Promise.resolve()
  }

  /** Begins a run; nothing when one goes on. While runs are held back, it begins when they are let go, if it is still wanted. */
  start(): void {
    const { wish, reminder, isClosed } = this.#host
    if (this.#run !== null || this.#holds > 0 || isClosed()) return
    const controller = new AbortController()
    const askedAt = performance.now()
    const ended = this.#runToEnd(controller.signal).finally(() => {
      this.#run = null
      this.#release()
      if (controller.signal.aborted) wish.cancel(isInterruption(controller.signal.reason))
      // A command may have asked for a run, or for a shorter view, while this one was winding down.
      else if (this.#isWanted) return this.start()
      if (!isClosed()) reminder.ended(askedAt)
    })
    this.#run = { controller, ended }
  }

  /** No run begins until this is disposed: what a cancelled one left is not taken up before its end is recorded. */
  hold(): Disposable {
    this.#holds += 1
    return {
      [Symbol.dispose]: () => {
        this.#holds -= 1
        if (this.#holds === 0 && this.#isWanted) this.start()
      },
    }
  }

  get #isWanted(): boolean {
    return this.#host.log.state.execution_status === 'running' || this.#host.wish.isOpen
  }

  /** A call of the run waits for sub-agents. */
  get isLending(): boolean {
    return this.#lending > 0
  }

  /** Gives the run's place away while `work` waits for other runs, so that those can have it; takes one again afterwards. */
  async lend<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#lending += 1
    this.#release()
    try {
      return await work()
    } finally {
      this.#lending -= 1
      if (this.#lending === 0 && this.#run !== null && !signal.aborted) await this.#takeSlot(signal)
    }
  }

  async #takeSlot(signal: AbortSignal): Promise<void> {
    const taken = await this.#deps.runSlot(signal)
    // Another call may have begun to wait meanwhile, or have brought a place back.
    if (this.#lending > 0 || this.#slot !== null || signal.aborted) taken[Symbol.dispose]()
    else this.#slot = taken
  }

  #release(): void {
    this.#slot?.[Symbol.dispose]()
    this.#slot = null
  }

  cancel(why: Interruption): void {
    this.#run?.controller.abort(new RunCancelled(why))
  }

  /** What an agent may see of the conversation during one step. `settle`: what it said live has been shown whole. */
  turn(view: BranchView): Turn & { settle: () => Promise<void> } {
    const { id, log, channel, masker } = this.#host
    const deltas = new LiveDeltas(channel, masker)
    const { sub_agent: origin, parent_conversation_id: parent } = log.record
    return {
      conversationId: id,
      // What is the same in requests of parent and sub-agents is kept once. Source: agent-core.md 1.5 (3).
      ...(origin && parent !== null ? { cacheKey: parent } : {}),
      state: () => log.state,
      view: (): readonly TreeEvent[] => view.events(),
      isCondensationRequested: () => view.isCondensationRequested,
      emit: (delta: LlmDelta) => deltas.take(delta),
      settle: () => deltas.end(),
    }
  }

  async #runToEnd(signal: AbortSignal): Promise<void> {
    const { id, log, mailbox, goal, wish, openAgent, started, emitSnapshot } = this.#host
    try {
      await this.#deps.runs?.began(id, log.record)
      await this.#takeSlot(signal)
      await abortable(started(), signal)
      if (log.record.sub_agent) this.purse = (await this.#deps.kin?.purseOf(log.record)) ?? null
      const agent = await openAgent()
      // In a turn of its own: what is committed while it loads would be missing from it.
      const turn = this.turn(await mailbox.run(() => log.openView()))
      await run(
        {
          agent,
          turn,
          next: () => this.#next(),
          actions: (ids) => log.actions(ids),
          isInherited: (action) => this.#inherited.has(action),
          commit: async (drafts) => {
            await turn.settle()
            return mailbox.run(() => this.#commit(drafts, signal))
          },
          condensed: (error) => wish.settle(error),
          judge: (of) => goal.judge(of),
          mayStop: (todo, of) => this.#mayStop(todo.status, of),
          conclude: () => mailbox.run(() => this.#conclude()),
        },
        signal,
      )
    } catch (error) {
      await this.#failed(error, signal)
    }
    emitSnapshot()
  }

  #next(): Next {
    const { log, wish } = this.#host
    const { record, view } = log
    const limits: Limits = { maxIterations: record.max_iterations, maxBudgetUsd: record.max_budget_per_task }
    const stuck = () =>
      record.stuck_detection && view !== null ? findStuck(view.events(), { after: this.#reportedStuck }) : null
    return next(log.state, limits, { wantsCondensation: wish.isOpen, stuck, purse: () => this.purse?.() ?? null })
  }

  #commit(drafts: readonly Draft[], signal: AbortSignal): Promise<StoredEvent[]> {
    signal.throwIfAborted()
    return this.#host.append(drafts)
  }

  /** Hooks are asked outside of the mailbox: a message that comes meanwhile is taken (F65). */
  async #mayStop(status: ConversationState['execution_status'], signal: AbortSignal): Promise<boolean> {
    const asked = await this.#host.hooked.stop(status, signal)
    if (asked !== null) await this.#host.mailbox.run(() => this.#commit(asked.drafts, signal))
    return asked?.isDenied !== true
  }

  /** Ends the run if it is still over: a message may have arrived since the loop looked. False: go on. */
  async #conclude(): Promise<boolean> {
    const { log, append } = this.#host
    const todo = this.#next()
    if (todo.kind !== 'stop') return false
    if (todo.status === 'stuck') this.#reportedStuck = log.view?.events().at(-1)?.id ?? null
    const drafts: Draft[] = []
    if (todo.reason !== null) drafts.push(conversationError(todo.reason.code, todo.reason.detail))
    if (todo.status !== log.state.execution_status) drafts.push(statusChanged(todo.status, todo.reason?.code ?? null))
    if (drafts.length > 0) await append(drafts)
    return true
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    const { id, log, mailbox, wish, append } = this.#host
    if (signal.aborted || error instanceof RunCancelled) return
    const isWishAlone = wish.isOpen && log.state.execution_status !== 'running'
    wish.settle(error)
    if (isWishAlone || log.state.start?.status === 'failed') return
    // Whatever was under way may have happened: the next run asks about it instead of doing it again.
    if (log.state.awaiting_approval === null) for (const open of log.state.open_actions) this.#inherited.add(open.id)
    const { code, detail } = describe(error)
    this.#deps.log.error({ conversation_id: id, code, err: error }, 'run failed')
    await mailbox
      .run(() => append([conversationError(code, detail), statusChanged('error', code)]))
      .catch((cause: unknown) =>
        this.#deps.log.error({ conversation_id: id, err: cause }, 'failure could not be recorded'),
      )
  }
}
