/** Batches of the events of a followed log. Invariants O1 to O3 in `outbox.ts`. */
import type { ConversationId } from '@parley/protocol'
import type { BatchLimits, OutboxStore } from '../contract/outbox.ts'
import type { Outbox } from './outbox.ts'
import type { Sql } from './sql.ts'

export const FOLLOWED_SQL = `SELECT f.log, f.seq, f.last_seq, c.seq AS newest FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = ? AND f.conversation_id = ? ORDER BY f.log LIMIT 1`
const SIZES_SQL =
  'SELECT seq, octet_length(event) AS bytes FROM events WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq'

type FollowedLog = { log: number; seq: number; last_seq: number | null; newest: number | null }

/** Inserts the next batch of a conversation for a target, if enough events wait and no batch is under way. Runs in a transaction. */
export function cutBatch(
  sql: Sql,
  outbox: Outbox,
  target: string,
  id: ConversationId,
  { atLeast, atMost, maxBytes }: BatchLimits,
): Awaited<ReturnType<OutboxStore['cut']>> {
  for (;;) {
    const log = sql.get<FollowedLog>(FOLLOWED_SQL, target, id)
    if (log === undefined) return { isCut: false, isBusy: false, left: 0 }
    const end = log.last_seq ?? log.newest ?? 0
    const isOver = log.last_seq !== null
    const waiting = end - log.seq
    if (waiting <= 0 && isOver) {
      // The id may have been used again; the log of its next conversation is then followed too.
      outbox.unfollow(log.log, target)
      outbox.release(log.log)
      continue
    }
    if (outbox.isLaneBusy(target, id, 'events')) return { isCut: false, isBusy: true, left: waiting }
    if (waiting <= 0 || (waiting < atLeast && !isOver)) return { isCut: false, isBusy: false, left: waiting }
    const first = log.seq + 1
    const last = lastThatFits(sql, log.log, first, Math.min(end, log.seq + atMost), maxBytes)
    const lane = { target, conversation_id: id, kind: 'events', topic: 'conversation.events' } as const
    outbox.insert({ ...lane, sequence: first, outbox: null, log: log.log, lastSeq: last, bytes: 0 })
    sql.run('UPDATE followed_logs SET seq = ? WHERE log = ? AND target = ?', last, log.log, target)
    if (isOver && last === end) outbox.unfollow(log.log, target)
    return { isCut: true, isBusy: false, left: end - last }
  }
}

/** The last event up to which a batch keeps to `maxBytes`; at least `first`. */
function lastThatFits(sql: Sql, log: number, first: number, last: number, maxBytes: number): number {
  let total = 0
  for (const { seq, bytes } of sql.all<{ seq: number; bytes: number }>(SIZES_SQL, log, first, last)) {
    total += bytes
    if (total > maxBytes && seq > first) return seq - 1
  }
  return last
}
