import { ParleyError } from '@parley/protocol'
import type { LimitName } from './limits.ts'

export type Reached = {
  name: LimitName
  /** The value of the limit. */
  limit: number
  /** What the user uses. */
  used: number
  /** Seconds after which the request may be accepted. */
  retryAfterSeconds: number
}

const RAISE = 'ask the operator to raise the limit (setting user_limits)'

/** The refusal of a request beyond a limit that more time, or the end of something, makes possible. */
export function tooMuch({ name, limit, used, retryAfterSeconds }: Reached): ParleyError {
  const text =
    `The limit ${name} of this user is reached: ${used} of ${limit}. ` +
    `Try again in ${retryAfterSeconds} s, or ${RAISE}.`
  const details = { limit: name, allowed: limit, used, retry_after_seconds: retryAfterSeconds }
  return new ParleyError('rate_limited', text, { details })
}

/** The refusal of a request that is larger than a limit. */
export function tooLarge(name: LimitName, limit: number): ParleyError {
  const text = `The limit ${name} of this user is exceeded: more than ${limit} bytes. Send less, or ${RAISE}.`
  return new ParleyError('too_large', text, { details: { limit: name, allowed: limit } })
}

/** A limit that a user has used up, as a run reports it. */
export type UsedUp = {
  code: 'StoredBytesReached' | 'MonthlyCostReached'
  detail: string
  name: LimitName
  limit: number
  used: number
}

export function fullStore(limit: number, used: number): UsedUp {
  const detail =
    `The limit stored_bytes of this user is reached: ${used} of ${limit} bytes. ` + `Delete conversations, or ${RAISE}.`
  return { code: 'StoredBytesReached', detail, name: 'stored_bytes', limit, used }
}

/** @param month such as 2026-11 */
export function spentMonth(limit: number, used: number, month: string): UsedUp {
  const detail =
    `The limit monthly_cost_usd of this user is reached: ${used.toFixed(2)} of ${limit} US dollars in ${month} (UTC). ` +
    `Continue next month, or ${RAISE}.`
  return { code: 'MonthlyCostReached', detail, name: 'monthly_cost_usd', limit, used }
}

/** The refusal of a request for which a limit that is used up leaves no room. */
export function refused({ code, detail, name, limit, used }: UsedUp): ParleyError {
  const details = { limit: name, allowed: limit, used }
  return new ParleyError(code === 'StoredBytesReached' ? 'insufficient_storage' : 'conflict', detail, { details })
}
