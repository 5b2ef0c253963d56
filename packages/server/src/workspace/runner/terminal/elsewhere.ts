/** Terminal calls that a runner of another protocol executes: they are waited for, and answered from the ledger. */
import type { Sealed } from '../ledger/bounded-output.ts'
import type { Result } from '../ledger/call.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Refusal, type TerminalAnswer, type TerminalSpec } from '../ipc/protocol.ts'
import { replyTerminal, type Reply } from '../ipc/reply.ts'
import { continuesElsewhere } from './texts.ts'

type Ending = Pick<TerminalAnswer, 'outcome' | 'exit_code' | 'limit'>

export type ElsewhereDeps = {
  conversation: string
  ledger: Ledger
  /** The answer of a call that ended like this. */
  answer: (ending: Ending) => Omit<TerminalAnswer, 'dropped'>
}

export class ElsewhereCalls {
  readonly #deps: ElsewhereDeps
  readonly waiting = new Set<Reply>()

  constructor(deps: ElsewhereDeps) {
    this.#deps = deps
  }

  /**
   * Answers a request when its call is over. The time without output cannot be measured here, so only the hard limit counts, from
   * now on; the command continues after it.
   */
  async follow({ callId, timeoutMs }: TerminalSpec, over: Promise<void>, reply: Reply): Promise<void> {
    const { ledger, conversation } = this.#deps
    this.waiting.add(reply)
    const late = Promise.withResolvers<void>()
    const timer = timeoutMs === null ? null : setTimeout(late.resolve, Math.min(timeoutMs, 2 ** 31 - 1))
    await Promise.race([over, late.promise])
    if (timer !== null) clearTimeout(timer)
    if (!this.waiting.delete(reply)) return
    if (ledger.elsewhere(conversation, callId) !== null) ledger.end(conversation, callId, this.#continuing())
    const result = ledger.result(conversation, callId)
    if (result !== null) return replyTerminal(reply, ledger.outputs, result)
    const { code, message } = new Refusal('unknown_outcome', `the outcome of call ${callId} is not known`)
    reply.refuse(code, message)
  }

  #continuing(): Result {
    const text = `[${continuesElsewhere()}]\n`
    const stdout: Sealed = { kind: 'inline', data: Buffer.from(text).toString('base64'), chars: text.length }
    const answer = this.#deps.answer({ outcome: 'running', exit_code: null, limit: 'timeout' })
    return { exit_code: null, signal: null, answer, stdout, stderr: null }
  }
}
