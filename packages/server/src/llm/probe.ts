/** Whether a configuration works, found out by asking the model for a word. Source: agent-server-wire.md 1.11. */
import type { LLM } from '@parley/protocol'
import { LlmError, type OpenLlm } from './llm.ts'

/** Seconds. */
const LIMIT = 20
/** What some providers take as the least. */
const TOKENS = 16

/** Failures that say nothing about the configuration. */
const PASSING: ReadonlySet<string> = new Set([
  'LLMNoResponseError',
  'LLMRateLimitError',
  'LLMServiceUnavailableError',
  'LLMTimeoutError',
])

export type ProbeFailure = { type: string; message: string }

/** Null when it works, or might. Rejects with the signal's reason only. */
export async function probeModel(llm: LLM, openLlm: OpenLlm, signal: AbortSignal): Promise<ProbeFailure | null> {
  const timeout = Math.min(llm.timeout ?? LIMIT, LIMIT)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeout * 1000)])
  try {
    const model = openLlm({ ...llm, timeout, num_retries: 0, max_output_tokens: TOKENS, stream: false })
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'ping' }] }]
    await model.complete({ messages, tools: [] }, () => {}, limited)
    return null
  } catch (error) {
    signal.throwIfAborted()
    if (limited.aborted || (error instanceof LlmError && PASSING.has(error.code))) return null
    const type = error instanceof LlmError ? error.code : 'LLMError'
    return { type, message: error instanceof Error ? error.message : String(error) }
  }
}
