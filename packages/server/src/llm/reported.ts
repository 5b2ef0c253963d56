import type { ModelRequest } from '../observability/index.ts'
import { LlmError, type Llm } from './llm.ts'

/** The same model; each request is reported when it has ended. For models whose `complete` is one request. */
export const reported = (llm: Llm, provider: string, report: (request: ModelRequest) => void): Llm => ({
  ...llm,
  async complete(request, onDelta, signal) {
    const from = performance.now()
    const ended = (error: string | null) => report({ provider, seconds: (performance.now() - from) / 1000, error })
    try {
      const answer = await llm.complete(request, onDelta, signal)
      ended(null)
      return answer
    } catch (error) {
      ended(signal.aborted ? 'cancelled' : error instanceof LlmError ? error.code : 'LLMError')
      throw error
    }
  },
})
