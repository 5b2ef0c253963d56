/** What follows from an answer, or from none. Pure. Source: design.md 4, "Webhook delivery"; conversation-service.md 5.3. */
import { backoffMs } from '../lib/index.ts'

/** What came of one attempt. */
export type Answer =
  | { kind: 'answered'; status: number; retryAfterMs: number | null }
  /** No answer: cut off or too late. It may have been taken all the same. */
  | { kind: 'silence'; reason: string }
  /** There was nobody to send it to. */
  | { kind: 'unreached'; reason: string }

export type Verdict =
  | { status: 'delivered' }
  | { status: 'parked'; reason: string }
  | { status: 'pending'; waitMs: number; reason: string }

/** Attempts end this long after the first one. */
export const GIVE_UP_MS = 24 * 3600 * 1000
/** No wait is longer, so that a receiver that is back has everything soon. */
export const LONGEST_WAIT_MS = 15 * 60 * 1000

/** Refusals that are about the moment and not about the delivery. */
const WORTH_REPEATING: ReadonlySet<number> = new Set([408, 409, 425, 429])

export type Attempt = {
  /** Milliseconds before the first repetition. */
  baseMs: number
  /** Attempts so far that reached the target, this one included. */
  attempts: number
  /** Milliseconds since the first one. */
  sinceFirstMs: number
}

/**
 * 2xx ends a delivery, a refusal parks it, anything else is tried again with growing, jittered waits up to a day. What did not
 * reach its target stays due, and goes as soon as that is back (`Reach`).
 */
export function judge(answer: Answer, { baseMs, attempts, sinceFirstMs }: Attempt, random = Math.random): Verdict {
  const reason = answer.kind === 'answered' ? `HTTP ${answer.status}` : answer.reason
  if (answer.kind === 'answered') {
    const { status } = answer
    if (status >= 200 && status < 300) return { status: 'delivered' }
    if (status >= 400 && status < 500 && !WORTH_REPEATING.has(status)) return { status: 'parked', reason }
  }
  const rest = GIVE_UP_MS - sinceFirstMs
  if (rest <= 0) return { status: 'parked', reason: `${reason}; given up after a day` }
  if (answer.kind === 'unreached') return { status: 'pending', waitMs: 0, reason }
  // Never less than half: a wait of nothing would be no wait.
  const waitMs = backoffMs({ baseMs, maxMs: LONGEST_WAIT_MS }, attempts, () => 0.5 + random() / 2)
  const asked = answer.kind === 'answered' ? (answer.retryAfterMs ?? 0) : 0
  return { status: 'pending', waitMs: Math.min(Math.max(waitMs, asked), rest), reason }
}

/** The `Retry-After` header in milliseconds from `now`: seconds or a date; null when it says neither. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
