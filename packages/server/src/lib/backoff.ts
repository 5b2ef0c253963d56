/** Waiting times between attempts. */
export type Backoff = {
  /** Longest wait before the first repetition, in milliseconds. */
  baseMs: number
  /** Longest wait before any repetition, in milliseconds. */
  maxMs: number
  /** Growth per attempt; default 2. */
  factor?: number
}

/**
 * Milliseconds to wait before repetition `attempt` (1 for the first): a random value between 0 and an exponentially growing
 * limit ("full jitter"), so that callers that failed together do not repeat together.
 */
export function backoffMs(
  { baseMs, maxMs, factor = 2 }: Backoff,
  attempt: number,
  random: () => number = Math.random,
): number {
  const limit = Math.min(maxMs, baseMs * factor ** Math.max(0, attempt - 1))
  return Math.round(limit * random())
}
