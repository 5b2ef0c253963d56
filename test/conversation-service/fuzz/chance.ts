/** Random values, reproducible by a seed. */

export type Chance = {
  /** From 0 up to 1. */
  next(): number
  /** A whole number from 0 up to `below`. */
  under(below: number): number
  pick<T>(values: readonly T[]): T
  /** True with this probability. */
  is(probability: number): boolean
}

/** A fast generator with 32 bits of state. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const under = (below: number) => Math.floor(next() * below)
  return { next, under, pick: (values) => values[under(values.length)]!, is: (probability) => next() < probability }
}
