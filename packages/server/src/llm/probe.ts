/** Checks a configuration with one short request to the model. Source: agent-server-wire.md 1.11. */
import type { LLM } from '@parley/protocol'
import { timeoutSignal } from '../lib/index.ts'
import { LlmError, TEMPORARY_FAILURES, type OpenLlm } from './llm.ts'

/** Seconds. */
const LIMIT = 20
/** The lowest output limit that all providers accept. */
const TOKENS = 16

export type ProbeFailure = { type: string; message: string }

/** Returns null when the configuration works or may work. Rejects only with the signal's reason. */
export async function probeModel(llm: LLM, openLlm: OpenLlm, signal: AbortSignal): Promise<ProbeFailure | null> {
  const timeout = Math.min(llm.timeout ?? LIMIT, LIMIT)
  const limited = AbortSignal.any([signal, timeoutSignal(timeout * 1000)])
  try {
    const model = openLlm({ ...llm, timeout, num_retries: 0, max_output_tokens: TOKENS, stream: false })
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'ping' }] }]
    await model.complete({ messages, tools: [] }, () => {}, limited)
    return null
  } catch (error) {
    signal.throwIfAborted()
    if (limited.aborted || (error instanceof LlmError && TEMPORARY_FAILURES.has(error.code))) return null
    const type = error instanceof LlmError ? error.code : 'LLMError'
    return { type, message: error instanceof Error ? error.message : String(error) }
  }
}
