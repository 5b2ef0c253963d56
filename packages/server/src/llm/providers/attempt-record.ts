/** Records one attempt of a request to a model: what was sent, and what came of it. */
import { APICallError } from '@ai-sdk/provider'
import type { LLM } from '@parley/protocol'
import { INTERRUPTED, shownError, type CompletionError, type OnCompletion } from '../completion.ts'
import type { LlmAnswer } from '../llm.ts'
import type { Fetch } from './transport.ts'

export class AttemptRecord {
  readonly #config: LLM
  readonly #attempt: number
  readonly #onCompletion: OnCompletion
  readonly #startedAt: number
  readonly #begun = performance.now()
  #url: string | null = null
  #body: string | null = null

  /** @param attempt from 1 */
  constructor(config: LLM, attempt: number, startedAt: number, onCompletion: OnCompletion) {
    this.#config = config
    this.#attempt = attempt
    this.#startedAt = startedAt
    this.#onCompletion = onCompletion
  }

  /** Returns a `fetch` that keeps address and body of its request. */
  capturing(fetch: Fetch): Fetch {
    return (input, init) => {
      const { origin, pathname } = new URL(input instanceof Request ? input.url : input)
      this.#url = origin + pathname
      this.#body = typeof init?.body === 'string' ? init.body : null
      return fetch(input, init)
    }
  }

  answered(answer: LlmAnswer): void {
    this.#report(answer, null)
  }

  interrupted(): void {
    this.#report(null, INTERRUPTED)
  }

  /** @param thrown the error of the library, which knows the answer of the server */
  failed(error: Error, thrown: unknown): void {
    const answered = APICallError.isInstance(thrown)
      ? { status: thrown.statusCode ?? null, body: thrown.responseBody ?? null }
      : {}
    this.#report(null, shownError(error, answered))
  }

  #report(answer: LlmAnswer | null, error: CompletionError | null): void {
    const latency = (performance.now() - this.#begun) / 1000
    const [config, attempt, startedAt, url, body] = [
      this.#config,
      this.#attempt,
      this.#startedAt,
      this.#url,
      this.#body,
    ]
    this.#onCompletion({ config, attempt, startedAt, latency, url, body, answer, error })
  }
}
