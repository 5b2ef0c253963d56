/** Runs one prompt at a time: sends it, drives it until it ends or a person has to decide, and closes it. Source: agent-core.md 11.5 to 11.8. */
import type { ACPAgent, Draft, MessageEvent, StoredEvent } from '@parley/protocol'
import { sleep } from '../../../lib/index.ts'
import type { Step, StepContext } from '../../agent.ts'
import { warning } from '../../drafts.ts'
import { RepetitionDetector } from './repetition-detector.ts'
import { failureDrafts } from './closing.ts'
import type { AcpAgentDeps, PromptState } from './prompt-state.ts'
import { endDrafts } from './ending.ts'
import { AcpFailure, reportFailure } from '../failure.ts'
import { confirmationDrafts, PermissionGate, SLOT_MS, type PermissionDecision } from '../permission/permission-gate.ts'
import type { RunningSession, AcpProcess } from '../acp-process.ts'
import { withFittingImages } from './images.ts'
import { openingBlocks } from './opening.ts'
import { promptBlocks, turnId } from './prompts.ts'
import type { Readiness } from './readiness.ts'
import { followUpDrafts, withCriticResults } from './critic.ts'
import { readState, stateChange } from '../state.ts'
import { isOver, toolCallEvent } from '../tool-calls.ts'
import { PromptTurn, type TurnEnd } from './turn.ts'
import { watchBudget, watchRepetition } from './run-limits.ts'

/** Milliseconds before a failed prompt is sent again. Source: agent-core.md 11.1. */
const RETRY_DELAYS_MS: readonly number[] = [5000, 15_000, 30_000]
/** Milliseconds that the report of the cost may follow the answer. */
const USAGE_WAIT_MS = 2000

export class PromptRunner {
  readonly #process: AcpProcess
  readonly #readiness: Readiness
  /** Returns the current configuration, because the model may be switched. */
  readonly #config: () => ACPAgent
  readonly #deps: AcpAgentDeps
  #current: PromptState | null = null

  constructor(process: AcpProcess, readiness: Readiness, config: () => ACPAgent, deps: AcpAgentDeps) {
    this.#process = process
    this.#readiness = readiness
    this.#config = config
    this.#deps = deps
  }

  /** The open prompt; null: none. */
  get current(): PromptState | null {
    return this.#current
  }

  /** Drops the open prompt without a message to the agent. */
  detach(): void {
    this.#current?.unsubscribe()
    this.#current = null
  }

