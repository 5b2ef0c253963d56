/** Keeps a long computation from holding up everybody else, and from going on for ever. */
import { setImmediate } from 'node:timers/promises'

const SLICE_MS = 8

/** The computation has had all the time it may have. */
export class OutOfTime extends Error {}

export class Pace {
  readonly #signal: AbortSignal
  readonly #end: number
  #since = performance.now()

  constructor(limitMs: number, signal: AbortSignal) {
    this.#signal = signal
    this.#end = this.#since + limitMs
  }

  /**
   * Lets others have their turn when this one has taken long enough.
   * @throws OutOfTime, and the signal's reason when it is aborted.
   */
  async rest(): Promise<void> {
    const now = performance.now()
    if (now > this.#end) throw new OutOfTime('the analysis took too long')
    if (now - this.#since < SLICE_MS) return
    await setImmediate()
    this.#signal.throwIfAborted()
    this.#since = performance.now()
  }
}
