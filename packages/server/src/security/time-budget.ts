/** Limits the time of a long computation and makes it yield to the event loop. */
import { setImmediate } from 'node:timers/promises'

/** Milliseconds between two yields. */
const SLICE_MS = 8

/** The computation has used up its time. */
export class TimeBudgetExceeded extends Error {}

export class TimeBudget {
  readonly #signal: AbortSignal
  readonly #end: number
  #sliceStart = performance.now()

  constructor(limitMs: number, signal: AbortSignal) {
    this.#signal = signal
    this.#end = this.#sliceStart + limitMs
  }

  /**
   * Yields to the event loop when the current slice is used up.
   * @throws TimeBudgetExceeded, and the signal's reason when it is aborted.
   */
  async checkpoint(): Promise<void> {
    const now = performance.now()
    if (now > this.#end) throw new TimeBudgetExceeded('the analysis took too long')
    if (now - this.#sliceStart < SLICE_MS) return
    await setImmediate()
    this.#signal.throwIfAborted()
    this.#sliceStart = performance.now()
  }
}
