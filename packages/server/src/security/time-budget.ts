/** Limits the time of a long computation and makes it yield to the event loop. */
import { TimeSlices } from '../lib/index.ts'

/** The computation has used up its time. */
export class TimeBudgetExceeded extends Error {}

export class TimeBudget {
  readonly #signal: AbortSignal
  readonly #end: number
  readonly #slices = new TimeSlices()

  constructor(limitMs: number, signal: AbortSignal) {
    this.#signal = signal
    this.#end = performance.now() + limitMs
  }

  /**
   * Yields to the event loop when the current slice is used up.
   * @throws TimeBudgetExceeded, and the signal's reason when it is aborted.
   */
  async checkpoint(): Promise<void> {
    if (performance.now() > this.#end) throw new TimeBudgetExceeded('the analysis took too long')
    await this.#slices.next()
    this.#signal.throwIfAborted()
  }
}
