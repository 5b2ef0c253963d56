/**
 * Requests that were refused before anything began, because their record could not be written: the disk of the runner or of the
 * server is full, or the store refuses writes. They are repeated, like an append that the store refuses.
 */
import { ParleyError } from '@parley/protocol'
import { backoffMs, isDiskFull, sleep, type Backoff } from '../lib/index.ts'
import type { RefusalReason } from './runner/ipc/protocol.ts'

/** Waits between repetitions. */
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 10_000 }

const REASON = 'not_recorded' satisfies RefusalReason

/** The error of a request that has had no effect and can be repeated. */
export const notRecorded = (message: string, cause?: unknown): ParleyError =>
  new ParleyError('unavailable', message, { details: { reason: REASON }, cause })

/** True for a request that has had no effect and can be repeated. */
export const isNotRecorded = (error: unknown): boolean =>
  isDiskFull(error) || (error instanceof ParleyError && error.details['reason'] === REASON)

export type Repetition = {
  signal: AbortSignal
  /** Milliseconds after which the refusal is the result; absent: the signal alone ends the repetitions. */
  limitMs?: number | undefined
  /** Default: 1 s to 10 s. */
  backoff?: Backoff | undefined
  /** Called before each wait. */
  onRefused?: (attempt: number, error: unknown) => void
}

/**
 * Sends a request, again as long as its record cannot be written. Rejects with the signal's reason as soon as it aborts, and with
 * every other error of the request.
 * @throws ParleyError `unavailable` with the reason `not_recorded` after `limitMs`
 */
export async function untilRecorded<T>(
  send: () => Promise<T>,
  { signal, limitMs = Infinity, backoff = BACKOFF, onRefused }: Repetition,
): Promise<T> {
  const begun = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      if (!isNotRecorded(error)) throw error
      if (performance.now() - begun >= limitMs)
        throw error instanceof ParleyError ? error : notRecorded('the disk of the server is full', error)
      onRefused?.(attempt, error)
    }
    await sleep(
      backoffMs(backoff, attempt, () => 1),
      signal,
    )
  }
}
