/**
 * The agent that is another program. One step is one prompt to it, which may hold hundreds of its own calls; a step ends early
 * where a person has to decide, and the prompt stays open meanwhile. Source: agent-core.md 11.
 *
 * Invariants
 *   A1. A prompt is marked in the log before it is made, and unmarked by the commit that holds its answer: a restart knows
 *       whether the message may have been worked on.
 *   A2. Each message is asked in order and, without a failure, once.
 *   A3. After a prompt that did not settle the process is started anew before the next one.
 */
import {
  ParleyError,
  textContent,
  type ACPAgent,
  type ActionEvent,
  type ConversationState,
  type Draft,
  type MessageEvent,
  type StoredEvent,
  type TreeEvent,
} from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import type { Agent, Asked, Step, Turn } from '../agent.ts'
import { Asides } from './asides.ts'
import { Circles } from './circles.ts'
import { failureDrafts } from './closing.ts'
import type { AcpAgentDeps, Current } from './current.ts'
import { endDrafts } from './ending.ts'
import { AcpFailure, toldFailure } from './failure.ts'
import { confirmation, Gate, PLACE_MS, type Verdict } from './gate.ts'
import { Hold, modelFacts, type Held } from './hold.ts'
import { contextFor, opening } from './opening.ts'
import { allowed } from './permission.ts'
import { nextPrompt, promptBlocks, turnId } from './prompts.ts'
import { providerOfCommand } from './providers.ts'
import { anotherRound, judged } from './rounds.ts'
import { setMode } from './session.ts'
import { readState, stateChange } from './state.ts'
import { switchModel } from './switch-model.ts'
import { isOver, toolCallEvent } from './tool-calls.ts'
import { PromptTurn, type TurnEnd } from './turn.ts'
import { watchBudget, watchCircles } from './watching.ts'

/** Milliseconds before a prompt is made again. Source: agent-core.md 11.1. */
const RETRY_DELAYS_MS: readonly number[] = [5000, 15_000, 30_000]
/** Milliseconds that a word about the cost may come after the answer. */
const USAGE_WAIT_MS = 2000

/** An agent for one conversation. Starts nothing before the first prompt. */
export class AcpAgent implements Agent {
  #config: ACPAgent
  readonly #deps: AcpAgentDeps
  readonly #hold: Hold
  readonly #asides: Asides
  #current: Current | null = null
  /** The step that goes on sees the conversation through this. */
  #view: Turn | null = null
  #mustRestart = false

  constructor(config: ACPAgent, deps: AcpAgentDeps) {
    this.#config = config
    this.#deps = deps
    this.#hold = new Hold(deps)
    this.#asides = new Asides(this.#hold, config)
  }

