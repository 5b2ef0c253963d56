/** Token buckets by name, in memory: a restart fills them all. */

export type BucketRules = {
  /** Tokens that come back in a minute. */
  perMinute: number
  /** Tokens in a full bucket. */
  burst: number
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

export type Taken = {
  isTaken: boolean
  /** Whole tokens left. */
  left: number
  /** Seconds until the next token, rounded up; 0 when there is one. */
  nextSeconds: number
  /** Seconds until it is full again, rounded up. */
  fullSeconds: number
}

/** More names than this are not kept apart: what has not been used for longest is forgotten, and so full again. */
const MAX_BUCKETS = 10_000

export class Buckets {
  readonly burst: number
  readonly #perMs: number
  readonly #now: () => number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  constructor({ perMinute, burst, now = () => performance.now() }: BucketRules) {
    this.burst = burst
    this.#perMs = perMinute / 60_000
    this.#now = now
  }

  /** Takes a token where there is one. */
  take(name: string): Taken {
    const tokens = this.#tokens(name)
    const isTaken = tokens >= 1
    const rest = isTaken ? tokens - 1 : tokens
    // Put behind all others, so that the first one is the one that was used longest ago.
    this.#buckets.delete(name)
    this.#buckets.set(name, { tokens: rest, at: this.#now() })
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value!)
    return { isTaken, ...this.#state(rest) }
  }

  /** As `take`, taking nothing. */
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
