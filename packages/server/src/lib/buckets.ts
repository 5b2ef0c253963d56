/** Token buckets by name, in memory; a restart fills them. */

export type BucketRules = {
  /** Tokens added per minute. */
  perMinute: number
  /** Tokens in a full bucket. */
  burst: number
  /** Among how many the rules are divided; default: one. */
  sharers?: () => number
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

export type Taken = {
  isTaken: boolean
  /** Whole tokens left. */
  left: number
  /** Seconds until the next token, rounded up; 0 when a token is left. */
  nextSeconds: number
  /** Seconds until the bucket is full, rounded up. */
  fullSeconds: number
}

/** Limit for buckets; beyond it, the least recently used one is removed and so counts as full. */
const MAX_BUCKETS = 10_000

export class Buckets {
  readonly #rules: Pick<BucketRules, 'perMinute' | 'burst'>
  readonly #sharers: () => number
  readonly #now: () => number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  constructor({ sharers = () => 1, now = () => performance.now(), ...rules }: BucketRules) {
    this.#rules = rules
    this.#sharers = sharers
    this.#now = now
  }

  /** Tokens in a full bucket. */
  get burst(): number {
    return Math.max(1, Math.floor(this.#rules.burst / this.#sharers()))
  }

  /** Tokens added per millisecond. */
  get #perMs(): number {
    return this.#rules.perMinute / 60_000 / this.#sharers()
  }

  /** Takes a token, if one is left. */
  take(name: string): Taken {
    const tokens = this.#tokens(name)
    const isTaken = tokens >= 1
    const rest = isTaken ? tokens - 1 : tokens
    // Re-inserted at the end, so that the first entry is the least recently used one.
    this.#buckets.delete(name)
    this.#buckets.set(name, { tokens: rest, at: this.#now() })
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!)
    return { isTaken, ...this.#state(rest) }
  }

  /** Like `take`, without taking a token. */
  look(name: string): Taken {
    const tokens = this.#tokens(name)
    return { isTaken: tokens >= 1, ...this.#state(tokens) }
  }

  #tokens(name: string): number {
    const bucket = this.#buckets.get(name)
    if (bucket === undefined) return this.burst
    return Math.min(this.burst, bucket.tokens + (this.#now() - bucket.at) * this.#perMs)
  }

  #state(tokens: number): Omit<Taken, 'isTaken'> {
    const seconds = (count: number) => Math.ceil(Math.max(0, count) / this.#perMs / 1000)
    return { left: Math.floor(tokens), nextSeconds: seconds(1 - tokens), fullSeconds: seconds(this.burst - tokens) }
  }
}
