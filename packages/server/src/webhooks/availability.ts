/**
 * Tracks whether a target can be reached. Times are those of a clock that is never set, such as `performance.now()`. While it cannot, one attempt at a time probes it. Once it responds, all waiting
 * deliveries are due at once, because an outage of the target must not lengthen their waits.
 */
import { backoffMs } from '../lib/index.ts'

/** Longest time between two probes. */
const MAX_PROBE_INTERVAL_MS = 30_000

export class TargetAvailability {
  readonly #baseMs: number
  readonly #random: () => number
  #failures = 0
  #probeAt = 0
  #unreachableSince: number | null = null

  /** @param baseMs milliseconds before the first probe */
  constructor(baseMs: number, random = Math.random) {
    this.#baseMs = baseMs
    this.#random = random
  }

  /** Number of attempts that may start at `now` in addition to the running ones. */
  freeSlots(running: number, limit: number, now: number): number {
    if (this.#failures === 0) return Math.max(0, limit - running)
    return running === 0 && now >= this.#probeAt ? 1 : 0
  }

  /** Milliseconds until the next probe; null while the target counts as reachable. */
  probeInMs(now: number): number | null {
    return this.#failures === 0 ? null : Math.max(0, this.#probeAt - now)
  }

  /** Milliseconds for which no attempt has reached the target; 0 while it counts as reachable. */
  unreachableMs(now: number): number {
    return this.#unreachableSince === null ? 0 : now - this.#unreachableSince
  }

  onResponse(): void {
    this.#failures = 0
    this.#unreachableSince = null
  }

  /** Records a failure. Failures of concurrent attempts count once. */
  onUnreachable(now: number): void {
    if (this.#failures > 0 && now < this.#probeAt) return
    this.#failures += 1
    this.#unreachableSince ??= now
    const limits = { baseMs: this.#baseMs, maxMs: MAX_PROBE_INTERVAL_MS }
    this.#probeAt = now + backoffMs(limits, this.#failures, () => 0.5 + this.#random() / 2)
  }
}
