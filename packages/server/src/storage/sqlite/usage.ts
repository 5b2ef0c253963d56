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
import type { Usage, UsageStore } from '../contract/usage.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

export const OF_USER_SQL = 'SELECT counter, amount FROM usage WHERE user = ? AND period IN (?, ?, ?)'

const NONE: Usage = { stored_bytes: 0, cost_usd: 0, unpriced_answers: 0, uploaded_bytes: 0 }

/** Periods of counters: the bytes that are stored have none. */
const ALWAYS = ''
const monthOf = (time: string): string => time.slice(0, 7)
const dayOf = (time: string): string => time.slice(0, 10)

function add(sql: Sql, user: string, counter: keyof Usage, period: string, amount: number): void {
  sql.run(
    `INSERT INTO usage (user, period, counter, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (user, period, counter) DO UPDATE SET amount = amount + excluded.amount`,
    user,
    period,
    counter,
    amount,
  )
}

/** Only in the transaction that writes or deletes the events. */
export function countBytes(sql: Sql, owner: string, bytes: number): void {
  if (bytes !== 0) add(sql, owner, 'stored_bytes', ALWAYS, bytes)
}

type Spent = { month: string; cost: number | null }

/** The costs among new events, without those that sub-agents have in their own logs. */
export function spentIn(events: readonly StoredEvent[]): Spent[] {
  return events.flatMap(({ event }) =>
    event.kind === 'UsageRecordedEvent' && event.replaces === undefined
      ? [{ month: monthOf(event.timestamp), cost: event.cost }]
      : [],
  )
}

/** Only in the transaction that writes the events. */
export function countSpent(sql: Sql, owner: string, spent: readonly Spent[]): void {
  for (const { month, cost } of spent) {
    if (cost === null) add(sql, owner, 'unpriced_answers', month, 1)
    else if (cost > 0) add(sql, owner, 'cost_usd', month, cost)
  }
}

export function sqliteUsage(sql: Sql, commits: GroupCommit): UsageStore {
  return {
    of: (user, at) =>
      commits.read(() => {
        const time = at.toISOString()
        const rows = sql.all<{ counter: keyof Usage; amount: number }>(
          OF_USER_SQL,
          user,
          ALWAYS,
          monthOf(time),
          dayOf(time),
        )
        return { ...NONE, ...Object.fromEntries(rows.map(({ counter, amount }) => [counter, amount])) }
      }),
    users: () =>
      commits.read(() =>
        sql.all<{ user: string }>('SELECT DISTINCT user FROM usage ORDER BY user').map(({ user }) => user),
      ),
    addUpload: (user, at, bytes) =>
      commits.write(() => {
        const day = dayOf(at.toISOString())
        sql.run(`DELETE FROM usage WHERE user = ? AND counter = 'uploaded_bytes' AND period < ?`, user, day)
        add(sql, user, 'uploaded_bytes', day, bytes)
      }),
  }
}
