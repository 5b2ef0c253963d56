import { abortable } from '../../lib/index.ts'

/** Default of the milliseconds between two repetitions while the store accepts nothing, and the least before the repetition of one append. */
const EVERY_MS = 1_000

/** A wait: ends it at once, or as soon as its shortest time is over. */
type Waiting = { end: () => void; shorten: () => void }

/**
 * The waits of all conversations whose append the store refused. The longest wait ends each second, so that one append at a time finds out
 * whether the store is back, however many wait. The first append of any conversation that the store accepts ends the waits of the others,
 * because it proves that the store accepts appends again.
 */
export class AppendRetry {
  readonly #everyMs: number
  readonly #onRetry: () => void
  /** The longest first. */
  readonly #waiting = new Set<Waiting>()
  #attempts: NodeJS.Timeout | undefined

  /** @param onRetry called before each wait */
  constructor(everyMs = EVERY_MS, onRetry: () => void = () => undefined) {
    this.#everyMs = everyMs
    this.#onRetry = onRetry
  }

  /** Called after each append that the store accepted. */
  accepted(): void {
    for (const waiting of this.#waiting) waiting.shorten()
  }

  /** Called when the store can be reached again. */
  returned(): void {
    for (const waiting of this.#waiting) waiting.end()
  }

  /** Waits before a repetition. Rejects with the signal's reason as soon as it aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#onRetry()
    const { promise, resolve: end } = Promise.withResolvers<void>()
    const least = performance.now() + this.#everyMs
    let timer: NodeJS.Timeout | undefined
    const waiting: Waiting = {
      end,
      // Not at once: an append that only this conversation cannot store would otherwise be repeated with each append of the others.
      shorten: () => {
        timer ??= setTimeout(end, Math.max(0, least - performance.now()))
      },
    }
    this.#waiting.add(waiting)
    this.#attempts ??= setInterval(() => this.#waiting.values().next().value?.end(), this.#everyMs)
    try {
      await abortable(promise, signal)
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(waiting)
      if (this.#waiting.size === 0) {
        clearInterval(this.#attempts)
        this.#attempts = undefined
      }
    }
  }
}
