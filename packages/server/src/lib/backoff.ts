/** How long to wait before an attempt is repeated. */
export type Backoff = {
  /** Milliseconds that the wait before the first repetition may reach. */
  baseMs: number
  /** Milliseconds that no wait exceeds. */
  maxMs: number
  /** Growth per attempt; default 2. */
  factor?: number
}

/**
 * Milliseconds to wait before repetition `attempt` (1 for the first): anywhere between nothing and an exponentially
 * growing limit ("full jitter"), so that callers that failed together do not come back together.
 */
export function backoffMs(
  { baseMs, maxMs, factor = 2 }: Backoff,
  attempt: number,
  random: () => number = Math.random,
): number {
  const limit = Math.min(maxMs, baseMs * factor ** Math.max(0, attempt - 1))
  return Math.round(limit * random())
}
