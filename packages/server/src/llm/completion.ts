/** One request to a model and what came of it, as the completion log takes it. Source: docs/models.md, Completion log. */
import type { LLM } from '@parley/protocol'
import type { Llm, LlmAnswer } from './llm.ts'

/** Texts are as they were sent and received: the code that stores them masks secrets. */
export type LlmCompletion = {
  config: LLM
  /** From 1; a repetition of a request has the next number. */
  attempt: number
  /** Milliseconds since 1970. */
  startedAt: number
  /** Seconds. */
  latency: number
  /** Without user, query and headers; null when nothing was sent over a network. */
  url: string | null
  /** The body as JSON text; null when nothing was sent. */
  body: string | null
  answer: LlmAnswer | null
  error: CompletionError | null
}

export type CompletionError = {
  code: string
  message: string
  /** HTTP status of the answer; null without one. */
  status: number | null
  /** The body of the answer; null without one. */
  body: string | null
}

export type OnCompletion = (completion: LlmCompletion) => void

/** The error of a request that its caller gave up. */
export const INTERRUPTED: CompletionError = {
  code: 'Interrupted',
  message: 'The request was interrupted.',
  status: null,
  body: null,
}

/** Reports the requests to a model that sends nothing over a network. */
export const withCompletions = (config: LLM, llm: Llm, onCompletion: OnCompletion): Llm => ({
  ...llm,
  async complete(request, onDelta, signal) {
    const startedAt = Date.now()
    const begun = performance.now()
    const report = (answer: LlmAnswer | null, error: CompletionError | null) => {
      const latency = (performance.now() - begun) / 1000
      const body = JSON.stringify({ messages: request.messages, tools: request.tools })
      onCompletion({ config, attempt: 1, startedAt, latency, url: null, body, answer, error })
    }
    try {
      const answer = await llm.complete(request, onDelta, signal)
      report(answer, null)
      return answer
    } catch (error) {
      report(null, signal.aborted ? INTERRUPTED : shownError(error))
      throw error
    }
  },
})

/** What is reported of an error. `answered`: the HTTP answer that caused it. */
export function shownError(error: unknown, answered: Partial<CompletionError> = {}): CompletionError {
  const { code } = error as { code?: unknown }
  const shown = { code: typeof code === 'string' ? code : 'Error', message: String((error as Error).message) }
  return { ...shown, status: answered.status ?? null, body: answered.body ?? null }
}
