/** Times, durations and amounts for people. */

const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const full = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** `14:02`; empty for an unknown time. `at`: milliseconds since 1970. */
export const clockOf = (at: number | null): string => (at === null ? '' : clock.format(at))

/** Date and time in full; empty for an unknown time. */
export const fullTimeOf = (at: number | null): string => (at === null ? '' : full.format(at))

/** `340 ms`, `2.3 s`, `4 min 10 s`, `2 h 5 min`; empty for null. */
export function durationOf(ms: number | null): string {
  if (ms === null || ms < 0) return ''
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `$0.42`; `< $0.01` for less. `cost`: US dollars. */
export function moneyOf(cost: number): string {
  if (cost === 0) return '$0.00'
  return cost < 0.01 ? '< $0.01' : `$${cost.toFixed(2)}`
}

/** `12.4K`. */
export const amountOf = (count: number): string => compact.format(count)
