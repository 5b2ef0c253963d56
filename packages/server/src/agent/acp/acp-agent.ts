/**
 * An agent that runs as another program and speaks ACP. One step is one prompt, which may make hundreds of tool calls. A step
 * ends early when a person has to decide; the prompt stays open until then. Source: agent-core.md 11.
 *
 * Invariants
 *   A1. A prompt is recorded in the log before it is sent, and cleared by the commit that has its answer. After a restart, the
 *       record shows whether the agent may have worked on the message.
 *   A2. Messages are sent in order and, without a failure, once.
 *   A3. After a prompt that did not settle, the process is restarted before the next prompt.
 */
import {
  ParleyError,
  textContent,
  type ACPAgent,
  type ActionEvent,
  type ConversationState,
  type Draft,
} from '@parley/protocol'
import type { Agent, SideAnswer, Step, StepContext } from '../agent.ts'
import { SideQuestions } from './prompt/side-questions.ts'
import type { AcpAgentDeps } from './prompt/prompt-state.ts'
import type { PermissionDecision } from './permission/permission-gate.ts'
import { AcpProcess, modelFacts } from './acp-process.ts'
import { contextText } from './prompt/opening.ts'
import { allowedObservation } from './permission/permission.ts'
import { PromptRunner, refuse } from './prompt/prompt-runner.ts'
import { isOnBranch, nextPrompt } from './prompt/prompts.ts'
import { providerOfCommand } from './providers.ts'
import { Readiness } from './prompt/readiness.ts'
import { readState, stateChange } from './state.ts'
import { switchModel } from './session/switch-model.ts'
import { toolCallEvent } from './tool-calls.ts'

/** The ACP agent of one conversation. It starts no process before the first prompt. */
export class AcpAgent implements Agent {
  #config: ACPAgent
  readonly #deps: AcpAgentDeps
  readonly #process: AcpProcess
  readonly #sideQuestions: SideQuestions
  readonly #runner: PromptRunner
  /** The conversation as the current step sees it. */
  #view: StepContext | null = null

  constructor(config: ACPAgent, deps: AcpAgentDeps) {
    this.#config = config
    this.#deps = deps
    this.#process = new AcpProcess(deps)
    this.#sideQuestions = new SideQuestions(this.#process, config)
    const now = () => this.#config
    this.#runner = new PromptRunner(this.#process, new Readiness(this.#process, now, deps), now, deps)
  }

