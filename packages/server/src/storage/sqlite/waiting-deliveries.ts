/** Parks waiting deliveries without an attempt: those that wait for too long, and the oldest of too many. */
import type { ConversationId } from '@parley/protocol'
import type { OutboxStore } from '../contract/outbox.ts'
import type { Sql } from './sql.ts'

/** Deliveries parked in one transaction. */
const SLICE = 500

/** Both read one index only, so that they stay cheap with the largest number of waiting deliveries. */
export const WAITING_SQL = `SELECT count(*) AS count, total(bytes) AS bytes FROM deliveries WHERE target = ? AND status = 'pending'`
export const OLDEST_WAITING_SQL = `SELECT n, queued_at, bytes FROM deliveries WHERE target = ? AND status = 'pending' ORDER BY queued_at, n LIMIT ?`

type Parking = Parameters<OutboxStore['park']>[1]
type Parked = { target: string; conversation_id: ConversationId; kind: 'notification' | 'events'; log: number | null }

/** Parks a slice of the waiting deliveries of a target and returns them. Runs in a transaction. */
export function parkWaiting(sql: Sql, target: string, { which, at, reason, except }: Parking): Parked[] {
  const running = new Set(except)
  const surplus = 'queuedBefore' in which ? null : surplusOf(sql, target, which)
  const parked: Parked[] = []
  for (const { n, queued_at, bytes } of sql.all<{ n: number; queued_at: string; bytes: number }>(
    OLDEST_WAITING_SQL,
    target,
    SLICE + running.size,
  )) {
    const isChosen = 'queuedBefore' in which ? queued_at < which.queuedBefore : surplus!.count > 0 || surplus!.bytes > 0
    if (!isChosen) break
    const row = sql.returning<Parked & { id: string }>(
      `UPDATE deliveries SET status = 'parked', next_attempt_at = NULL, finished_at = ?, last_error = ?
       WHERE n = ? AND id NOT IN (SELECT value FROM json_each(?)) RETURNING target, conversation_id, kind, log`,
      at,
      reason,
      n,
      JSON.stringify(except),
    )
    if (row === undefined) continue
    parked.push(row)
    if (surplus === null) continue
    surplus.count -= 1
    surplus.bytes -= bytes
  }
  return parked
}

/** Number and bytes of the deliveries beyond the bounds; neither is positive within them. */
function surplusOf(sql: Sql, target: string, bounds: { atMost: number; maxBytes: number }) {
  const waiting = sql.get<{ count: number; bytes: number }>(WAITING_SQL, target)!
  return { count: waiting.count - bounds.atMost, bytes: waiting.bytes - bounds.maxBytes }
}
