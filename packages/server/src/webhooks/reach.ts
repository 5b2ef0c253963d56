/**
 * Whether a target can be reached at all. While it can't, one attempt at a time looks whether it is back, and what waits is
 * due the moment it is: an outage says nothing about a delivery, so it costs none of them a longer wait.
 */
import { backoffMs } from '../lib/index.ts'

/** However long it has been away, it is looked for this often. */
const LONGEST_LOOK_MS = 30_000

export class Reach {
  readonly #baseMs: number
  readonly #random: () => number
  #failures = 0
  #lookAt = 0

  /** @param baseMs milliseconds before the first look */
  constructor(baseMs: number, random = Math.random) {
    this.#baseMs = baseMs
    this.#random = random
  }

  /** How many attempts may begin at `now` beside those under way. */
  room(underWay: number, atOnce: number, now: number): number {
    if (this.#failures === 0) return Math.max(0, atOnce - underWay)
    return underWay === 0 && now >= this.#lookAt ? 1 : 0
  }

  /** Milliseconds until the next look; null when the target is not known to be away. */
  waitMs(now: number): number | null {
    return this.#failures === 0 ? null : Math.max(0, this.#lookAt - now)
  }

  answered(): void {
    this.#failures = 0
  }

  /** Attempts that began together and failed together are one sign, not many. */
  unreached(now: number): void {
    if (this.#failures > 0 && now < this.#lookAt) return
    this.#failures += 1
    const limits = { baseMs: this.#baseMs, maxMs: LONGEST_LOOK_MS }
    this.#lookAt = now + backoffMs(limits, this.#failures, () => 0.5 + this.#random() / 2)
  }
}
