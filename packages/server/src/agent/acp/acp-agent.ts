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
  type EventId,
  type MessageEvent,
  type StoredEvent,
  type TreeEvent,
} from '@parley/protocol'
import { sleep } from '../../lib/index.ts'
import { hasChanges } from '../../workspace/index.ts'
import type { Agent, Asked, Step, Turn } from '../agent.ts'
import { followUp, openJudge } from '../critic/index.ts'
import { Asides } from './asides.ts'
import { Circles } from './circles.ts'
import { completed, failed, failureDrafts, interrupted, stuckDrafts, superseded, type ClosingParts } from './closing.ts'
import { sessionContext } from './context.ts'
import { AcpFailure, detailOf, INTERNAL_ERROR, isRequestFailure, shortened } from './failure.ts'
import { confirmation, Gate, PLACE_MS, type GateDeps, type Verdict } from './gate.ts'
import { Hold, modelFacts, type AgentSecrets, type Held, type HoldDeps } from './hold.ts'
import { allowed } from './permission.ts'
import { INTERRUPTED, nextPrompt, promptBlocks, turnId, type PromptBlock } from './prompts.ts'
import { providerOfCommand } from './providers.ts'
import { setMode, setModel } from './session.ts'
import { readState, stateChange, type AcpState } from './state.ts'
import { isOver, toolCallEvent, type ToolCall } from './tool-calls.ts'
import { transcript } from './transcript.ts'
import { PromptTurn, type TurnEnd } from './turn.ts'
import { tokensOf } from './usage.ts'

/** Milliseconds before a prompt is made again. Source: agent-core.md 11.1. */
const RETRY_DELAYS_MS: readonly number[] = [5000, 15_000, 30_000]
/** Milliseconds that a word about the cost may come after the answer. */
const USAGE_WAIT_MS = 2000
/** Milliseconds for another model. Source: agent-core.md 11.9, FIX. */
const SWITCH_MS = 30_000

export type AcpAgentDeps = HoldDeps &
  Pick<GateDeps, 'analyze' | 'hooks'> & {
    /** Names of the secrets when the conversation was opened, for the first event. */
    secretNames: AgentSecrets['names']
    /** Texts of the files that the agent's record names; null where it names none. */
    promptFile: string | null
    policyFile: string | null
    /** Every event of the branch that ends here, root first. */
    branch: (leaf: EventId) => Promise<readonly TreeEvent[]>
    /** US dollars that the conversation may cost; null: no limit. */
    budgetUsd: () => number | null
    /** Whether an agent that goes round in circles is stopped. */
    detectsStuck: () => boolean
    /** US dollars of so many tokens; null when no price is known. */
    priceOf?: (
      model: string,
      tokens: { input: number; output: number; cacheRead: number; cacheWrite: number },
    ) => Promise<number | null>
    now?: () => Date
    retryDelaysMs?: readonly number[]
  }

