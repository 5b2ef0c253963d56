/** Checks a configuration with one short request to the model. Source: agent-server-wire.md 1.11. */
import type { LLM } from '@parley/protocol'
import { timeoutSignal } from '../lib/index.ts'
import { LlmError, TEMPORARY_FAILURES, type OpenLlm } from './llm.ts'

/** Seconds. */
const LIMIT = 20
/** The lowest output limit that all providers accept. */
const TOKENS = 16

type Failure = { type: string; message: string }

/** `error`: the configuration does not work. `unconfirmed`: it may work, but the model has not answered. Both absent: it works. */
export type ProbeResult = { error?: Failure; unconfirmed?: Failure }

/** Sends one request and reports how it ended. Rejects only with the signal's reason. */
export async function probeModel(llm: LLM, openLlm: OpenLlm, signal: AbortSignal): Promise<ProbeResult> {
  const timeout = Math.min(llm.timeout ?? LIMIT, LIMIT)
  const limited = AbortSignal.any([signal, timeoutSignal(timeout * 1000)])
  try {
    const model = openLlm({ ...llm, timeout, num_retries: 0, max_output_tokens: TOKENS, stream: false })
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'ping' }] }]
    await model.complete({ messages, tools: [] }, () => {}, limited)
    return {}
  } catch (error) {
    signal.throwIfAborted()
    if (limited.aborted) return { unconfirmed: { type: 'LLMTimeoutError', message: `no answer within ${timeout} s` } }
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof LlmError)) return { error: { type: 'LLMError', message } }
    // A temporary failure that a repeated request would have, too, is an account without credit.
    const isTemporary = TEMPORARY_FAILURES.has(error.code) && error.retryable
    return { [isTemporary ? 'unconfirmed' : 'error']: { type: error.code, message } }
  }
}
