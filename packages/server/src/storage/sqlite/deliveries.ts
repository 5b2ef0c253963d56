/** Deliveries: what is due, what came of it, and the log of what has been. Invariants O1 to O3 in `outbox.ts`. */
import { type ConversationId, readEvent } from '@parley/protocol'
import type { BatchLimits, Delivery, DeliveryBody, DeliveryOutcome, OutboxStore } from '../storage.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Outbox } from './outbox.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'

/** Deliveries forgotten in one transaction. */
const SLICE = 500

const COLUMNS = `id, target, conversation_id, kind, topic, sequence, status, created_at, attempts, first_attempt_at,
  next_attempt_at, last_status, last_error, finished_at`

export const DUE_SQL = `SELECT ${COLUMNS} FROM deliveries WHERE target = ? AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?`
export const NEXT_DUE_SQL = 'SELECT min(next_attempt_at) AS at FROM deliveries WHERE target = ? AND next_attempt_at > ?'
export const PROMOTE_SQL = `SELECT n, next_attempt_at FROM deliveries
  WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' ORDER BY n LIMIT 1`
export const FOLLOWED_SQL = `SELECT f.log, f.seq, f.last_seq, c.seq AS newest FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = ? AND f.conversation_id = ? ORDER BY f.log LIMIT 1`
export const BEHIND_SQL = `SELECT DISTINCT f.conversation_id AS id FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = ? AND f.seq < coalesce(f.last_seq, c.seq)`
const SIZES_SQL =
  'SELECT seq, octet_length(event) AS bytes FROM events WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq'
const BATCH_SQL = 'SELECT seq, event FROM events WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq'