/** A prompt that has been made. */
type Current = {
  turn: PromptTurn
  gate: Gate
  message: MessageEvent
  responseId: string
  held: Held
  prompt: readonly PromptBlock[]
  /** What the session had cost when the prompt was made. */
  costBefore: number
  attempt: number
  /** Why we have it end. */
  because: 'superseded' | 'budget' | 'stuck' | null
  circles: Circles
  /** How it went round in circles. */
  stuck: string | null
  forget: () => void
}

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
        dynamic_context: textContent(this.#context(secretNames)),
      },
    ]
  }

  async *think(view: Turn, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#current
    if (current !== null && isOn(view.view(), current.message.id)) {
      // Whoever was asked said no, and the run goes on now.
      for (const verdict of current.gate.waiting.values()) current.gate.refuse(verdict)
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
    if (model.trim() === '') throw new ParleyError('bad_request', 'model must name a model')
    const held = this.#hold.held
    const provider = held?.session.provider ?? providerOfCommand(this.#config.acp_command)
    if (provider !== null && !provider.switchesModels)
      throw new ParleyError('bad_request', `${provider.key} cannot change its model during a conversation`)
    if (held === null) {
      this.#config = { ...this.#config, acp_model: model }
      return () => []
    }
    const limit = AbortSignal.timeout(SWITCH_MS)
    try {
      const session = await setModel(held.connection, held.session, model, limit)
      this.#hold.session = session
      this.#config = { ...this.#config, acp_model: model }
      return (state) => present(stateChange(state, modelFacts(session, readState(state))))
    } catch (error) {
      if (limit.aborted)
        throw new ParleyError(
          'timed_out',
          `The agent did not answer within ${SWITCH_MS / 1000} s; its model may have changed.`,
          { cause: error },
        )
      if (isRequestFailure(error) && error.code !== INTERNAL_ERROR)
        throw new ParleyError('bad_request', `The agent refused the model '${model}': ${detailOf(error)}`, {
          cause: error,
        })
      throw new ParleyError('unavailable', `The agent failed to change its model: ${detailOf(error)}`, { cause: error })
    }
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
      yield failureDrafts(this.#told(error))
      return
    }
    const state = view.state()
    const before = readState(state)
    const prompt = [
      ...(await this.#opening(held, message, before, state)),
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
              this.#watchCircles(current, happening.call)
              drafts.push(...(await gate.ended(happening.call, view, signal)))
            }
          } else if (happening.kind === 'permission') gate.add(happening.asking)
          else if (happening.kind === 'usage') this.#watchBudget(current, view.state())
          else if (happening.kind === 'end') ({ end } = happening)
        }
        if (drafts.length > 0) yield drafts
        if (end !== null) {
          yield* this.#ended(current, end, view, signal)
          return
        }
        if (yield* this.#decide(current, view, signal)) return
      }
    } finally {
      if (signal.aborted) void turn.cancel()
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
      else if (verdict.kind === 'refused') gate.refuse(verdict)
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
        return this.#told(error)
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
    const more = this.#anotherRound(stored, view.state())
    if (more.length > 0) yield more
  }

  /** What is stored for the end of a turn. The turn is over with it. */
  async #closed(current: Current, end: TurnEnd, view: Turn, signal?: AbortSignal): Promise<Draft[]> {
    const { turn, message } = current
    this.#let(current)
    if (!turn.isSettled) {
      this.#mustRestart = true
      // The next start waits for its end; what is stored now need not.
      void this.#hold.stop()
    }
    const state = view.state()
    const parts = await this.#parts(current, end, state)
    const done = { ...parts, change: { ...parts.change, acp_inflight_prompt_user_message_id: null } }
    if (end.kind === 'completed') {
      const stop = end.answer['stopReason']
      if (stop === 'refusal')
        return failed(
          parts,
          new AcpFailure('UsagePolicyRefusal', 'The model refused to answer because of its usage policy.'),
        )
      if (stop === 'cancelled')
        return failed(parts, new AcpFailure('ACPPromptError', 'The agent broke the prompt off by itself.'))
      const next = nextPrompt(view.view())
      const isLast = next === null || (next.message.id === message.id && next.waiting === 0)
      const installed = { ...done, change: { ...done.change, acp_suffix_installed: true } }
      return this.#judged(completed(installed, end.answer, { isLast }), view, signal)
    }
    if (end.kind === 'silent') {
      const detail = `The agent was silent for ${this.#config.acp_prompt_timeout} s (acp_prompt_timeout), and the prompt was given up.`
      return failed(parts, new AcpFailure('ACPPromptTimeout', detail))
    }
    if (end.kind === 'failed') return failed(parts, this.#told(end.failure))
    if (current.because === 'superseded') return superseded(done)
    if (current.stuck !== null)
      return [...interrupted(parts, '[Stopped here: going round in circles.]'), ...stuckDrafts(current.stuck)]
    return interrupted(
      parts,
      current.because === 'budget' ? '[Stopped here: the budget is used up.]' : '[Interrupted here.]',
    )
  }

  /** The same drafts, with what the critic thinks of the finish. An interrupted turn is not judged. */
  async #judged(drafts: Draft[], view: Turn, signal?: AbortSignal): Promise<Draft[]> {
    const { workspace, log } = this.#deps
    const { critic } = this.#config
    if (critic === null || signal === undefined) return drafts
    const judge = openJudge(critic, { tools: [], hasChanges: (own) => hasChanges(workspace, own), log })
    const results = drafts.map(async (draft): Promise<Draft> => {
      if (draft.kind !== 'ActionEvent' || draft.action === null) return draft
      const judged = { action: draft.action, thought: '', name: draft.tool_name, arguments: draft.tool_call.arguments }
      return { ...draft, critic_result: await judge({ kind: 'action', ...judged }, view.view(), signal) }
    })
    return Promise.all(results)
  }

  /** What asks the agent for another round when the critic was not content. */
  #anotherRound(stored: readonly StoredEvent[], state: ConversationState): Draft[] {
    const events = stored.map(({ event }) => event)
    const actions = events.filter((event) => event.kind === 'ActionEvent')
    return followUp(events as readonly Draft[], actions, this.#config.critic, state)
  }

  async #parts(current: Current, end: TurnEnd, state: ConversationState): Promise<ClosingParts> {
    const { turn, responseId, costBefore, held } = current
    const model = held.session.models.current ?? this.#config.llm.model
    const total = turn.spent.sessionCost
    const told = total === null ? null : Math.max(0, total - costBefore)
    const tokens = end.kind === 'completed' ? tokensOf(end.answer) : null
    const estimated = told === null && tokens !== null ? ((await this.#deps.priceOf?.(model, tokens)) ?? null) : null
    const change: Partial<AcpState> = total === null ? {} : { acp_session_cost: Math.max(total, 0) }
    return { turn, state, responseId, usageId: this.#config.llm.usage_id, model, cost: told ?? estimated, change }
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

  #watchCircles(current: Current, call: ToolCall): void {
    const found = this.#deps.detectsStuck() ? current.circles.take(call) : null
    if (found === null || current.because !== null) return
    current.because = 'stuck'
    current.stuck = found
    void current.turn.cancel()
  }

  #watchBudget(current: Current, state: ConversationState): void {
    const budget = this.#deps.budgetUsd()
    const { sessionCost } = current.turn.spent
    if (budget === null || sessionCost === null) return
    const spent = Object.values(state.stats).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)
    if (spent + Math.max(0, sessionCost - current.costBefore) < budget) return
    current.because ??= 'budget'
    void current.turn.cancel()
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

  /** What stands before the message: the context once per session, what the session does not remember, and a warning. */
  async #opening(
    held: Held,
    message: MessageEvent,
    before: AcpState,
    state: ConversationState,
  ): Promise<PromptBlock[]> {
    const texts: string[] = []
    if (!before.acp_suffix_installed) {
      texts.push(this.#context((await this.#deps.secrets()).names))
      // Cleared with a new session, and set with its first prompt.
      const isNew = !held.session.isResumed && before.acp_last_prompt_user_message_id === null
      if (isNew && state.leaf_event_id !== null) {
        const branch = await this.#deps.branch(state.leaf_event_id)
        const at = branch.findIndex(({ id }) => id === message.id)
        texts.push(transcript(branch.slice(0, at === -1 ? branch.length : at)))
      }
    }
    if (before.acp_inflight_prompt_user_message_id === message.id) texts.push(INTERRUPTED)
    return texts.filter((text) => text !== '').map((text) => ({ type: 'text', text }))
  }

  #context(names: AgentSecrets['names']): string {
    const { promptFile, policyFile, now } = this.#deps
    const asFiles = new Set(this.#config.acp_file_secrets.map(({ secret_name }) => secret_name))
    const secrets = names.filter(({ name }) => !asFiles.has(name))
    return sessionContext({ agent: this.#config, promptFile, policyFile, secrets, now: now?.() ?? new Date() })
  }

  /** A failure that may be told, and is logged. */
  #told(error: unknown): AcpFailure {
    const failure = error instanceof AcpFailure ? error : new AcpFailure('ACPInitError', detailOf(error), error)
    this.#deps.log.error(
      { conversation_id: this.#deps.conversationId, code: failure.code },
      'the external agent failed',
    )
    return new AcpFailure(failure.code, shortened(failure.message), failure)
  }
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
