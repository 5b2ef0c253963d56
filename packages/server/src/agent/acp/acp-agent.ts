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
} from '@parley/protocol'
import type { Agent, Asked, Step, Turn } from '../agent.ts'
import { Asides } from './asides.ts'
import type { AcpAgentDeps } from './current.ts'
import type { Verdict } from './gate.ts'
import { Hold, modelFacts } from './hold.ts'
import { contextFor } from './opening.ts'
import { allowed } from './permission.ts'
import { Prompting, refuse } from './prompting.ts'
import { isOn, nextPrompt } from './prompts.ts'
import { providerOfCommand } from './providers.ts'
import { Readiness } from './readiness.ts'
import { readState, stateChange } from './state.ts'
import { switchModel } from './switch-model.ts'
import { toolCallEvent } from './tool-calls.ts'

/** An agent for one conversation. Starts nothing before the first prompt. */
export class AcpAgent implements Agent {
  #config: ACPAgent
  readonly #deps: AcpAgentDeps
  readonly #hold: Hold
  readonly #asides: Asides
  readonly #prompting: Prompting
  /** The step that goes on sees the conversation through this. */
  #view: Turn | null = null

  constructor(config: ACPAgent, deps: AcpAgentDeps) {
    this.#config = config
    this.#deps = deps
    this.#hold = new Hold(deps)
    this.#asides = new Asides(this.#hold, config)
    const now = () => this.#config
    this.#prompting = new Prompting(this.#hold, new Readiness(this.#hold, now, deps), now, deps)
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
    const current = this.#prompting.current
    if (current !== null && isOn(view.view(), current.message.id)) {
      // Whoever was asked said no, and the run goes on now.
      for (const verdict of current.gate.waiting.values()) refuse(current, verdict)
      current.turn.isWaiting = false
      yield* this.#prompting.drive(current, view, signal)
      return
    }
    if (current !== null) await this.#prompting.abandon(current)
    const next = nextPrompt(view.view())
    if (next === null) {
      yield [{ kind: 'StatusChangedEvent', source: 'environment', status: 'finished', reason: null }]
      return
    }
    yield* this.#prompting.prompt(next.message, view, signal)
  }

  async *execute(actions: readonly ActionEvent[], view: Turn, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#prompting.current
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
    yield* this.#prompting.drive(current, view, signal)
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

  /** A prompt is open: whoever has to decide about a part of it finds it so, however late. Source: agent-core.md 11.7. */
  isHolding(): boolean {
    return this.#prompting.current?.turn.end === null
  }

  /** A person said something that is to be answered now: the prompt that goes on gives way to it. */
  heard(): void {
    const current = this.#prompting.current
    if (current === null || current.gate.waiting.size > 0 || current.turn.end !== null) return
    const waiting = nextPrompt(this.#view?.view() ?? [])?.waiting ?? 0
    if (waiting === 0) return
    current.because ??= 'superseded'
    void current.turn.cancel()
  }

  /** Has the prompt that goes on end, and says what came of it: a run that is interrupted stores nothing itself. */
  async interrupt(): Promise<readonly Draft[]> {
    const current = this.#prompting.current
    const view = this.#view
    if (current === null || view === null) return []
    await current.turn.cancel()
    // The step may have come to its own end meanwhile.
    if (this.#prompting.current !== current) return []
    const calls = current.turn
      .drain()
      .flatMap((happening) => (happening.kind === 'call' ? [toolCallEvent(happening.call)] : []))
    return [...calls, ...(await this.#prompting.closed(current, current.turn.end ?? { kind: 'cancelled' }, view))]
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
    this.#prompting.forget()
    await this.#hold[Symbol.asyncDispose]()
    await this.#deps.workspace[Symbol.asyncDispose]()
  }
}

const present = (draft: Draft | null): Draft[] => (draft === null ? [] : [draft])

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
