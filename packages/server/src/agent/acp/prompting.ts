/** One prompt at a time: made, driven until it ends or a person has to decide, and closed. Source: agent-core.md 11.5 to 11.8. */
import type { ACPAgent, Draft, MessageEvent, StoredEvent } from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import type { Step, Turn } from '../agent.ts'
import { Circles } from './circles.ts'
import { failureDrafts } from './closing.ts'
import type { AcpAgentDeps, Current } from './current.ts'
import { endDrafts } from './ending.ts'
import { AcpFailure, toldFailure } from './failure.ts'
import { confirmation, Gate, PLACE_MS, type Verdict } from './gate.ts'
import type { Held, Hold } from './hold.ts'
import { opening } from './opening.ts'
import { promptBlocks, turnId } from './prompts.ts'
import type { Readiness } from './readiness.ts'
import { anotherRound, judged } from './rounds.ts'
import { readState, stateChange } from './state.ts'
import { isOver, toolCallEvent } from './tool-calls.ts'
import { PromptTurn, type TurnEnd } from './turn.ts'
import { watchBudget, watchCircles } from './watching.ts'

/** Milliseconds before a prompt is made again. Source: agent-core.md 11.1. */
const RETRY_DELAYS_MS: readonly number[] = [5000, 15_000, 30_000]
/** Milliseconds that a word about the cost may come after the answer. */
const USAGE_WAIT_MS = 2000

export class Prompting {
  readonly #hold: Hold
  readonly #readiness: Readiness
  /** As it is now: its model may be switched. */
  readonly #config: () => ACPAgent
  readonly #deps: AcpAgentDeps
  #current: Current | null = null

  constructor(hold: Hold, readiness: Readiness, config: () => ACPAgent, deps: AcpAgentDeps) {
    this.#hold = hold
    this.#readiness = readiness
    this.#config = config
    this.#deps = deps
  }

  /** The prompt that goes on; null: none does. */
  get current(): Current | null {
    return this.#current
  }

  /** Lets go of the prompt that goes on, without a word to its agent. */
  forget(): void {
    this.#current?.forget()
    this.#current = null
  }

  /** Asks the agent about a message. */
  async *prompt(message: MessageEvent, view: Turn, signal: AbortSignal): Step {
    let held: Held
    try {
      const ready = await this.#readiness.ready(view, signal)
      held = ready.held
      if (ready.draft !== null) yield [ready.draft]
      held = await this.#readiness.inMode(held, view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      yield failureDrafts(toldFailure(error, this.#deps))
      return
    }
    const state = view.state()
    const before = readState(state)
    const prompt = [
      ...(await opening(this.#config(), { session: held.session, message, state }, this.#deps)),
      ...promptBlocks(message, { images: held.session.takesImages }),
    ]
    const mark = stateChange(state, {
      acp_inflight_prompt_user_message_id: message.id,
      acp_last_prompt_user_message_id: message.id,
    })
    if (mark !== null) yield [mark]
    signal.throwIfAborted()
    const current = this.#begin(
      {
        message,
        responseId: turnId(message.id),
        held,
        prompt,
        costBefore: before.acp_session_cost,
        policy: state.confirmation_policy,
        attempt: 0,
        because: null,
        circles: new Circles(),
        stuck: null,
      },
      view,
    )
    yield* this.drive(current, view, signal)
  }

  #begin(parts: Omit<Current, 'turn' | 'gate' | 'forget'>, view: Turn): Current {
    const { analyze, hooks, log, workspace } = this.#deps
    const { connection, session } = parts.held
    const turn = new PromptTurn({
      connection,
      sessionId: session.id,
      idleMs: Math.max(this.#config().acp_prompt_timeout, 0) * 1000,
      emit: view.emit,
      spent: this.#hold.spent,
    })
    const gate = new Gate(this.#config().tool_concurrency_limit, {
      workingDir: workspace.workingDir,
      log,
      ...(analyze === undefined ? {} : { analyze }),
      ...(hooks === undefined ? {} : { hooks }),
    })
    const forget = this.#hold.listen(session.id, turn)
    const current: Current = { ...parts, turn, gate, forget }
    this.#current = current
    turn.start(parts.prompt)
    return current
  }

