/** The run of one conversation in memory: started by a command, ended by what the log concludes. */
import type { ConversationId, ConversationState, Draft, EventId, StoredEvent, TreeEvent } from '@parley/protocol'
import type { StepContext } from '../../agent/index.ts'
import { abortable, isStoreUnavailable } from '../../lib/index.ts'
import type { LlmDelta } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { BranchView } from '../branch/view.ts'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import { conversationError, describe, statusChanged } from '../drafts.ts'
import type { GoalRounds } from '../goal/rounds.ts'
import type { ConversationHooks } from '../hooks/conversation-hooks.ts'
import { isInterruption, RunCancelled, type Interruption } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import type { AppendRetry } from '../log/append-retry.ts'
import type { LiveLog } from '../log/live-log.ts'
import type { RunEnd } from '../log/run-end.ts'
import type { ConversationRecord } from '../record/record.ts'
import type { Channel } from '../watch/channel.ts'
import { LiveDeltas } from '../watch/live-deltas.ts'
import type { Reminder } from '../watch/reminder.ts'
import type { CondensationRequest } from './condensation-request.ts'
import { next, type Limits, type Next, type StopReason } from './next.ts'
import type { ParentLink, RemainingBudget } from './parent-link.ts'
import { run } from './run.ts'
import { findStuck } from './stuck.ts'

/** Observes the runs of conversations. The conversation waits for each call. */
export type RunObserver = {
  /** Called also when a run continues after a restart or an approval. */
  began(id: ConversationId, record: ConversationRecord): Promise<void>
  ended(id: ConversationId, record: ConversationRecord, end: RunEnd): Promise<void>
  /** A step has ended: one answer of a model with its tool calls stored, or one prompt of an ACP agent. */
  stepped(): void
}

export type RunDeps = {
  /** Waits for a run slot of the owner in this process; the disposer frees it. */
  runSlot: (owner: string, signal: AbortSignal) => Promise<Disposable>
  /** Called when a run begins to need a run slot (1), and when it needs none any more (-1). */
  onRun: (change: 1 | -1) => void
  /** Which limit of the owner is used up; null: none. */
  usedUp: (owner: string) => Promise<StopReason | null>
  /** Notified of runs once their events are durable. */
  runs: RunObserver
  /** Links between sub-agents and their parents. */
  parentLink: ParentLink
  /** True for a user of whom nothing may run. */
  isSuspended: (user: string) => boolean
  /** Waits while the store cannot be read. */
  appendRetry: Pick<AppendRetry, 'wait'>
  log: Pick<Log, 'warn' | 'error'>
}

/** The parts of a conversation that its run works with. */
export type RunParts = {
  log: Pick<LiveLog, 'view' | 'openView' | 'actions' | 'isOriginal' | 'isRefused' | 'isRefusal' | 'expectAccepting'>
  channel: Channel
  files: FileCheckpoints
  goal: GoalRounds
  hooks: ConversationHooks
  condensation: CondensationRequest
  reminder: Reminder
}

export class Running {
  readonly #live: LiveReader & LiveActions
  readonly #parts: RunParts
  readonly #deps: RunDeps
  /** Calls that were open when the process took the conversation over: they are recovered, never executed again. */
  readonly #inherited: Set<string>
  #run: { controller: AbortController; ended: Promise<void> } | null = null
  /** The run slot; null while the run waits for other conversations, or for a slot. */
  #slot: Disposable | null = null
  /** Number of calls of the run that wait for other conversations. */
  #waiting = 0
  /** Set when this node gives the conversation away: resolves when the run is between two steps, or waits for other conversations. */
  #draining: PromiseWithResolvers<void> | null = null
  /** Number of holders that keep a run from starting. */
  #holds = 0
  /** Remaining budget of the parent chain; null for a top-level conversation. */
  remainingBudget: RemainingBudget | null = null
  /** The limit of the owner that is used up, as of the last step. */
  #usedUp: StopReason | null = null
  /** The newest event of the last reported repetition. A person who runs the conversation again lets the agent try further. */
  #reportedStuck: EventId | null = null

  constructor(live: LiveReader & LiveActions, parts: RunParts, deps: RunDeps) {
    this.#live = live
    this.#parts = parts
    this.#deps = deps
    const { open_actions, awaiting_approval } = live.state()
    // A call for which a sub-agent asks is executing already, and is awaited again.
    const asked = awaiting_approval?.sub_agent === undefined ? awaiting_approval?.actions : []
    const awaited = new Set(asked?.map(({ action_id }) => action_id as string))
    this.#inherited = new Set(open_actions.map(({ id }) => id as string).filter((id) => !awaited.has(id)))
  }

  get isActive(): boolean {
    return this.#run !== null
  }

  /** Resolves when the current run has ended. */
  get ended(): Promise<void> {
    return this.#run?.ended ?? Promise.resolve()
  }

