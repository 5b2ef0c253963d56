/**
 * Rate limits: a budget for each key, and a limit for wrong keys per address, so that keys cannot be guessed.
 * Source: conversation-service.md 6.
 */
import { isIPv6 } from 'node:net'
import { Buckets, type Taken } from '../../lib/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import type { Actor } from '../../conversation/index.ts'
import { hashKey } from '../../secrets/index.ts'
import { type Answer, refusal } from './errors.ts'

/** Wrong keys of one address in a minute. */
const GUESSES_PER_MINUTE = 60
/** Keys remembered as valid. */
const MAX_KNOWN = 10_000

/** Requests allowed at once: those of two seconds, and at least as many as an ordinary page sends. */
const burstOf = (perMinute: number) => Math.max(20, Math.ceil(perMinute / 30))

export type Spent = { headers: Record<string, string>; refusal?: Answer }

/**
 * The budgets of each key and of each user. `perMinute`: of a key; 0: no limit, no headers. Of several nodes each allows its share of the
 * budget of a key.
 */
export class RequestBudgets {
  readonly #buckets: Buckets | null
  readonly #ofUsers: Quotas['requests']

  /** @param nodes number of the nodes that share a budget */
  constructor(perMinute: number, ofUsers: Quotas['requests'], nodes: () => number) {
    this.#ofUsers = ofUsers
    this.#buckets = perMinute === 0 ? null : new Buckets({ perMinute, burst: burstOf(perMinute), sharers: nodes })
  }

  /** Charges one request to the budget of a key and to that of its user. */
  spend({ keyId, user }: Pick<Actor, 'keyId' | 'user'>): Spent {
    const spent = this.#spendOfKey(keyId)
    const refused = spent.refusal === undefined ? this.#ofUsers.refusalOf(user) : null
    return refused === null ? spent : { ...spent, refusal: refusal(refused) }
  }

  #spendOfKey(keyId: string): Spent {
    if (this.#buckets === null) return { headers: {} }
    const taken = this.#buckets.take(keyId)
    const headers = {
      'ratelimit-limit': String(this.#buckets.burst),
      'ratelimit-remaining': String(taken.left),
      'ratelimit-reset': String(taken.fullSeconds),
    }
    return taken.isTaken ? { headers } : { headers, refusal: tooMany('Too many requests with this key.', taken) }
  }
}

/**
 * Limit for wrong keys by remote address. After the limit, only keys that were valid before are looked up for the address: other
 * users behind the same address can continue, and a guess is not compared at all.
 */
export class Guesses {
  readonly #buckets = new Buckets({ perMinute: GUESSES_PER_MINUTE, burst: GUESSES_PER_MINUTE })
  readonly #known = new Set<string>()
  readonly #onWrongKey: (address: string | undefined) => void

  /** @param onWrongKey called for each wrong key, with the address that it is counted under */
  constructor(onWrongKey: (address: string | undefined) => void = () => {}) {
    this.#onWrongKey = onWrongKey
  }

  /** The answer to a key that must not be looked up; null when it may be. */
  refusalOf(key: string, address: string | undefined): Answer | null {
    const state = this.#buckets.look(networkOf(address))
    if (state.isTaken || this.#known.has(hashKey(key))) return null
    this.#onWrongKey(address)
    return tooMany('Too many wrong keys from this address.', state)
  }

  wasRight(key: string): void {
    const hash = hashKey(key)
    if (this.#known.has(hash)) return
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.values().next().value!)
    this.#known.add(hash)
  }

  /** Counts an attempt. `key`: undefined for a first frame of a socket without one. */
  wasWrong(key: string | undefined, address: string | undefined): void {
    if (key !== undefined) this.#known.delete(hashKey(key))
    this.#buckets.take(networkOf(address))
    this.#onWrongKey(address)
  }
}

const tooMany = (why: string, { nextSeconds }: Taken): Answer => ({
  status: 429,
  body: { detail: `${why} Try again in ${nextSeconds} s.` },
  headers: { 'retry-after': String(nextSeconds) },
})

/** The /64 network of an IPv6 address, because its owner controls all of it; any other address itself. */
export function networkOf(address = ''): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(gap).fill('0'), ...right].slice(0, 4).join(':')
}
