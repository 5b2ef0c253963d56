import { isTreeEvent, ParleyError, type ConversationState, type Draft } from '@parley/protocol'
import { abortable } from '../../../lib/index.ts'
import { isStoreUnavailable } from '../../../lib/index.ts'
import type { Log } from '../../../observability/index.ts'
import { conversationError, describe, statusChanged } from '../../drafts.ts'
import type { ConversationHooks } from '../../hooks/conversation-hooks.ts'
import { isInterruption } from '../../interruption.ts'
import type { LiveActions, LiveReader } from '../../live-access.ts'
import type { AppendRetry } from '../../log/append-retry.ts'
import type { ConversationRecord, MessageContent } from '../../record/record.ts'
import { hasToStartAgain, isReady, STOPPED } from '../../record/start-status.ts'
import { submitted, type SessionBeginning, type Submission } from '../../submission.ts'
import { DEFAULT_DEADLINES, PHASES, START_TIMEOUT, type Phase, type PhaseName } from './phase.ts'
import { phaseEvent, runPhases, type LastPhaseEnd } from './run-phases.ts'

export type StartupDeps = {
  /** Phases before the agent's own, in order. */
  phases: readonly Phase[]
  /** Waits until the owner may start another conversation; the disposer ends the start. */
  startSlot: (owner: string, signal: AbortSignal) => Promise<Disposable>
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  /** Waits while the store cannot be read. */
  appendRetry: Pick<AppendRetry, 'wait'>
  /** Milliseconds that opening the agent may take. */
  agentDeadlineMs?: number | undefined
  log: Pick<Log, 'warn'>
}

type Live = Pick<LiveReader, 'id' | 'owner' | 'epoch' | 'state' | 'record' | 'isClosed'> &
  Pick<LiveActions, 'inTurn' | 'untilStored' | 'inBackground' | 'append' | 'openAgent' | 'startRun'>

/** The start of one conversation: at most one at a time; every caller during a start waits for the same end. */
export class Startup {
  readonly #live: Live
  readonly #hooks: ConversationHooks
  readonly #deps: StartupDeps
  #current: { controller: AbortController; ended: Promise<void> } | null = null
  /** The end of a start that was called off, until it is stored. */
  #owed: Draft | null = null

  constructor(live: Live, hooks: ConversationHooks, deps: StartupDeps) {
    this.#live = live
    this.#hooks = hooks
    this.#deps = deps
  }

  get isActive(): boolean {
    return this.#current !== null
  }