  preamble(): readonly Draft[] {
    const { secretNames } = this.#deps
    return [
      {
        kind: 'SystemPromptEvent',
        source: 'agent',
        system_prompt: textContent('This conversation is led by an ACP agent, which has a system prompt of its own.'),
        tools: [],
        dynamic_context: textContent(contextText(this.#config, secretNames, this.#deps)),
      },
    ]
  }

  async *think(view: StepContext, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#runner.current
    if (current !== null && isOnBranch(view.view(), current.message.id)) {
      // A run that continues without executing the waiting calls means that the person rejected them.
      for (const decision of current.gate.waiting) refuse(current, decision)
      current.turn.isWaitingForPerson = false
      yield* this.#runner.drive(current, view, signal)
      return
    }
    if (current !== null) await this.#runner.abandon(current)
    const next = nextPrompt(view.view())
    if (next === null) {
      yield [{ kind: 'StatusChangedEvent', source: 'environment', status: 'finished', reason: null }]
      return
    }
    yield* this.#runner.prompt(next.message, view, signal)
  }

  async *execute(actions: readonly ActionEvent[], view: StepContext, signal: AbortSignal): Step {
    this.#view = view
    const current = this.#runner.current
    const approved = new Set(actions.map(({ id }) => id))
    const [allowed, partial] = [new Set<PermissionDecision>(), new Set<PermissionDecision>()]
    const drafts = actions.map((action) => {
      // A prompt that has ended accepts no answer.
      const decision = current?.turn.end === null ? current.gate.waitingFor(action.id) : undefined
      if (decision === undefined) return notPerformed(action, AGENT_GONE)
      const isWhole = decision.calls.every(({ call }) => approved.has(call.id))
      ;(isWhole ? allowed : partial).add(decision)
      return isWhole ? allowedObservation(action) : notPerformed(action, NOT_WHOLE)
    })
    yield drafts
    if (current === null) return
    await this.#deps.confirm(signal)
    for (const decision of allowed) current.gate.allow(decision)
    for (const decision of partial) refuse(current, decision)
    current.turn.isWaitingForPerson = false
    yield* this.#runner.drive(current, view, signal)
  }

  /** Open actions of a process that died belong to an agent that died with it, so `execute` answers each with an error. */
  async *recover(actions: readonly ActionEvent[], view: StepContext, signal: AbortSignal): Step {
    yield* this.execute(actions, view, signal)
  }

  // oxlint-disable-next-line require-yield
  async *condense(): Step {
    throw new ParleyError('bad_request', 'An ACP agent shortens its own context.')
  }

  ask(question: string, view: StepContext, signal: AbortSignal): Promise<SideAnswer> {
    return this.#sideQuestions.ask(question, view, signal)
  }

  reconfigure(): void {
    throw new ParleyError('bad_request', 'An ACP agent chooses its own model. Use switch_acp_model for it.')
  }

  /** True when a prompt is open. It stays open for a late decision. Source: agent-core.md 11.7. */
  hasOpenWork(): boolean {
    return this.#runner.current?.turn.end === null
  }

  /** Cancels the current prompt when a newer message waits, so that the newer one is answered now. */
  onUserMessage(): void {
    const current = this.#runner.current
    if (current === null || current.gate.waiting.size > 0 || current.turn.end !== null) return
    const waiting = nextPrompt(this.#view?.view() ?? [])?.waiting ?? 0
    if (waiting === 0) return
    current.cancelReason ??= 'superseded'
    void current.turn.cancel()
  }

  /** Cancels the current prompt and returns its closing drafts, because an interrupted run stores nothing itself. */
  async interrupt(): Promise<readonly Draft[]> {
    const current = this.#runner.current
    const view = this.#view
    if (current === null || view === null) return []
    await current.turn.cancel()
    // The step may have ended the prompt in the meantime.
    if (this.#runner.current !== current) return []
    const calls = current.turn.drain().flatMap((event) => (event.kind === 'call' ? [toolCallEvent(event.call)] : []))
    return [...calls, ...(await this.#runner.close(current, current.turn.end ?? { kind: 'cancelled' }, view))]
  }

  /**
   * Switches the session's model, or stores it for the next session. The returned function makes the drafts for the change.
   * @throws ParleyError `bad_request`, `timed_out`, `unavailable`. Source: agent-core.md 11.9.
   */
  async switchModel(model: string): Promise<(state: ConversationState) => readonly Draft[]> {
    const session = await switchModel(this.#process, model, providerOfCommand(this.#config.acp_command))
    this.#config = { ...this.#config, acp_model: model }
    return (state) => (session === null ? [] : present(stateChange(state, modelFacts(session, readState(state)))))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#runner.detach()
    await this.#process[Symbol.asyncDispose]()
    await this.#deps.workspace[Symbol.asyncDispose]()
  }
}

const present = (draft: Draft | null): Draft[] => (draft === null ? [] : [draft])

/** Error for a call whose agent has ended; the call was not performed. */
const AGENT_GONE =
  'The agent that asked for this is not running any more, and nothing was performed. It asks again when it still wants it.'
const NOT_WHOLE = 'Another part of the same request was not approved, so nothing of it was performed.'

function notPerformed({ tool_name, tool_call_id }: ActionEvent, error: string): Draft {
  return {
    kind: 'AgentErrorEvent',
    source: 'agent',
    tool_name,
    tool_call_id,
    error,
    classification: { kind: 'internal', retryable: true, user_action: 'none', error_id: null },
  }
}