  /** Starts a run; does nothing while one is active. While runs are held, a run that is still wanted starts after the hold. */
  start(): void {
    const { condensation, reminder } = this.#parts
    const { isClosed, owner } = this.#live
    if (this.#run !== null || this.#holds > 0 || this.#draining !== null) return
    if (isClosed() || this.#deps.isSuspended(owner)) return
    const controller = new AbortController()
    const requestedAt = performance.now()
    let isRecorded = false
    this.#deps.onRun(1)
    const runToEnd = async () => {
      await this.#runToEnd(controller.signal)
      isRecorded = true
    }
    const ended = runToEnd().finally(() => {
      this.#run = null
      this.#releaseSlot()
      this.#deps.onRun(-1)
      this.#draining?.resolve()
      // The rejection ends the process; a run that started before that would fail again, without end.
      if (!isRecorded) return
      if (controller.signal.aborted) condensation.cancel(isInterruption(controller.signal.reason))
      // A command may have requested a run, or a condensation, while this run was ending.
      else if (this.#isWanted) return this.start()
      if (!isClosed()) reminder.ended(requestedAt)
    })
    this.#run = { controller, ended }
  }

  /** Keeps runs from starting until it is disposed, so that no run takes up the rest of a cancelled one before its end is recorded. */
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
    return this.#live.state().execution_status === 'running' || this.#parts.condensation.isOpen
  }

  /** True while a call of the run waits for other conversations. */
  get isWaiting(): boolean {
    return this.#waiting > 0
  }

  /** Frees the run slot while `work` waits for other runs, so that those can have it; takes a slot again afterwards. */
  async withoutSlot<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#waiting += 1
    if (this.#waiting === 1) {
      this.#deps.onRun(-1)
      this.#draining?.resolve()
    }
    this.#releaseSlot()
    try {
      return await work()
    } finally {
      this.#waiting -= 1
      if (this.#waiting === 0) this.#deps.onRun(1)
      if (this.#waiting === 0 && this.#run !== null && !signal.aborted) await this.#takeSlot(signal)
    }
  }

  async #takeSlot(signal: AbortSignal): Promise<void> {
    const taken = await this.#deps.runSlot(this.#live.owner, signal)
    // Meanwhile another call may have begun to wait, or may have taken a slot.
    if (this.#waiting > 0 || this.#slot !== null || signal.aborted) taken[Symbol.dispose]()
    else this.#slot = taken
  }

  #releaseSlot(): void {
    this.#slot?.[Symbol.dispose]()
    this.#slot = null
  }

  /**
   * Ends the run between two steps without recording an end, and begins no other: another node continues it. Resolves then, and at once
   * while it waits for other conversations, which do the same.
   */
  async drain(): Promise<void> {
    this.#draining ??= Promise.withResolvers()
    if (this.#run !== null && !this.isWaiting) await this.#draining.promise
  }

  cancel(why: Interruption): void {
    this.#run?.controller.abort(new RunCancelled(why))
  }

  /** The conversation as the agent sees it during one step. `settle` ends the live deltas of that step. */
  turn(view: BranchView): StepContext & { settle: () => Promise<void> } {
    const { id, state, record, masker } = this.#live
    const deltas = new LiveDeltas(this.#parts.channel, masker)
    const { sub_agent: origin, parent_conversation_id: parent } = record()
    return {
      conversationId: id,
      // Parent and sub-agents share the cache of what their requests have in common. Source: agent-core.md 1.5.
      ...(origin && parent !== null ? { cacheKey: parent } : {}),
      state,
      view: (): readonly TreeEvent[] => view.events(),
      isOriginal: (action) => this.#parts.log.isOriginal(action),
      isCondensationRequested: () => view.isCondensationRequested,
      emit: (delta: LlmDelta) => deltas.take(delta),
      settle: () => deltas.end(),
    }
  }

  async #runToEnd(signal: AbortSignal): Promise<void> {
    const { emitSnapshot } = this.#live
    try {
      await this.#untilRun(signal)
    } catch (error) {
      await this.#recordFailure(error, signal)
    }
    this.#parts.files.tidy()
    emitSnapshot()
  }

  /** Continues the run after the state in the log while the store cannot be read: what was not stored is asked for again. */
  async #untilRun(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.#runOnce(signal)
      } catch (err) {
        if (signal.aborted || !isStoreUnavailable(err)) throw err
        this.#deps.log.warn({ conversation_id: this.#live.id, err }, 'run waits for the store')
        this.#inheritOpen()
      }
      await this.#deps.appendRetry.wait(signal)
    }
  }

