/** Notices a peer that no longer answers. */
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Beats without a sign of life after which the peer counts as hung. */
const MISSED_BEATS = 6

/**
 * Asks for a sign of life at each beat, and reports a peer that gave none for six beats. Beats are counted instead of time: after
 * this process, or the whole machine, was stopped, one beat has been missed, however long the stop was.
 */
export class Heartbeat {
  readonly #intervalMs: number
  readonly #onBeat: () => void
  readonly #onSilence: () => void
  #timer: NodeJS.Timeout | null = null
  #missed = 0

  constructor(intervalMs: number, onSilence: () => void, onBeat: () => void = () => undefined) {
    this.#intervalMs = intervalMs
    this.#onSilence = onSilence
    this.#onBeat = onBeat
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#beat(), this.#intervalMs).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#missed = 0
  }

  /** A sign of life. */
  heard(): void {
    this.#missed = 0
  }

  async #beat(): Promise<void> {
    // Timers fire before sockets are read; a sign of life that has arrived counts.
    await nextTurn()
    if (this.#timer === null) return
    this.#missed += 1
    if (this.#missed <= MISSED_BEATS) return this.#onBeat()
    this.stop()
    this.#onSilence()
  }
}