  /** Takes what happens until the turn ends or a person has to decide. */
  async *drive(current: Current, view: Turn, signal: AbortSignal): Step {
    const { turn, gate } = current
    try {
      for (;;) {
        const happened = [await turn.next(signal), ...turn.drain()]
        const drafts: Draft[] = []
        let end: TurnEnd | null = null
        for (const happening of happened) {
          if (happening.kind === 'call') {
            drafts.push(toolCallEvent(happening.call))
            if (isOver(happening.call)) {
              watchCircles(current, happening.call, this.#deps)
              drafts.push(...(await gate.ended(happening.call, view, signal)))
            }
          } else if (happening.kind === 'permission') gate.add(happening.asking)
          else if (happening.kind === 'usage') watchBudget(current, view.state(), this.#deps)
          else if (happening.kind === 'end') ({ end } = happening)
        }
        if (drafts.length > 0) yield drafts
        if (end !== null) {
          yield* this.#ended(current, end, view, signal)
          return
        }
        await this.#keepMode(current, view, signal)
        if (yield* this.#decide(current, view, signal)) return
      }
    } finally {
      if (signal.aborted) void turn.cancel()
    }
  }

  /** A policy that somebody has changed holds at once: an agent that asks nobody is made to ask, or stopped. */
  async #keepMode(current: Current, view: Turn, signal: AbortSignal): Promise<void> {
    const policy = view.state().confirmation_policy
    if (policy === current.policy) return
    current.policy = policy
    try {
      current.held = await this.#readiness.inMode(current.held, view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      void current.turn.cancel({ kind: 'failed', failure: toldFailure(error, this.#deps), mayRetry: false })
    }
  }

  /** Answers requests for permission; true when a person has to. */
  async *#decide(
    { turn, gate }: Current,
    view: Turn,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Draft[], boolean, readonly StoredEvent[]> {
    const admitted = gate.admit(turn.calls)
    if (gate.isCrowded) turn.lookAgain(PLACE_MS)
    if (admitted.length === 0) return false
    const verdicts = await Promise.all(admitted.map((asking) => gate.judge(asking, view, signal)))
    const asked = verdicts.filter(({ kind }) => kind === 'ask')
    const drafts = [...verdicts.flatMap((verdict) => verdict.drafts), ...confirmation(asked)]
    for (const verdict of asked) gate.waiting.set(verdict.wanted.id, verdict)
    if (asked.length > 0) turn.isWaiting = true
    if (drafts.length > 0) yield drafts
    for (const verdict of verdicts) {
      if (verdict.kind === 'allow') gate.allow(verdict)
      else if (verdict.kind === 'refused') refuse({ turn, gate }, verdict)
    }
    return asked.length > 0
  }

  async *#ended(current: Current, end: TurnEnd, view: Turn, signal: AbortSignal): Step {
    const delays = this.#deps.retryDelaysMs ?? RETRY_DELAYS_MS
    const delay = delays[current.attempt]
    // What has begun a call may have changed something: it is not done again by itself.
    if (
      end.kind === 'failed' &&
      end.mayRetry &&
      delay !== undefined &&
      !current.turn.calls.hasAny &&
      current.because === null
    ) {
      this.#let(current)
      await sleep(delay, signal)
      const ready = await this.#readiness.ready(view, signal).catch((error: unknown) => {
        if (signal.aborted) throw error
        return toldFailure(error, this.#deps)
      })
      if (ready instanceof AcpFailure) {
        yield failureDrafts(ready)
        return
      }
      if (ready.draft !== null) yield [ready.draft]
      const again = this.#begin({ ...current, held: ready.held, attempt: current.attempt + 1 }, view)
      yield* this.drive(again, view, signal)
      return
    }
    if (end.kind === 'completed' && !current.turn.hasUsage && current.costBefore > 0)
      await current.turn.usageWithin(USAGE_WAIT_MS, signal)
    const stored = yield await this.closed(current, end, view, signal)
    const more = anotherRound(stored, this.#config().critic, view.state())
    if (more.length > 0) yield more
  }

  /** What is stored for the end of a turn. The turn is over with it. */
  async closed(current: Current, end: TurnEnd, view: Turn, signal?: AbortSignal): Promise<Draft[]> {
    const { turn } = current
    this.#let(current)
    if (!turn.isSettled) {
      this.#readiness.restartNext()
      // The next start waits for its end; what is stored now need not.
      void this.#hold.stop()
    }
    const drafts = await endDrafts(current, end, view, { ...this.#deps, agent: this.#config() })
    if (end.kind !== 'completed' || signal === undefined) return drafts
    return judged(drafts, { critic: this.#config().critic, ...this.#deps }, view, signal)
  }

  #let(current: Current): void {
    current.forget()
    if (this.#current === current) this.#current = null
  }

  /** Has a prompt end that nobody waits for any more. */
  async abandon(current: Current): Promise<void> {
    await current.turn.cancel()
    this.#let(current)
    if (!current.turn.isSettled) this.#readiness.restartNext()
  }
}

/** Tells the agent of a request that was refused, and the turn that its call has failed. */
export function refuse({ turn, gate }: Pick<Current, 'turn' | 'gate'>, verdict: Verdict): void {
  gate.refuse(verdict)
  turn.refused(verdict.wanted.callId)
}
