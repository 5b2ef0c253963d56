/** Counters of users. Invariants U1 and U2 in `shared/usage.ts`. */
import type { StoredEvent } from '@parley/protocol'
import type { Usage, UsageStore } from '../contract/usage.ts'
import { ALWAYS, dayOf, monthOf, NONE, spentIn } from '../shared/usage.ts'
import type { Database, Sql } from './database.ts'

const OF_USER_SQL = 'SELECT counter, amount FROM usage WHERE user_name = $1 AND period = ANY($2::text[])'
const ADD_SQL = `INSERT INTO usage (user_name, period, counter, amount) VALUES ($1, $2, $3, $4)
  ON CONFLICT (user_name, period, counter) DO UPDATE SET amount = usage.amount + excluded.amount`

/** What an append adds to a counter of the owner. */
export type Added = { period: string; counter: keyof Usage; amount: number }

/** What new events of a log add to the counters of its owner. */
export function addedBy(events: readonly StoredEvent[], bytes: number): Added[] {
  const added: Added[] = bytes === 0 ? [] : [{ period: ALWAYS, counter: 'stored_bytes', amount: bytes }]
  for (const { month, cost } of spentIn(events)) {
    if (cost === null) added.push({ period: month, counter: 'unpriced_answers', amount: 1 })
    else if (cost > 0) added.push({ period: month, counter: 'cost_usd', amount: cost })
  }
  return added
}

/** Only in the transaction that writes or deletes the events. */
export async function countBytes(sql: Sql, owner: string, bytes: number): Promise<void> {
  if (bytes !== 0) await sql.run(ADD_SQL, owner, ALWAYS, 'stored_bytes', bytes)
}

export function postgresUsage(database: Database): UsageStore {
  return {
    of: (user, at) =>
      database.read(async (sql) => {
        const time = at.toISOString()
        const periods = [ALWAYS, monthOf(time), dayOf(time)]
        const rows = await sql.all<{ counter: keyof Usage; amount: number }>(OF_USER_SQL, user, periods)
        return { ...NONE, ...Object.fromEntries(rows.map(({ counter, amount }) => [counter, amount])) }
      }),
    users: () =>
      database.read(async (sql) => {
        const rows = await sql.all<{ name: string }>('SELECT DISTINCT user_name AS name FROM usage ORDER BY user_name')
        return rows.map(({ name }) => name)
      }),
    addUpload: (user, at, bytes) =>
      database.write(async (sql) => {
        const day = dayOf(at.toISOString())
        await sql.run(
          `DELETE FROM usage WHERE user_name = $1 AND counter = 'uploaded_bytes' AND period < $2`,
          user,
          day,
        )
        await sql.run(ADD_SQL, user, day, 'uploaded_bytes', bytes)
      }),
  }
}
