import { setImmediate } from 'node:timers/promises'

/** Milliseconds of computation between two turns of the event loop. */
const SLICE_MS = 8

/** Divides a long computation on the only thread into slices, so that other work runs in between. */
export class TimeSlices {
  #start = performance.now()

  /** Call before each part of the computation. Waits for a turn of the event loop when the current slice is used up. */
  async next(): Promise<void> {
    if (performance.now() - this.#start < SLICE_MS) return
    await setImmediate()
    this.#start = performance.now()
  }
}