  /** Sends a message to the agent and drives the prompt. */
  async *prompt(message: MessageEvent, view: StepContext, signal: AbortSignal): Step {
    let running: RunningSession
    try {
      const ready = await this.#readiness.prepare(view, signal)
      running = ready.running
      if (ready.draft !== null) yield [ready.draft]
      running = await this.#readiness.applyMode(running, view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      yield failureDrafts(reportFailure(error, this.#deps))
      return
    }
    const state = view.state()
    const before = readState(state)
    const images = running.session.takesImages
    const fitting = images ? await withFittingImages(message, this.#deps.shrinker, signal) : { message, refusals: [] }
    const prompt = [
      ...(await openingBlocks(this.#config(), { session: running.session, message, state }, this.#deps)),
      ...promptBlocks(fitting.message, { images }),
    ]
    const notes = fitting.refusals.map((refusal) =>
      warning({ code: 'LLMPartLeftOut', detail: `An image is not sent to the agent: It ${refusal}` }),
    )
    if (notes.length > 0) yield notes
    const record = stateChange(state, {
      acp_inflight_prompt_user_message_id: message.id,
      acp_last_prompt_user_message_id: message.id,
    })
    if (record !== null) yield [record]
    await this.#deps.confirm(signal)
    const current = this.#begin(
      {
        message,
        responseId: turnId(message.id),
        running,
        prompt,
        costBefore: before.acp_session_cost,
        policy: state.confirmation_policy,
        attempt: 0,
        cancelReason: null,
        repetition: new RepetitionDetector(),
        stuckDetail: null,
      },
      view,
    )
    yield* this.drive(current, view, signal)
  }

  #begin(prompt: Omit<PromptState, 'turn' | 'gate' | 'unsubscribe'>, view: StepContext): PromptState {
    const { analyze, hooks, log, workspace } = this.#deps
    const { connection, session } = prompt.running
    const turn = new PromptTurn({
      connection,
      sessionId: session.id,
      idleMs: Math.max(this.#config().acp_prompt_timeout, 0) * 1000,
      emit: view.emit,
      usage: this.#process.usage,
    })
    const gate = new PermissionGate(this.#config().tool_concurrency_limit, {
      workingDir: workspace.workingDir,
      log,
      ...(analyze === undefined ? {} : { analyze }),
      ...(hooks === undefined ? {} : { hooks }),
    })
    const forget = this.#process.listen(session.id, turn)
    const current: PromptState = { ...prompt, turn, gate, unsubscribe: forget }
    this.#current = current
    turn.start(prompt.prompt)
    return current
  }

  /** Processes events until the turn ends or a person has to decide. */
  async *drive(current: PromptState, view: StepContext, signal: AbortSignal): Step {
    const { turn, gate } = current
    try {
      for (;;) {
        const events = [await turn.next(signal), ...turn.drain()]
        const drafts: Draft[] = []
        let end: TurnEnd | null = null
        for (const event of events) {
          if (event.kind === 'call') {
            drafts.push(toolCallEvent(event.call))
            if (isOver(event.call)) {
              watchRepetition(current, event.call, this.#deps)
              drafts.push(...(await gate.afterCall(event.call, view, signal)))
            }
          } else if (event.kind === 'permission') gate.add(event.pending)
          else if (event.kind === 'usage') watchBudget(current, view.state(), this.#deps)
          else if (event.kind === 'end') ({ end } = event)
        }
        if (drafts.length > 0) yield drafts
        if (end !== null) {
          yield* this.#finish(current, end, view, signal)
          return
        }
        await this.#keepMode(current, view, signal)
        if (yield* this.#decide(current, view, signal)) return
      }
    } finally {
      if (signal.aborted) void turn.cancel()
    }
  }

  /** Applies a changed policy at once: sets the session mode, and cancels the prompt when that fails. */
  async #keepMode(current: PromptState, view: StepContext, signal: AbortSignal): Promise<void> {
    const policy = view.state().confirmation_policy
    if (policy === current.policy) return
    current.policy = policy
    try {
      current.running = await this.#readiness.applyMode(current.running, view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      void current.turn.cancel({ kind: 'failed', failure: reportFailure(error, this.#deps), mayRetry: false })
    }
  }

  /** Decides the admitted permission requests. Returns true when a person has to decide. */
  async *#decide(
    { turn, gate }: PromptState,
    view: StepContext,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Draft[], boolean, readonly StoredEvent[]> {
    const admitted = gate.admit(turn.calls)
    if (gate.hasQueued) turn.wakeAfter(SLOT_MS)
    if (admitted.length === 0) return false
    const decisions = await Promise.all(admitted.map((pending) => gate.decide(pending, view, signal)))
    const forPerson = decisions.filter(({ kind }) => kind === 'ask')
    const drafts = [...decisions.flatMap((decision) => decision.drafts), ...confirmationDrafts(forPerson)]
    for (const decision of forPerson) gate.ask(decision)
    if (forPerson.length > 0) turn.isWaitingForPerson = true
    if (drafts.length > 0) yield drafts
    await this.#deps.confirm(signal)
    for (const decision of decisions) {
      if (decision.kind === 'allow') gate.allow(decision)
      else if (decision.kind === 'refused') refuse({ turn, gate }, decision)
    }
    return forPerson.length > 0
  }

  async *#finish(current: PromptState, end: TurnEnd, view: StepContext, signal: AbortSignal): Step {
    const delays = this.#deps.retryDelaysMs ?? RETRY_DELAYS_MS
    const delay = delays[current.attempt]
    // A prompt with a tool call may have changed something, so it is not retried.
    if (
      end.kind === 'failed' &&
      end.mayRetry &&
      delay !== undefined &&
      !current.turn.calls.hasAny &&
      current.cancelReason === null
    ) {
      this.#detach(current)
      await sleep(delay, signal)
      const ready = await this.#readiness.prepare(view, signal).catch((error: unknown) => {
        if (signal.aborted) throw error
        return reportFailure(error, this.#deps)
      })
      if (ready instanceof AcpFailure) {
        yield failureDrafts(ready)
        return
      }
      if (ready.draft !== null) yield [ready.draft]
      await this.#deps.confirm(signal)
      const again = this.#begin({ ...current, running: ready.running, attempt: current.attempt + 1 }, view)
      yield* this.drive(again, view, signal)
      return
    }
    if (end.kind === 'completed' && !current.turn.hasUsage && current.costBefore > 0)
      await current.turn.waitForUsage(USAGE_WAIT_MS, signal)
    const stored = yield await this.close(current, end, view, signal)
    const more = followUpDrafts(stored, this.#config().critic, view.state())
    if (more.length > 0) yield more
  }

  /** Ends a turn and returns its closing drafts. */
  async close(current: PromptState, end: TurnEnd, view: StepContext, signal?: AbortSignal): Promise<Draft[]> {
    const { turn } = current
    this.#detach(current)
    if (!turn.isSettled) {
      this.#readiness.requireRestart()
      // Only the next start waits for the process to end; the closing drafts do not.
      void this.#process.stop()
    }
    const drafts = await endDrafts(current, end, view, { ...this.#deps, agent: this.#config() })
    if (end.kind !== 'completed' || signal === undefined) return drafts
    return withCriticResults(drafts, { critic: this.#config().critic, ...this.#deps }, view, signal)
  }

  #detach(current: PromptState): void {
    current.unsubscribe()
    if (this.#current === current) this.#current = null
  }

  /** Cancels a prompt whose message is no longer on the branch. */
  async abandon(current: PromptState): Promise<void> {
    await current.turn.cancel()
    this.#detach(current)
    if (!current.turn.isSettled) this.#readiness.requireRestart()
  }
}

/** Answers a request with a refusal and marks its call as failed. */
export function refuse({ turn, gate }: Pick<PromptState, 'turn' | 'gate'>, decision: PermissionDecision): void {
  gate.refuse(decision)
  turn.failCall(decision.pending.call.id)
}
