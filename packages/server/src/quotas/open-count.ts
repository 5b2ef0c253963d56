import type { ParleyError } from '@parley/protocol'
import type { LimitName, LimitsOf } from './limits.ts'
import { tooMuch } from './refusal.ts'

/** Seconds after which another attempt makes sense; when a user closes something is unknown. */
const RETRY_AFTER_SECONDS = 10

/** A limit of what each user has open at the same time. */
export class OpenCount {
  readonly #name: LimitName
  readonly #limits: LimitsOf
  readonly #open = new Map<string, number>()

  constructor(name: LimitName, limits: LimitsOf) {
    this.#name = name
    this.#limits = limits
  }

  used(user: string): number {
    return this.#open.get(user) ?? 0
  }

  /** Those of all users. */
  total(): number {
    let total = 0
    for (const used of this.#open.values()) total += used
    return total
  }

  /** Counts one until it is disposed of. @throws ParleyError `rate_limited` at the limit */
  take(user: string): Disposable {
    const refusal = this.refusalOf(user)
    if (refusal !== null) throw refusal
    return this.add(user)
  }

  /** Why nothing more can be opened; null when it can. */
  refusalOf(user: string): ParleyError | null {
    const used = this.used(user)
    const limit = this.#limits(user)[this.#name]
    return used < limit ? null : tooMuch({ name: this.#name, limit, used, retryAfterSeconds: RETRY_AFTER_SECONDS })
  }

  /** Counts one that exists already, also beyond the limit. */
  add(user: string): Disposable {
    this.#open.set(user, this.used(user) + 1)
    let isOpen = true
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return
        isOpen = false
        const left = this.used(user) - 1
        if (left === 0) this.#open.delete(user)
        else this.#open.set(user, left)
      },
    }
  }
}
