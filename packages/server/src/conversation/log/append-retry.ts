import { abortable, backoffMs, type Backoff } from '../../lib/index.ts'

/** Waits between repetitions of one append that the store refused. */
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 60_000 }

/**
 * The waits of all conversations whose append the store refused. The wait of one grows with its attempts; the first append of any
 * conversation that the store accepts ends the waits of the others, because it proves that the store accepts appends again.
 */
export class AppendRetry {
  readonly #backoff: Backoff
  readonly #waiting = new Set<() => void>()

  constructor(backoff: Backoff = BACKOFF) {
    this.#backoff = backoff
  }

  /** Called after each append that the store accepted. */
  accepted(): void {
    for (const shorten of this.#waiting) shorten()
  }

  /** Waits before repetition `attempt` (1 for the first). Rejects with the signal's reason as soon as it aborts. */
  async wait(attempt: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<void>()
    const least = performance.now() + this.#backoff.baseMs
    let timer = setTimeout(
      resolve,
      backoffMs(this.#backoff, attempt, () => 1),
    )
    // Not at once: an append that only this conversation cannot store would otherwise be repeated with each append of the others.
    const shorten = () => {
      this.#waiting.delete(shorten)
      clearTimeout(timer)
      timer = setTimeout(resolve, Math.max(0, least - performance.now()))
    }
    this.#waiting.add(shorten)
    try {
      await abortable(promise, signal)
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(shorten)
    }
  }
}
