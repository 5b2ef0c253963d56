/**
 * Counters of users. Each is a row that is changed in the transaction that writes what it counts.
 *
 * Invariants
 *   U1. `stored_bytes` of a user is the sum of `bytes` and `file_bytes` over the user's conversations; `bytes` of a conversation is
 *       the sum over its events and its files in the store, `file_bytes` that over its files outside of it.
 *   U2. `cost_usd` of a month contains each answer once: not the copies in a fork, and not the costs that a conversation repeats of its
 *       sub-agents. Deleting a conversation leaves it as it is.
 */
import type { StoredEvent } from '@parley/protocol'
import type { Usage } from '../contract/usage.ts'

export const NONE: Usage = { stored_bytes: 0, cost_usd: 0, unpriced_answers: 0, uploaded_bytes: 0 }

/** Periods of counters: the bytes that are stored have none. */
export const ALWAYS = ''
export const monthOf = (time: string): string => time.slice(0, 7)
export const dayOf = (time: string): string => time.slice(0, 10)

/** The cost of one answer; null: its price is unknown. */
export type Spent = { month: string; cost: number | null }

/** The costs among new events, without those that sub-agents have in their own logs. */
export function spentIn(events: readonly StoredEvent[]): Spent[] {
  return events.flatMap(({ event }) =>
    event.kind === 'UsageRecordedEvent' && event.replaces === undefined
      ? [{ month: monthOf(event.timestamp), cost: event.cost }]
      : [],
  )
}