  /** Takes the start through its phases. Rejects with the reason that was recorded. */
  run(): Promise<void> {
    if (this.#current !== null) return this.#current.ended
    const controller = new AbortController()
    const ended = this.#start(controller.signal).finally(() => {
      this.#current = null
    })
    this.#current = { controller, ended }
    return ended
  }

  /** @throws ParleyError `conflict` when the conversation is stopped */
  expectNotStopped(): void {
    if (hasToStartAgain(this.#live.state()))
      throw new ParleyError('conflict', 'The conversation is stopped. Start it again first.')
  }

  /** Resolves when the conversation is ready, starting it if needed. @throws ParleyError `conflict`; the reason of a failed start. */
  async ready(): Promise<void> {
    this.expectNotStopped()
    if (!isReady(this.#live.state())) await this.run()
  }

  /** Starts a failed or stopped conversation again, without waiting for the end. Pending messages follow the start. */
  async again(): Promise<void> {
    const { inTurn, state, record, startRun } = this.#live
    await inTurn(async () => {
      const { start, execution_status } = state()
      if (!hasToStartAgain(state()) || this.isActive) return
      const hasPending = record().pending_messages.length > 0
      const drafts = [phaseEvent(start?.phase === 'ready' ? 'agent' : newest(start), 'started')]
      if (hasPending) drafts.push(statusChanged('running'))
      else if (execution_status === 'error') drafts.push(statusChanged('idle'))
      await this.#append(drafts)
      if (hasPending) startRun()
      else this.run().catch(() => undefined)
    })
  }

  /** Cancels the start and waits for its end. */
  async cancel(reason: Error): Promise<void> {
    const current = this.#current
    if (current === null) return
    current.controller.abort(reason)
    await current.ended.catch(() => undefined)
  }

  /** True while the store refuses the end of a start that was called off. */
  get isOwed(): boolean {
    return this.#owed !== null
  }

  /** Only in a turn: stores the end of a start that was called off, unless it is stored. @throws the error of the store */
  async recordOwed(): Promise<void> {
    if (this.#owed === null) return
    await this.#append([this.#owed])
    this.#owed = null
  }

  async #start(signal: AbortSignal): Promise<void> {
    if (isReady(this.#live.state())) return
    try {
      await this.#untilDone(signal)
    } catch (error) {
      await this.#recordFailure(error, signal)
      throw error
    }
  }

  /** Repeats what is left of the start while the store cannot be read. */
  async #untilDone(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.#throughPhases(signal)
      } catch (err) {
        if (signal.aborted || !isStoreUnavailable(err)) throw err
        this.#deps.log.warn({ conversation_id: this.#live.id, err }, 'start waits for the store')
      }
      await this.#deps.appendRetry.wait(signal)
    }
  }

  async #throughPhases(signal: AbortSignal): Promise<void> {
    const commit = async (drafts: readonly Draft[], change: Partial<ConversationRecord>) => {
      signal.throwIfAborted()
      await this.#append(drafts, change)
    }
    const { untilStored } = this.#live
    if (this.isOwed) await untilStored(() => this.recordOwed(), signal)
    using _slot = await this.#deps.startSlot(this.#live.owner, signal)
    const phases = [...this.#deps.phases, this.#agentPhase()]
    const store = (...phase: Parameters<typeof commit>) => untilStored(() => commit(...phase), signal)
    const last = await runPhases(phases, this.#live, store, this.#deps.confirm, signal)
    await this.#finish(last, commit, signal)
  }

  /** Begins the session, then commits the end of the start together with the pending messages. */
  async #finish(
    { drafts, change }: LastPhaseEnd,
    commit: (drafts: readonly Draft[], change: Partial<ConversationRecord>) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { state, record, untilStored, openAgent } = this.#live
    // Hooks take time, so they run outside of a turn: messages that arrive meanwhile are submitted in another round.
    const session = await this.#hooks.begin(signal)
    const hasMessages = record().pending_messages.length > 0 || session.drafts.some(isTreeDraft)
    // Outside of a turn too: the tools of MCP servers are loaded when a run is going to need them.
    if (hasMessages || state().execution_status === 'running') await (await openAgent()).prepare?.(signal)
    const submissions = new Map<MessageContent, Submission>()
    for (let isDone = false; !isDone;) {
      await this.#submitPending(submissions, session.config, signal)
      isDone = await untilStored(async () => {
        const pending = record().pending_messages.map((content) => submissions.get(content))
        if (pending.includes(undefined)) return false
        const messages = [...session.drafts, ...submitted(state(), pending as Submission[])]
        const isRunning = state().execution_status === 'running'
        const isOpening = (messages.some(isTreeDraft) || isRunning) && !state().has_system_prompt
        const opening = isOpening ? (await openAgent()).preamble(state()) : []
        const ready = phaseEvent('ready', 'done', null, session.detail)
        await commit([...drafts, ready, ...opening, ...messages], { ...change, pending_messages: [], pending_ids: [] })
        return true
      }, signal)
    }
  }

  /** Runs the hooks on the pending messages that have no submission yet. */
  async #submitPending(
    submissions: Map<MessageContent, Submission>,
    config: SessionBeginning['config'],
    signal: AbortSignal,
  ): Promise<void> {
    const { pending_messages, pending_ids } = this.#live.record()
    for (const [index, content] of pending_messages.entries()) {
      const id = pending_ids?.[index] ?? undefined
      if (!submissions.has(content)) submissions.set(content, await this.#hooks.submit(content, config, signal, { id }))
    }
  }

  /** Opening the agent belongs to this process, so every start has this phase. */
  #agentPhase(): Phase {
    return {
      name: 'agent',
      deadlineMs: this.#deps.agentDeadlineMs ?? DEFAULT_DEADLINES.agent,
      timeoutCode: START_TIMEOUT,
      subject: () => 'Opening the agent',
      applies: () => true,
      run: async (_, signal) => {
        await abortable(this.#live.openAgent(), signal)
        return {}
      },
    }
  }

  /** Records why the start ended. Nothing is recorded when its process ends: the next process continues the start. */
  async #recordFailure(error: unknown, signal: AbortSignal): Promise<void> {
    const { id, state, untilStored, isClosed } = this.#live
    const phase = newest(state().start)
    if (signal.aborted) {
      if (!isInterruption(signal.reason) || isClosed()) return
      const reason = 'The start was called off. Start the conversation again to go on.'
      return this.#recordCalledOff(phaseEvent(phase, 'failed', STOPPED, reason))
    }
    if (isClosed()) return
    const { code, detail } = describe(error)
    this.#deps.log.warn({ conversation_id: id, phase, code }, 'conversation start failed')
    const failed = phaseEvent(phase, 'failed', code, detail)
    const drafts = [failed, conversationError(code, detail), statusChanged('error', code)]
    await untilStored(
      async () => {
        signal.throwIfAborted()
        await this.#append(drafts)
      },
      signal,
      { isForced: true },
    )
  }

  /** Stores the end of a start that a person has called off; what the store refuses is repeated until it accepts it. */
  async #recordCalledOff(end: Draft): Promise<void> {
    const { inTurn, untilStored, inBackground } = this.#live
    this.#owed = end
    const record = () => this.recordOwed()
    try {
      await inTurn(record)
    } catch (error) {
      inBackground((signal) => untilStored(record, signal, { isForced: true })).catch(() => undefined)
      throw error
    }
  }

  /** Only in a turn: stores the drafts together with a change of the record. */
  async #append(drafts: readonly Draft[], change: Partial<ConversationRecord> = {}): Promise<void> {
    const { record, append } = this.#live
    await append(drafts, Object.keys(change).length === 0 ? undefined : { ...record(), ...change })
  }
}

const isTreeDraft = (draft: Draft): boolean => isTreeEvent(draft)

const newest = (start: ConversationState['start']): PhaseName =>
  PHASES.find((name) => name === start?.phase) ?? 'workspace'
