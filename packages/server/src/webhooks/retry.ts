/** Decides how a delivery continues after an attempt. Pure. Source: decisions.md, Webhook delivery; conversation-service.md 5.3. */
import { backoffMs } from '../lib/index.ts'
import { MAX_DELIVERY_WAIT_MS } from '../storage/index.ts'

/** Result of one attempt. */
export type DeliveryResponse =
  | { kind: 'response'; status: number; retryAfterMs: number | null }
  /** The connection broke or the attempt timed out. The receiver may have accepted the delivery. */
  | { kind: 'no_response'; reason: string }
  /** No connection, so nothing was sent. */
  | { kind: 'unreachable'; reason: string }

export type DeliveryDecision =
  | { status: 'delivered' }
  | { status: 'parked'; reason: string }
  | { status: 'pending'; waitMs: number; reason: string }

/** Age in milliseconds at which a delivery is given up. */
export const GIVE_UP_MS = 24 * 3600 * 1000
/**
 * Shortest time in milliseconds for which attempts have to fail before an old delivery is given up: after a long stop of this
 * server, its receivers may be starting too.
 */
export const MIN_FAILING_MS = 15 * 60 * 1000
/** Longest wait, so that a receiver that recovers soon has all deliveries. */
export const MAX_WAIT_MS = 15 * 60 * 1000

/** 4xx codes for a temporary condition, not for an invalid delivery. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 425, 429])

export type AttemptProgress = {
  /** Milliseconds before the first repetition. */
  baseMs: number
  /** This attempt, and the earlier ones that reached the target. */
  attempts: number
  /** Milliseconds since it was queued. */
  ageMs: number
  /** Milliseconds since the first attempt. */
  sinceFirstMs: number
}

/**
 * A 2xx response ends a delivery and a refusal parks it. Otherwise it is tried again with growing, jittered waits, until it is a
 * day old. A delivery that did not reach its target stays due: `TargetAvailability` delays it, and `Sender` parks all old deliveries of such a target.
 */
export function classifyResponse(
  response: DeliveryResponse,
  { baseMs, attempts, ageMs, sinceFirstMs }: AttemptProgress,
  random = Math.random,
): DeliveryDecision {
  const reason = response.kind === 'response' ? `HTTP ${response.status}` : response.reason
  if (response.kind === 'response') {
    const { status } = response
    if (status >= 200 && status < 300) return { status: 'delivered' }
    if (status >= 400 && status < 500 && !RETRYABLE.has(status)) return { status: 'parked', reason }
  }
  if (response.kind === 'unreachable') return { status: 'pending', waitMs: 0, reason }
  const rest = Math.max(GIVE_UP_MS - ageMs, MIN_FAILING_MS - sinceFirstMs)
  if (rest <= 0) return { status: 'parked', reason: `${reason}; given up after a day` }
  // The jitter keeps at least half of the wait, so that it is never 0.
  const waitMs = backoffMs({ baseMs, maxMs: MAX_WAIT_MS }, attempts, () => 0.5 + random() / 2)
  const requestedMs = response.kind === 'response' ? (response.retryAfterMs ?? 0) : 0
  return { status: 'pending', waitMs: Math.min(Math.max(waitMs, requestedMs), rest, MAX_DELIVERY_WAIT_MS), reason }
}