export const listSql = (hasStatus: boolean, hasCursor: boolean): string => {
  const terms = [...(hasStatus ? ['status = ?'] : []), ...(hasCursor ? ['n < ?'] : [])]
  return `SELECT ${COLUMNS} FROM deliveries ${terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`} ORDER BY n DESC LIMIT ?`
}

type Carried = {
  kind: 'notification' | 'events'
  outbox: number | null
  log: number | null
  sequence: number
  last_seq: number | null
}
type Lane = Pick<Delivery, 'target' | 'conversation_id' | 'kind'>
type Followed = { log: number; seq: number; last_seq: number | null; newest: number | null }

export function sqliteDeliveries(sql: Sql, commits: GroupCommit, outbox: Outbox, sweep: LogSweep): OutboxStore {
  const carried = (id: string) =>
    sql.get<Carried & Lane & { status: string }>(
      'SELECT target, conversation_id, kind, status, outbox, log, sequence, last_seq FROM deliveries WHERE id = ?',
      id,
    )

  const bodyOf = ({ kind, outbox: n, log, sequence, last_seq }: Carried): DeliveryBody | null => {
    if (kind === 'notification') {
      const row = n === null ? undefined : sql.get<{ payload: string }>('SELECT payload FROM outbox WHERE id = ?', n)
      return row === undefined ? null : { kind, payload: row.payload }
    }
    const rows = sql.all<{ seq: number; event: string }>(BATCH_SQL, log, sequence, last_seq)
    if (rows.length === 0 || rows.length !== (last_seq ?? 0) - sequence + 1) return null
    return { kind, events: rows.map(({ seq, event }) => ({ seq, event: readEvent(JSON.parse(event)) })) }
  }

  /** Makes the first of a lane due (O1). */
  const promote = ({ target, conversation_id, kind }: Lane, at: string): boolean => {
    const first = sql.get<{ n: number; next_attempt_at: string | null }>(PROMOTE_SQL, target, conversation_id, kind)
    if (first === undefined || first.next_attempt_at !== null) return false
    return sql.run('UPDATE deliveries SET next_attempt_at = ? WHERE n = ?', at, first.n) > 0
  }

  /** True when a log may be swept now. */
  const record = (id: string, outcome: DeliveryOutcome): boolean => {
    const { status, at, last_status, last_error, isSent = true } = outcome
    const lane = sql.returning<Lane & { log: number | null }>(
      `UPDATE deliveries SET status = ?, attempts = attempts + ?, first_attempt_at = coalesce(first_attempt_at, ?),
         next_attempt_at = ?, last_status = ?, last_error = ?, finished_at = ?
       WHERE id = ? AND status = 'pending' RETURNING target, conversation_id, kind, log`,
      status,
      isSent ? 1 : 0,
      at,
      status === 'pending' ? outcome.next_attempt_at : null,
      last_status,
      last_error,
      status === 'pending' ? null : at,
      id,
    )
    if (lane === undefined || status === 'pending') return false
    promote(lane, at)
    return lane.log !== null && outbox.release(lane.log)
  }

  const cut = (target: string, id: ConversationId, { atLeast, atMost, maxBytes }: BatchLimits) => {
    for (;;) {
      const log = sql.get<Followed>(FOLLOWED_SQL, target, id)
      const end = log?.last_seq ?? log?.newest ?? 0
      const isOver = log?.last_seq !== null
      if (log === undefined) return { isCut: false, isBusy: false, left: 0 }
      const waiting = end - log.seq
      if (waiting <= 0 && isOver) {
        // The id was used again: its next log may have something too.
        outbox.unfollow(log.log, target)
        outbox.release(log.log)
        continue
      }
      if (outbox.isLaneBusy(target, id, 'events')) return { isCut: false, isBusy: true, left: waiting }
      if (waiting <= 0 || (waiting < atLeast && !isOver)) return { isCut: false, isBusy: false, left: waiting }
      const first = log.seq + 1
      const last = lastThatFits(first, Math.min(end, log.seq + atMost), maxBytes, log.log)
      const batch = {
        target,
        conversation_id: id,
        kind: 'events' as const,
        topic: 'conversation.events',
        sequence: first,
      }
      outbox.insert({ ...batch, outbox: null, log: log.log, lastSeq: last })
      sql.run('UPDATE followed_logs SET seq = ? WHERE log = ? AND target = ?', last, log.log, target)
      if (isOver && last === end) outbox.unfollow(log.log, target)
      return { isCut: true, isBusy: false, left: end - last }
    }
  }

  function lastThatFits(first: number, last: number, maxBytes: number, log: number): number {
    let total = 0
    for (const { seq, bytes } of sql.all<{ seq: number; bytes: number }>(SIZES_SQL, log, first, last)) {
      total += bytes
      if (total > maxBytes && seq > first) return seq - 1
    }
    return last
  }

  const setTargets = (targets: Parameters<OutboxStore['setTargets']>[0]): void => {
    outbox.setTargets(targets)
    const names = JSON.stringify(targets.map(({ name }) => name))
    const following = JSON.stringify(targets.filter(({ events }) => events).map(({ name }) => name))
    sql.run('DELETE FROM followed_logs WHERE target NOT IN (SELECT value FROM json_each(?))', following)
    sql.run(
      `UPDATE deliveries SET status = 'parked', next_attempt_at = NULL, finished_at = ?, last_status = NULL,
         last_error = 'the target is no longer configured'
       WHERE status = 'pending' AND target NOT IN (SELECT value FROM json_each(CASE kind WHEN 'events' THEN ? ELSE ? END))`,
      outbox.now(),
      following,
      names,
    )
    outbox.release()
  }

  const redeliver = (id: string): Awaited<ReturnType<OutboxStore['redeliver']>> => {
    const row = carried(id)
    if (row === undefined) return 'unknown'
    if (row.status === 'pending') return 'pending'
    if (bodyOf(row) === null || !outbox.targets.some(({ name }) => name === row.target)) return 'gone'
    sql.run(
      `UPDATE deliveries SET status = 'pending', attempts = 0, first_attempt_at = NULL, finished_at = NULL WHERE id = ?`,
      id,
    )
    // Behind what is under way in its lane, and before what waits there.
    const isBusy = sql.get(
      `SELECT 1 FROM deliveries
       WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' AND next_attempt_at IS NOT NULL`,
      row.target,
      row.conversation_id,
      row.kind,
    )
    if (isBusy === undefined) promote(row, outbox.now())
    return 'queued'
  }

  const forget = (status: 'delivered' | 'parked', before: string, upTo: number): number => {
    const old = sql.all<{ n: number; outbox: number | null; log: number | null }>(
      `SELECT n, outbox, log FROM (SELECT n, outbox, log, finished_at FROM deliveries WHERE status = ? ORDER BY n LIMIT ${SLICE})
       WHERE finished_at < ? OR n <= ?`,
      status,
      before,
      upTo,
    )
    for (const { n, outbox: payload, log } of old) {
      sql.run('DELETE FROM deliveries WHERE n = ?', n)
      if (log !== null) outbox.release(log)
      if (payload === null) continue
      sql.run(
        'DELETE FROM outbox WHERE id = ? AND NOT EXISTS (SELECT 1 FROM deliveries WHERE outbox = ?)',
        payload,
        payload,
      )
    }
    return old.length
  }

  return {
    setTargets: async (targets) => {
      await commits.write(() => setTargets(targets))
      sweep.start()
    },
    subscribe: (listener) => outbox.subscribe(listener),
    due: (target, now, limit) =>
      commits.read(() => sql.all<Delivery>(DUE_SQL, target, now, limit).map((row) => ({ ...row }))),
    nextDue: (target, now) => commits.read(() => sql.get<{ at: string | null }>(NEXT_DUE_SQL, target, now)?.at ?? null),
    body: (id) =>
      commits.read(() => {
        const row = carried(id)
        return row === undefined ? null : bodyOf(row)
      }),
    record: async (id, outcome) => {
      if (await commits.write(() => record(id, outcome))) sweep.start()
    },
    cut: async (target, id, limits) => {
      const result = await commits.write(() => cut(target, id, limits))
      if (result.isCut) outbox.announce({ conversation_id: id, deliveries: true, events: 0, isOver: false })
      return result
    },
    behind: (target) => commits.read(() => sql.all<{ id: ConversationId }>(BEHIND_SQL, target).map(({ id }) => id)),
    list: ({ status, limit, after }) =>
      commits.read(() => {
        const last =
          after === undefined ? undefined : sql.get<{ n: number }>('SELECT n FROM deliveries WHERE id = ?', after)
        const values = [...(status === undefined ? [] : [status]), ...(last === undefined ? [] : [last.n])]
        const found = sql.all<Delivery>(listSql(status !== undefined, last !== undefined), ...values, limit + 1)
        const items = found.slice(0, limit).map((row) => ({ ...row }))
        return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
      }),
    redeliver: async (id) => {
      const result = await commits.write(() => redeliver(id))
      const row = result === 'queued' ? carried(id) : undefined
      if (row !== undefined)
        outbox.announce({ conversation_id: row.conversation_id, deliveries: true, events: 0, isOver: false })
      return result
    },
    prune: async ({ deliveredBefore, parkedBefore, maxDelivered }) => {
      const forgotten = await commits.write(() => {
        const surplus = sql.get<{ n: number }>(
          `SELECT n FROM deliveries WHERE status = 'delivered' ORDER BY n DESC LIMIT 1 OFFSET ?`,
          maxDelivered,
        )
        return forget('delivered', deliveredBefore, surplus?.n ?? 0) + forget('parked', parkedBefore, 0)
      })
      if (forgotten > 0) sweep.start()
      return forgotten
    },
  }
}
