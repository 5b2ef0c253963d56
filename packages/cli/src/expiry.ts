/** Reads expiry times as people write them. */
import { UsageError } from './args.ts'

const MINUTE = 60_000
const UNITS: Record<string, number> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 1440 * MINUTE,
  w: 7 * 1440 * MINUTE,
  y: 365 * 1440 * MINUTE,
}

/**
 * Converts `12h`, `90d`, `1y` from now, a date or a time to ISO 8601 in UTC. A date alone means its end.
 * @throws UsageError for anything else and for a time in the past.
 */
export function parseExpiry(text: string, now: Date): string {
  const span = /^(\d{1,6})([mhdwy])$/.exec(text)
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const at =
    span === null ? Date.parse(isDate ? `${text}T23:59:59Z` : text) : now.getTime() + Number(span[1]) * UNITS[span[2]!]!
  if (Number.isNaN(at) || (span === null && !/^\d{4}-\d{2}-\d{2}/.test(text))) {
    throw new UsageError(`"${text}" is no time; write 12h, 90d, 1y, or a date such as 2027-06-30`)
  }
  if (at <= now.getTime()) throw new UsageError(`${text} has already passed`)
  return new Date(at).toISOString()
}
