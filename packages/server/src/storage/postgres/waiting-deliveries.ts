/** Parks waiting deliveries without an attempt: those that wait for too long, and the oldest of too many. */
import type { ConversationId } from '@parley/protocol'
import type { OutboxStore } from '../contract/outbox.ts'
import type { Sql } from './database.ts'
import { lock } from './locks.ts'

/** Deliveries parked in one transaction. */
const SLICE = 500

/** Both read one index only, so that they stay cheap with the largest number of waiting deliveries. */
const WAITING_SQL = `SELECT count(*) AS count, coalesce(sum(bytes), 0)::bigint AS bytes
  FROM deliveries WHERE target = $1 AND status = 'pending'`
const OLDEST_SQL = `SELECT n, id, conversation_id, queued_at, bytes FROM deliveries
  WHERE target = $1 AND status = 'pending' ORDER BY queued_at, n LIMIT $2`
const PARK_SQL = `UPDATE deliveries SET status = 'parked', next_attempt_at = NULL, finished_at = $2, last_error = $3
  WHERE n = ANY($1::bigint[]) AND status = 'pending' RETURNING target, conversation_id, kind, log`

type Parking = Parameters<OutboxStore['park']>[1]
type Waiting = { n: number; id: string; conversation_id: string; queued_at: string; bytes: number }
type Parked = { target: string; conversation_id: ConversationId; kind: 'notification' | 'events'; log: number | null }

/** Parks a slice of the waiting deliveries of a target and returns them. Runs in a transaction. */
export async function parkWaiting(sql: Sql, target: string, parking: Parking): Promise<Parked[]> {
  const { which, at, reason, except } = parking
  const running = new Set(except)
  const surplus = 'queuedBefore' in which ? null : await surplusOf(sql, target, which)
  const chosen: Waiting[] = []
  for (const row of await sql.all<Waiting>(OLDEST_SQL, target, SLICE + running.size)) {
    const isChosen =
      'queuedBefore' in which ? row.queued_at < which.queuedBefore : surplus!.count > 0 || surplus!.bytes > 0
    if (!isChosen) break
    if (running.has(row.id)) continue
    chosen.push(row)
    if (surplus === null) continue
    surplus.count -= 1
    surplus.bytes -= row.bytes
  }
  if (chosen.length === 0) return []
  await lock(
    sql,
    'lane',
    chosen.map((row) => row.conversation_id),
  )
  return sql.all<Parked>(
    PARK_SQL,
    chosen.map(({ n }) => n),
    at,
    reason,
  )
}

/** Number and bytes of the deliveries beyond the bounds; neither is positive within them. */
async function surplusOf(sql: Sql, target: string, bounds: { atMost: number; maxBytes: number }) {
  const waiting = (await sql.get<{ count: number; bytes: number }>(WAITING_SQL, target))!
  return { count: waiting.count - bounds.atMost, bytes: waiting.bytes - bounds.maxBytes }
}