  async #runOnce(signal: AbortSignal): Promise<void> {
    const { id, record, inTurn, openAgent, start } = this.#live
    const { log, files, goal, condensation } = this.#parts
    const { runs, parentLink } = this.#deps
    const untilStored: LiveActions['untilStored'] = (...repeated) => this.#untilStored(...repeated)
    await runs.began(id, record())
    // Before the slot: a start may wait long for the outside world, and would keep others from running.
    await abortable(start(), signal)
    if (this.#slot === null) await this.#takeSlot(signal)
    this.#usedUp = null
    if (record().sub_agent) this.remainingBudget = await parentLink.remainingBudgetOf(record())
    const agent = await openAgent()
    // A person may have changed files since the last run.
    files.request()
    // In a turn: an event that is committed while the view loads would be missing from it.
    const turn = this.turn(await inTurn(() => log.openView()))
    await run(
      {
        atBoundary: () => {
          if (this.#draining !== null) this.cancel('draining')
        },
        agent,
        turn,
        next: () => this.#next(),
        actions: (ids) => log.actions(ids),
        isInherited: (action) => this.#inherited.has(action),
        commit: async (drafts) => {
          await turn.settle()
          const stored = await untilStored(() => this.#commit(drafts, signal), signal)
          files.after(stored)
          return stored
        },
        filesRecorded: () => (files.isRecording ? files.recorded(signal) : null),
        isUsedUp: async () => (this.#usedUp = await this.#deps.usedUp(this.#live.owner)) !== null,
        reportFiles: async () => {
          const report = await files.report(signal)
          if (report.length > 0) await untilStored(() => this.#commit(report, signal), signal)
          return report.length > 0
        },
        expectAccepting: async () => {
          if (log.isRefused) await untilStored(() => log.expectAccepting(), signal)
        },
        stepped: () => runs.stepped(),
        condensed: (error) => condensation.settle(error),
        judge: (of) => goal.judge(of),
        mayStop: (todo, of) => this.#mayStop(todo.status, of),
        conclude: () => untilStored(() => this.#conclude(signal), signal),
      },
      signal,
    )
  }

  #next(): Next {
    const { log, condensation } = this.#parts
    const { max_iterations, max_budget_per_task, stuck_detection } = this.#live.record()
    const limits: Limits = { maxIterations: max_iterations, maxBudgetUsd: max_budget_per_task }
    const stuck = () =>
      stuck_detection && log.view !== null ? findStuck(log.view.events(), { after: this.#reportedStuck }) : null
    return next(this.#live.state(), limits, {
      wantsCondensation: condensation.isOpen,
      stuck,
      remainingBudget: () => this.remainingBudget?.() ?? null,
      usedUp: () => this.#usedUp,
    })
  }

  /** As that of the conversation. The requesters of a condensation learn that the store refuses, because that may last long. */
  #untilStored<T>(work: () => Promise<T>, signal: AbortSignal, force?: { isForced: boolean }): Promise<T> {
    const { log, condensation } = this.#parts
    const reporting = async () => {
      try {
        return await work()
      } catch (error) {
        if (log.isRefusal(error)) condensation.refuse(error)
        throw error
      }
    }
    return this.#live.untilStored(reporting, signal, force)
  }

  #commit(drafts: readonly Draft[], signal: AbortSignal): Promise<StoredEvent[]> {
    signal.throwIfAborted()
    return this.#live.append(drafts)
  }

  /** Hooks run outside of a turn, so that a message that arrives meanwhile is accepted (F65). */
  async #mayStop(status: ConversationState['execution_status'], signal: AbortSignal): Promise<boolean> {
    const result = await this.#parts.hooks.stop(status, signal)
    if (result !== null) await this.#untilStored(() => this.#commit(result.drafts, signal), signal)
    return result?.isDenied !== true
  }

  /** Ends the run if `next` still says so: a message may have arrived meanwhile. False: the run continues. */
  async #conclude(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const { state, append } = this.#live
    const todo = this.#next()
    if (todo.kind !== 'stop') return false
    const reported = this.#parts.log.view?.events().at(-1)?.id ?? null
    const drafts: Draft[] = []
    if (todo.reason !== null) drafts.push(conversationError(todo.reason.code, todo.reason.detail))
    if (todo.status !== state().execution_status) drafts.push(statusChanged(todo.status, todo.reason?.code ?? null))
    if (drafts.length > 0) await append(drafts)
    // Only what is stored is reported: before that, the repetition still ends the run.
    if (todo.status === 'stuck') this.#reportedStuck = reported
    return true
  }

  /** An open call may have been executed: from now on it is recovered instead of executed again. */
  #inheritOpen(): void {
    const { awaiting_approval, open_actions } = this.#live.state()
    if (awaiting_approval === null) for (const { id } of open_actions) this.#inherited.add(id)
  }

  async #recordFailure(error: unknown, signal: AbortSignal): Promise<void> {
    const { id, state, untilStored } = this.#live
    const { condensation } = this.#parts
    const { log } = this.#deps
    if (signal.aborted || error instanceof RunCancelled) return
    const wasCondensationOnly = condensation.isOpen && state().execution_status !== 'running'
    condensation.settle(error)
    if (wasCondensationOnly || state().start?.status === 'failed') return
    this.#inheritOpen()
    const { code, detail } = describe(error)
    log.error({ conversation_id: id, code, err: error }, 'run failed')
    const failed = [conversationError(code, detail), statusChanged('error', code)]
    // Whatever prevents it: a run that ended without a record would start again at once, and ask the model again.
    await untilStored(() => this.#commit(failed, signal), signal, { isForced: true }).catch((cause: unknown) => {
      if (!signal.aborted) log.error({ conversation_id: id, err: cause }, 'failure of a run not recorded')
    })
  }
}
