/** Batches of the events of a followed log. Invariants O1 to O3 in `outbox.ts`. */
import type { ConversationId } from '@parley/protocol'
import type { BatchLimits, OutboxStore } from '../contract/outbox.ts'
import type { Sql } from './database.ts'
import { lock } from './locks.ts'
import type { Outbox } from './outbox.ts'

const FOLLOWED_SQL = `SELECT f.log, f.seq, f.last_seq, c.seq AS newest FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = $1 AND f.conversation_id = $2 ORDER BY f.log LIMIT 1`
const SIZES_SQL = 'SELECT seq, size FROM events WHERE conversation = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq'

type FollowedLog = { log: number; seq: number; last_seq: number | null; newest: number | null }

/** Inserts the next batch of a conversation for a target, if enough events wait and no batch is under way. Runs in a transaction. */
export async function cutBatch(
  sql: Sql,
  outbox: Outbox,
  target: string,
  id: ConversationId,
  { atLeast, atMost, maxBytes }: BatchLimits,
): ReturnType<OutboxStore['cut']> {
  await lock(sql, 'lane', [id])
  for (;;) {
    const log = await sql.get<FollowedLog>(FOLLOWED_SQL, target, id)
    if (log === undefined) return { isCut: false, isBusy: false, left: 0 }
    const end = log.last_seq ?? log.newest ?? 0
    const isOver = log.last_seq !== null
    const waiting = end - log.seq
    if (waiting <= 0 && isOver) {
      // The id may have been used again; the log of its next conversation is then followed too.
      await outbox.unfollow(sql, log.log, target)
      await outbox.release(sql, log.log)
      continue
    }
    if (await outbox.isLaneBusy(sql, target, id, 'events')) return { isCut: false, isBusy: true, left: waiting }
    if (waiting <= 0 || (waiting < atLeast && !isOver)) return { isCut: false, isBusy: false, left: waiting }
    const first = log.seq + 1
    const last = await lastThatFits(sql, log.log, first, Math.min(end, log.seq + atMost), maxBytes)
    await outbox.insertBatch(sql, { target, conversation_id: id, log: log.log, first, last })
    await sql.run('UPDATE followed_logs SET seq = $1 WHERE log = $2 AND target = $3', last, log.log, target)
    if (isOver && last === end) await outbox.unfollow(sql, log.log, target)
    return { isCut: true, isBusy: false, left: end - last }
  }
}

/** The last event up to which a batch keeps to `maxBytes`; at least `first`. */
async function lastThatFits(sql: Sql, log: number, first: number, last: number, maxBytes: number): Promise<number> {
  let total = 0
  for (const { seq, size } of await sql.all<{ seq: number; size: number }>(SIZES_SQL, log, first, last)) {
    total += size
    if (total > maxBytes && seq > first) return seq - 1
  }
  return last
}
