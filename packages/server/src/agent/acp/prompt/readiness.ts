/** Prepares the session for the next prompt: the running one, or a new one where that must not be used. */
import type { ACPAgent } from '@parley/protocol'
import type { StepContext } from '../../agent.ts'
import type { Log } from '../../agent.ts'
import type { AcpProcess, RunningSession, SessionStart } from '../acp-process.ts'
import { isOnBranch } from './prompts.ts'
import { setMode } from '../session/session.ts'
import { readState } from '../state.ts'

export type ReadinessDeps = { conversationId: string; log: Log }

export class Readiness {
  readonly #process: AcpProcess
  /** Returns the current configuration, because the model may be switched. */
  readonly #config: () => ACPAgent
  readonly #deps: ReadinessDeps
  /** Set after a prompt that did not settle: its process may still work on it (A3). */
  #mustRestart = false

  constructor(process: AcpProcess, config: () => ACPAgent, deps: ReadinessDeps) {
    this.#process = process
    this.#config = config
    this.#deps = deps
  }

  /** Requests a restart of the process before the next prompt. */
  requireRestart(): void {
    this.#mustRestart = true
  }

  /** Returns a session for this branch, and the draft to store about a new one. */
  async prepare(view: StepContext, signal: AbortSignal): Promise<SessionStart> {
    const { acp_last_prompt_user_message_id: last, acp_conversation_id } = readState(view.state())
    // The last prompt is not on this branch, so the session remembers events of another one.
    const isFresh = last !== null && acp_conversation_id === this.#deps.conversationId && !isOnBranch(view.view(), last)
    const { running } = this.#process
    if (running !== null && !this.#mustRestart && !isFresh) return { running, draft: null }
    const started = await this.#process.start(this.#config(), view.state(), isFresh, signal)
    this.#mustRestart = false
    return started
  }

  /** Sets the session mode for the current policy, which may have changed since the session was opened. */
  async applyMode(running: RunningSession, view: StepContext, signal: AbortSignal): Promise<RunningSession> {
    const { log } = this.#deps
    const wanted = { named: this.#config().acp_session_mode, policy: view.state().confirmation_policy, log }
    const session = await setMode(running.connection, running.session, wanted, signal)
    this.#process.session = session
    return { ...running, session }
  }
}