  preamble(): readonly Draft[] {
    const { secretNames } = this.#deps
    return [
      {
        kind: 'SystemPromptEvent',
        source: 'agent',
        system_prompt: textContent('This conversation is led by an ACP agent, which has a system prompt of its own.'),
        tools: [],
        dynamic_context: textContent(contextFor(this.#config, secretNames, this.#deps)),
      },
    ]
  }

  async *think(view: Turn, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#current
    if (current !== null && isOn(view.view(), current.message.id)) {
      // Whoever was asked said no, and the run goes on now.
      for (const verdict of current.gate.waiting.values()) refuse(current, verdict)
      current.turn.isWaiting = false
      yield* this.#drive(current, view, signal)
      return
    }
    if (current !== null) await this.#abandon(current)
    const next = nextPrompt(view.view())
    if (next === null) {
      yield [{ kind: 'StatusChangedEvent', source: 'environment', status: 'finished', reason: null }]
      return
    }
    yield* this.#prompt(next.message, view, signal)
  }

  async *execute(actions: readonly ActionEvent[], view: Turn, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#current
    const decided: Verdict[] = []
    const drafts = actions.map((action) => {
      // A prompt that has ended meanwhile takes no answer any more.
      const verdict = current?.turn.end === null ? current.gate.waiting.get(action.id) : undefined
      if (verdict === undefined) return gone(action)
      decided.push(verdict)
      return allowed(action)
    })
    yield drafts
    if (current === null) return
    for (const verdict of decided) current.gate.allow(verdict)
    current.turn.isWaiting = false
    yield* this.#drive(current, view, signal)
  }

  /** What was open when another process died was a request of an agent that died with it. */
  async *recover(actions: readonly ActionEvent[], view: Turn, signal: AbortSignal): Step {
    yield* this.execute(actions, view, signal)
  }

  // oxlint-disable-next-line require-yield
  async *condense(): Step {
    throw new ParleyError('bad_request', 'An ACP agent shortens its own context.')
  }

  ask(question: string, view: Turn, signal: AbortSignal): Promise<Asked> {
    return this.#asides.ask(question, view, signal)
  }

  reconfigure(): void {
    throw new ParleyError('bad_request', 'An ACP agent chooses its own model. Use switch_acp_model for it.')
  }

  /** A person said something that is to be answered now: the prompt that goes on gives way to it. */
  heard(): void {
    const current = this.#current
    if (current === null || current.gate.waiting.size > 0 || current.turn.end !== null) return
    const waiting = nextPrompt(this.#view?.view() ?? [])?.waiting ?? 0
    if (waiting === 0) return
    current.because ??= 'superseded'
    void current.turn.cancel()
  }

  /** Has the prompt that goes on end, and says what came of it: a run that is interrupted stores nothing itself. */
  async interrupt(): Promise<readonly Draft[]> {
    const current = this.#current
    const view = this.#view
    if (current === null || view === null) return []
    await current.turn.cancel()
    // The step may have come to its own end meanwhile.
    if (this.#current !== current) return []
    const calls = current.turn
      .drain()
      .flatMap((happening) => (happening.kind === 'call' ? [toolCallEvent(happening.call)] : []))
    return [...calls, ...(await this.#closed(current, current.turn.end ?? { kind: 'cancelled' }, view))]
  }

  /**
   * Gives the session another model, or keeps it for the start of one. The function makes the drafts that tell of it.
   * @throws ParleyError `bad_request`, `timed_out`, `unavailable`. Source: agent-core.md 11.9.
   */
  async switchModel(model: string): Promise<(state: ConversationState) => readonly Draft[]> {
    const session = await switchModel(this.#hold, model, providerOfCommand(this.#config.acp_command))
    this.#config = { ...this.#config, acp_model: model }
    return (state) => (session === null ? [] : present(stateChange(state, modelFacts(session, readState(state)))))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#current?.forget()
    this.#current = null
    await this.#hold[Symbol.asyncDispose]()
    await this.#deps.workspace[Symbol.asyncDispose]()
  }

  async *#prompt(message: MessageEvent, view: Turn, signal: AbortSignal): Step {
    let held: Held
    try {
      const ready = await this.#ready(view, signal)
      held = ready.held
      if (ready.draft !== null) yield [ready.draft]
      held = await this.#inMode(held, view, signal)
    } catch (error) {
      if (signal.aborted) throw error
      yield failureDrafts(toldFailure(error, this.#deps))
      return
    }
    const state = view.state()
    const before = readState(state)
    const prompt = [
      ...(await opening(this.#config, { session: held.session, message, state }, this.#deps)),
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
    yield* this.#drive(current, view, signal)
  }

  #begin(parts: Omit<Current, 'turn' | 'gate' | 'forget'>, view: Turn): Current {
    const { analyze, hooks, log, workspace } = this.#deps
    const { connection, session } = parts.held
    const turn = new PromptTurn({
      connection,
      sessionId: session.id,
      idleMs: Math.max(this.#config.acp_prompt_timeout, 0) * 1000,
      emit: view.emit,
      spent: this.#hold.spent,
    })
    const gate = new Gate(this.#config.tool_concurrency_limit, {
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
  async *#drive(current: Current, view: Turn, signal: AbortSignal): Step {
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
      current.held = await this.#inMode(current.held, view, signal)
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
      const ready = await this.#ready(view, signal).catch((error: unknown) => {
        if (signal.aborted) throw error
        return toldFailure(error, this.#deps)
      })
      if (ready instanceof AcpFailure) {
        yield failureDrafts(ready)
        return
      }
      if (ready.draft !== null) yield [ready.draft]
      const again = this.#begin({ ...current, held: ready.held, attempt: current.attempt + 1 }, view)
      yield* this.#drive(again, view, signal)
      return
    }
    if (end.kind === 'completed' && !current.turn.hasUsage && current.costBefore > 0)
      await current.turn.usageWithin(USAGE_WAIT_MS, signal)
    const stored = yield await this.#closed(current, end, view, signal)
    const more = anotherRound(stored, this.#config.critic, view.state())
    if (more.length > 0) yield more
  }

  /** What is stored for the end of a turn. The turn is over with it. */
  async #closed(current: Current, end: TurnEnd, view: Turn, signal?: AbortSignal): Promise<Draft[]> {
    const { turn } = current
    this.#let(current)
    if (!turn.isSettled) {
      this.#mustRestart = true
      // The next start waits for its end; what is stored now need not.
      void this.#hold.stop()
    }
    const drafts = await endDrafts(current, end, view, { ...this.#deps, agent: this.#config })
    if (end.kind !== 'completed' || signal === undefined) return drafts
    return judged(drafts, { critic: this.#config.critic, ...this.#deps }, view, signal)
  }

  #let(current: Current): void {
    current.forget()
    if (this.#current === current) this.#current = null
  }

  async #abandon(current: Current): Promise<void> {
    await current.turn.cancel()
    this.#let(current)
    if (!current.turn.isSettled) this.#mustRestart = true
  }

  /** A session of this branch; what is to be stored about it, if it is a new one. */
  async #ready(view: Turn, signal: AbortSignal): Promise<{ held: Held; draft: Draft | null }> {
    const { acp_last_prompt_user_message_id: last, acp_conversation_id } = readState(view.state())
    // The branch was left: the session remembers what is not on it.
    const isFresh = last !== null && acp_conversation_id === this.#deps.conversationId && !isOn(view.view(), last)
    const { held } = this.#hold
    if (held !== null && !this.#mustRestart && !isFresh) return { held, draft: null }
    const started = await this.#hold.start(this.#config, view.state(), isFresh, signal)
    this.#mustRestart = false
    return started
  }

  /** The policy may have changed since the session was opened. */
  async #inMode(held: Held, view: Turn, signal: AbortSignal): Promise<Held> {
    const { log } = this.#deps
    const wanted = { named: this.#config.acp_session_mode, policy: view.state().confirmation_policy, log }
    const session = await setMode(held.connection, held.session, wanted, signal)
    this.#hold.session = session
    return { ...held, session }
  }
}

function refuse({ turn, gate }: Pick<Current, 'turn' | 'gate'>, verdict: Verdict): void {
  gate.refuse(verdict)
  turn.refused(verdict.wanted.callId)
}

const present = (draft: Draft | null): Draft[] => (draft === null ? [] : [draft])

function isOn(view: readonly TreeEvent[], id: string): boolean {
  for (let at = view.length - 1; at >= 0; at--) if (view[at]!.id === id) return true
  return false
}

/** The answer to a call whose agent is not there any more; nothing of it was performed. */
function gone({ tool_name, tool_call_id }: ActionEvent): Draft {
  return {
    kind: 'AgentErrorEvent',
    source: 'agent',
    tool_name,
    tool_call_id,
    error:
      'The agent that asked for this is not running any more, and nothing was performed. It asks again when it still wants it.',
    classification: { kind: 'internal', retryable: true, user_action: 'none', error_id: null },
  }
}
