import type { ParleyError } from '@parley/protocol'
import { Buckets } from '../lib/index.ts'
import type { LimitName, LimitsOf } from './limits.ts'
import { tooMuch } from './refusal.ts'

/**
 * A limit per minute of each user. The counts are in memory; a restart resets them. Of several nodes each allows its share, because a
 * count that they share would be a write of the store for each request.
 */
export class UserRate {
  readonly #name: LimitName
  readonly #limits: LimitsOf
  readonly #nodes: () => number
  /** By the number per minute, which may differ between users. */
  readonly #buckets = new Map<number, Buckets>()

  /** @param nodes number of the nodes that share the limit */
  constructor(name: LimitName, limits: LimitsOf, nodes: () => number) {
    this.#name = name
    this.#limits = limits
    this.#nodes = nodes
  }

  /** Counts one; or returns the refusal. */
  refusalOf(user: string): ParleyError | null {
    const limit = this.#limits(user)[this.#name]
    if (limit === Infinity) return null
    const buckets = this.#of(limit)
    const { isTaken, left, nextSeconds } = buckets.take(user)
    if (isTaken) return null
    const share = buckets.burst
    return tooMuch({ name: this.#name, limit: share, used: share - left, retryAfterSeconds: nextSeconds })
  }

  /** How many of the last minute count against the limit of a user; 0 without a limit. */
  used(user: string): number {
    const limit = this.#limits(user)[this.#name]
    if (limit === Infinity) return 0
    const buckets = this.#of(limit)
    return buckets.burst - buckets.look(user).left
  }

  #of(perMinute: number): Buckets {
    const known = this.#buckets.get(perMinute) ?? new Buckets({ perMinute, burst: perMinute, sharers: this.#nodes })
    this.#buckets.set(perMinute, known)
    return known
  }
}
