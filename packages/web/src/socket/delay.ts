/** Waits between attempts to connect. Pure. */

const FIRST_MS = 50
const MOST_MS = 5000

/** Milliseconds before attempt `count` (from 0): doubles up to 5 s, and is spread over its upper half. `random`: 0 to 1. */
export function delayOf(count: number, random: number): number {
  const full = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(count, 10))
  return full / 2 + (full / 2) * random
}
