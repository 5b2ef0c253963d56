/** Retries of temporary failures, with growing, jittered waits that can be aborted. Source: agent-core.md 10.5; F67. */
import { LlmError } from './llm.ts'

/** The four settings of an LLM record; seconds. Source: agent-server-wire.md 5.7. */
export type RetryPolicy = {
  num_retries: number
  retry_multiplier: number
  retry_min_wait: number
  retry_max_wait: number
}

/** A failed attempt, the wait that its server requests (seconds; null for none), and a limit of retries besides the policy's. */
export type Failure = { error: LlmError; retryAfter: number | null; mostRetries?: number }

export type Retry = { attempt: number; waitSeconds: number; error: LlmError }

export type RetryDeps = {
  /** In [0, 1). */
  random: () => number
  /** Milliseconds; rejects with the signal's reason. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>
  onRetry?: (retry: Retry) => void
}

/** Longest requested wait, in seconds. A longer one ends the run with the error. */
const LONGEST_RETRY_AFTER = 300

/**
 * Seconds before retry number `attempt` (from 1). Without `Retry-After`: a random time up to `retry_multiplier` ×
 * 2^(attempt−1),
 * limited to the range from `retry_min_wait` to `retry_max_wait`. With it: at least that time and up to a tenth more,
 * so
 * that many conversations do not return at once.
 */
export function waitBefore(
  attempt: number,
  policy: RetryPolicy,
  retryAfter: number | null,
  random: () => number,
): number {
  if (retryAfter !== null) return retryAfter * (1 + random() / 10)
  const grown = policy.retry_multiplier * 2 ** (attempt - 1)
  return random() * Math.min(policy.retry_max_wait, Math.max(policy.retry_min_wait, grown))
}

/**
 * Runs `attempt` until it succeeds, at most 1 + `num_retries` times, with its number, from 0, and the failure before
 * it.
 * @throws LlmError of the last attempt, or at once when it is not retryable; the signal's reason when aborted.
 */
export async function withRetries<T>(
  policy: RetryPolicy,
  attempt: (n: number, before: LlmError | null) => Promise<T>,
  toFailure: (error: unknown) => Failure,
  deps: RetryDeps,
  signal: AbortSignal,
): Promise<T> {
  let before: LlmError | null = null
  for (let n = 0; ; n += 1) {
    signal.throwIfAborted()
    try {
      return await attempt(n, before)
    } catch (thrown) {
      signal.throwIfAborted()
      const { error, retryAfter, mostRetries = Infinity } = toFailure(thrown)
      if (!error.retryable || n >= Math.min(policy.num_retries, mostRetries)) throw error
      if (retryAfter !== null && retryAfter > LONGEST_RETRY_AFTER) throw tooLong(error, retryAfter)
      const waitSeconds = waitBefore(n + 1, policy, retryAfter, deps.random)
      deps.onRetry?.({ attempt: n + 1, waitSeconds, error })
      await deps.sleep(waitSeconds * 1000, signal)
      before = error
    }
  }
}

const tooLong = (error: LlmError, seconds: number) =>
  new LlmError(error.code, `${error.message}; the server asks to come back in ${Math.ceil(seconds)} s`, {
    cause: error,
  })
