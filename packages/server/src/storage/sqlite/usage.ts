/** Counters of users. Invariants U1 and U2 in `shared/usage.ts`. */
import type { Usage, UsageStore } from '../contract/usage.ts'
import { ALWAYS, dayOf, monthOf, NONE, type Spent } from '../shared/usage.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

export const OF_USER_SQL = 'SELECT counter, amount FROM usage WHERE user = ? AND period IN (?, ?, ?)'

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
