/** Has a session ready for the next prompt: the one that is there, or another where that must not be used. */
import type { ACPAgent, Draft } from '@parley/protocol'
import type { Turn } from '../agent.ts'
import type { Log } from '../gateway.ts'
import type { Held, Hold } from './hold.ts'
import { isOn } from './prompts.ts'
import { setMode } from './session.ts'
import { readState } from './state.ts'

export type ReadinessDeps = { conversationId: string; log: Log }

export class Readiness {
  readonly #hold: Hold
  /** As it is now: its model may be switched. */
  readonly #config: () => ACPAgent
  readonly #deps: ReadinessDeps
  /** A prompt did not settle: what its process still does belongs to nobody (A3). */
  #mustRestart = false

  constructor(hold: Hold, config: () => ACPAgent, deps: ReadinessDeps) {
    this.#hold = hold
    this.#config = config
    this.#deps = deps
  }

  /** The process is started anew before the next prompt. */
  restartNext(): void {
    this.#mustRestart = true
  }

  /** A session of this branch; what is to be stored about it, if it is a new one. */
  async ready(view: Turn, signal: AbortSignal): Promise<{ held: Held; draft: Draft | null }> {
    const { acp_last_prompt_user_message_id: last, acp_conversation_id } = readState(view.state())
    // The branch was left: the session remembers what is not on it.
    const isFresh = last !== null && acp_conversation_id === this.#deps.conversationId && !isOn(view.view(), last)
    const { held } = this.#hold
    if (held !== null && !this.#mustRestart && !isFresh) return { held, draft: null }
    const started = await this.#hold.start(this.#config(), view.state(), isFresh, signal)
    this.#mustRestart = false
    return started
  }

  /** The policy may have changed since the session was opened. */
  async inMode(held: Held, view: Turn, signal: AbortSignal): Promise<Held> {
    const { log } = this.#deps
    const wanted = { named: this.#config().acp_session_mode, policy: view.state().confirmation_policy, log }
    const session = await setMode(held.connection, held.session, wanted, signal)
    this.#hold.session = session
    return { ...held, session }
  }
}
