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

/** The refusal of a request beyond a limit that more time, or the end of something, makes possible. */
export function tooMuch({ name, limit, used, retryAfterSeconds }: Reached): ParleyError {
  const text =
    `The limit ${name} of this user is reached: ${used} of ${limit}. Try again in ${retryAfterSeconds} s, ` +
    'or ask the operator to raise the limit (setting user_limits).'
  const details = { limit: name, allowed: limit, used, retry_after_seconds: retryAfterSeconds }
  return new ParleyError('rate_limited', text, { details })
}
