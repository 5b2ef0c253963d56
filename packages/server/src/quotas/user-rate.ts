import type { ParleyError } from '@parley/protocol'
import { Buckets } from '../lib/index.ts'
import type { LimitName, LimitsOf } from './limits.ts'
import { tooMuch } from './refusal.ts'

/** A limit per minute of each user. The counts are in memory; a restart resets them. */
export class UserRate {
  readonly #name: LimitName
  readonly #limits: LimitsOf
  /** By the number per minute, which may differ between users. */
  readonly #buckets = new Map<number, Buckets>()

  constructor(name: LimitName, limits: LimitsOf) {
    this.#name = name
    this.#limits = limits
  }

  /** Counts one; or returns the refusal. */
  refusalOf(user: string): ParleyError | null {
    const limit = this.#limits(user)[this.#name]
    if (limit === Infinity) return null
    const { isTaken, left, nextSeconds } = this.#of(limit).take(user)
    if (isTaken) return null
    return tooMuch({ name: this.#name, limit, used: limit - left, retryAfterSeconds: nextSeconds })
  }

  /** How many of the last minute count against the limit of a user; 0 without a limit. */
  used(user: string): number {
    const limit = this.#limits(user)[this.#name]
    return limit === Infinity ? 0 : limit - this.#of(limit).look(user).left
  }

  #of(perMinute: number): Buckets {
    const known = this.#buckets.get(perMinute) ?? new Buckets({ perMinute, burst: perMinute })
    this.#buckets.set(perMinute, known)
    return known
  }
}
