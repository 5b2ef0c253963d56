/** Deliveries: those that are due, their outcomes, and the list of past ones. Invariants O1 to O3 in `outbox.ts`. */
import { type ConversationId, readEvent } from '@parley/protocol'
import {
  type BatchLimits,
  type Delivery,
  type DeliveryBody,
  type DeliveryOutcome,
  MAX_DELIVERY_WAIT_MS,
  type OutboxStore,
  type SenderTerm,
} from '../contract/outbox.ts'
import type { NodeNumber } from '../contract/nodes.ts'
import { cutBatch } from './event-batches.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Outbox } from './outbox.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'
import { dropDeliveries, IS_SENT } from './user-deliveries.ts'
import { parkWaiting } from './waiting-deliveries.ts'

/** Deliveries deleted in one transaction. */
const SLICE = 500

const COLUMNS = `id, target, conversation_id, kind, topic, sequence, status, created_at, queued_at, attempts, first_attempt_at,
  next_attempt_at, last_status, last_error, finished_at`

export const DUE_SQL = `SELECT ${COLUMNS} FROM deliveries WHERE target = ? AND next_attempt_at <= ? AND ${IS_SENT} ORDER BY next_attempt_at LIMIT ?`
export const FAR_AHEAD_SQL = `SELECT ${COLUMNS} FROM deliveries WHERE target = ? AND next_attempt_at > ? AND ${IS_SENT} ORDER BY next_attempt_at LIMIT ?`
export const NEXT_DUE_SQL = 'SELECT min(next_attempt_at) AS at FROM deliveries WHERE target = ? AND next_attempt_at > ?'
export const PROMOTE_SQL = `SELECT n, next_attempt_at FROM deliveries
  WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' ORDER BY n LIMIT 1`
const BEHIND_SQL = `SELECT DISTINCT f.conversation_id AS id FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = ? AND f.seq < coalesce(f.last_seq, c.seq)`
const BATCH_SQL = 'SELECT seq, event FROM events WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq'

export const listSql = (hasStatus: boolean, hasCursor: boolean): string => {
  const terms = [...(hasStatus ? ['status = ?'] : []), ...(hasCursor ? ['n < ?'] : [])]
  return `SELECT ${COLUMNS} FROM deliveries ${terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`} ORDER BY n DESC LIMIT ?`
}

/** Reads the index of statuses only, and of delivered ones nothing. */
export const COUNTS_SQL = `SELECT count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'parked') AS parked
  FROM deliveries WHERE status IN ('pending', 'parked')`

/** The last time whose text still compares like the time itself. */
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z')

type Lane = Pick<Delivery, 'target' | 'conversation_id' | 'kind'>
/** The columns of a delivery that lead to its body. */
type BodyKeys = {
  kind: 'notification' | 'events'
  outbox: number | null
  log: number | null
  sequence: number
  last_seq: number | null
}

export class Deliveries implements OutboxStore {
  readonly #sql: Sql
  readonly #commits: GroupCommit
  readonly #outbox: Outbox
  readonly #sweep: LogSweep
  /** Terms of senders by target. In memory, because one process at a time uses the file. */
  readonly #terms = new Map<string, SenderTerm>()

  constructor(sql: Sql, commits: GroupCommit, outbox: Outbox, sweep: LogSweep) {
    this.#sql = sql
    this.#commits = commits
    this.#outbox = outbox
    this.#sweep = sweep
  }

  async now(): Promise<Date> {
    return new Date(this.#outbox.now())
  }

  subscribe(listener: Parameters<OutboxStore['subscribe']>[0]): ReturnType<OutboxStore['subscribe']> {
    return this.#outbox.subscribe(listener)
  }

  due(target: string, now: string, limit: number): Promise<Delivery[]> {
    return this.#commits.read(() => {
      const due = this.#sql.all<Delivery>(DUE_SQL, target, now, limit)
      const horizon = new Date(Math.min(Date.parse(now) + MAX_DELIVERY_WAIT_MS, LAST_TIME)).toISOString()
      const farAhead = this.#sql.all<Delivery>(FAR_AHEAD_SQL, target, horizon, limit - due.length)
      return [...due, ...farAhead].map((row) => ({ ...row }))
    })
  }

  nextDue(target: string, now: string): Promise<string | null> {
    return this.#commits.read(() => this.#sql.get<{ at: string | null }>(NEXT_DUE_SQL, target, now)?.at ?? null)
  }

  async lead(target: string, _by: NodeNumber): Promise<SenderTerm> {
    const term = (this.#terms.get(target) ?? 0) + 1
    this.#terms.set(target, term)
    return term
  }

  begin(id: string, term: SenderTerm): ReturnType<OutboxStore['begin']> {
    return this.#commits.read(() => {
      const row = this.#keysOf(id)
      if (row?.status !== 'pending' || this.#terms.get(row.target) !== term) return { kind: 'refused' as const }
      return { kind: 'begun' as const, at: new Date(this.#outbox.now()), body: this.#bodyOf(row) }
    })
  }

  body(id: string): Promise<DeliveryBody | null> {
    return this.#commits.read(() => {
      const row = this.#keysOf(id)
      return row === undefined ? null : this.#bodyOf(row)
    })
  }

  async record(id: string, outcome: DeliveryOutcome): Promise<void> {
    const isSweepable = await this.#commits.write(() => this.#record(id, outcome))
    if (isSweepable) this.#sweep.start()
  }

  async park(target: string, parking: Parameters<OutboxStore['park']>[1]): ReturnType<OutboxStore['park']> {
    const parked = await this.#commits.write(() => {
      const rows = parkWaiting(this.#sql, target, parking)
      for (const lane of rows) this.#promote(lane, parking.at)
      return rows
    })
    const batches = parked.filter(({ kind }) => kind === 'events').map(({ conversation_id }) => conversation_id)
    return { parked: parked.length, batches }
  }

  async cut(target: string, id: ConversationId, limits: BatchLimits): ReturnType<OutboxStore['cut']> {
    const result = await this.#commits.write(() => cutBatch(this.#sql, this.#outbox, target, id, limits))
    if (result.isCut) this.#announce(id)
    return result
  }

  behind(target: string): Promise<ConversationId[]> {
    return this.#commits.read(() => this.#sql.all<{ id: ConversationId }>(BEHIND_SQL, target).map(({ id }) => id))
  }

  list({ status, limit, after }: Parameters<OutboxStore['list']>[0]): ReturnType<OutboxStore['list']> {
    return this.#commits.read(() => {
      const last =
        after === undefined ? undefined : this.#sql.get<{ n: number }>('SELECT n FROM deliveries WHERE id = ?', after)
      const values = [...(status === undefined ? [] : [status]), ...(last === undefined ? [] : [last.n])]
      const found = this.#sql.all<Delivery>(listSql(status !== undefined, last !== undefined), ...values, limit + 1)
      const items = found.slice(0, limit).map((row) => ({ ...row }))
      return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
    })
  }

  async redeliver(id: string): ReturnType<OutboxStore['redeliver']> {
    const result = await this.#commits.write(() => this.#redeliver(id))
    const row = result === 'queued' ? this.#keysOf(id) : undefined
    if (row !== undefined) this.#announce(row.conversation_id)
    return result
  }

  async prune(bounds: Parameters<OutboxStore['prune']>[0]): Promise<number> {
    const { deliveredBefore, parkedBefore, maxDelivered, maxParked } = bounds
    const deleted = await this.#commits.write(() => {
      const surplus = (status: 'delivered' | 'parked', atMost: number) =>
        this.#sql.get<{ n: number }>(
          'SELECT n FROM deliveries WHERE status = ? ORDER BY n DESC LIMIT 1 OFFSET ?',
          status,
          atMost,
        )?.n ?? 0
      return (
        this.#deleteOld('delivered', deliveredBefore, surplus('delivered', maxDelivered)) +
        this.#deleteOld('parked', parkedBefore, surplus('parked', maxParked))
      )
    })
    if (deleted > 0) this.#sweep.start()
    return deleted
  }

  async dropUser(user: string): Promise<void> {
    await dropDeliveries(user, { sql: this.#sql, commits: this.#commits, outbox: this.#outbox })
    this.#sweep.start()
  }

  counts(): Promise<{ pending: number; parked: number }> {
    return this.#commits.read(() => ({ ...this.#sql.get<{ pending: number; parked: number }>(COUNTS_SQL)! }))
  }

  resume(): void {
    this.#outbox.announce({ conversation_id: null, deliveries: true, events: 0, isOver: false })
  }

  #announce(id: ConversationId): void {
    this.#outbox.announce({ conversation_id: id, deliveries: true, events: 0, isOver: false })
  }

  #keysOf(id: string): (BodyKeys & Lane & { status: string }) | undefined {
    return this.#sql.get<BodyKeys & Lane & { status: string }>(
      'SELECT target, conversation_id, kind, status, outbox, log, sequence, last_seq FROM deliveries WHERE id = ?',
      id,
    )
  }

  /** Null when the stored text, or an event of the batch, was deleted. */
  #bodyOf({ kind, outbox: n, log, sequence, last_seq }: BodyKeys): DeliveryBody | null {
    if (kind === 'notification') {
      const text = 'SELECT payload FROM outbox WHERE id = ?'
      const row = n === null ? undefined : this.#sql.get<{ payload: string }>(text, n)
      return row === undefined ? null : { kind, payload: row.payload }
    }
    const rows = this.#sql.all<{ seq: number; event: string }>(BATCH_SQL, log, sequence, last_seq)
    if (rows.length === 0 || rows.length !== (last_seq ?? 0) - sequence + 1) return null
    return { kind, events: rows.map(({ seq, event }) => ({ seq, event: readEvent(JSON.parse(event)) })) }
  }

  /** Makes the first delivery of a lane due (O1). */
  #promote({ target, conversation_id, kind }: Lane, at: string): void {
    const keys = [target, conversation_id, kind]
    const first = this.#sql.get<{ n: number; next_attempt_at: string | null }>(PROMOTE_SQL, ...keys)
    if (first === undefined || first.next_attempt_at !== null) return
    this.#sql.run('UPDATE deliveries SET next_attempt_at = ? WHERE n = ?', at, first.n)
  }

  /** Returns true when a log may be swept now. */
  #record(id: string, outcome: DeliveryOutcome): boolean {
    const { status, at, last_status, last_error, isSent = true, term } = outcome
    if (term !== undefined && this.#terms.get(this.#keysOf(id)?.target ?? '') !== term) return false
    const lane = this.#sql.returning<Lane & { log: number | null }>(
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
    this.#promote(lane, at)
    return lane.log !== null && this.#outbox.release(lane.log)
  }

  #redeliver(id: string): Awaited<ReturnType<OutboxStore['redeliver']>> {
    const row = this.#keysOf(id)
    if (row === undefined) return 'unknown'
    if (row.status === 'pending') return 'pending'
    if (this.#bodyOf(row) === null || !this.#outbox.targets.some(({ name }) => name === row.target)) return 'gone'
    this.#sql.run(
      `UPDATE deliveries SET status = 'pending', attempts = 0, first_attempt_at = NULL, finished_at = NULL, queued_at = ?
       WHERE id = ?`,
      this.#outbox.now(),
      id,
    )
    // After the delivery of the lane that is under way, and before the waiting ones.
    const isBusy = this.#sql.get(
      `SELECT 1 FROM deliveries
       WHERE target = ? AND conversation_id = ? AND kind = ? AND status = 'pending' AND next_attempt_at IS NOT NULL`,
      row.target,
      row.conversation_id,
      row.kind,
    )
    if (isBusy === undefined) this.#promote(row, this.#outbox.now())
    return 'queued'
  }

  /** Deletes a slice of deliveries that finished before a time, or whose number is at most `upTo`. Returns their count. */
  #deleteOld(status: 'delivered' | 'parked', before: string, upTo: number): number {
    const old = this.#sql.all<{ n: number; outbox: number | null; log: number | null }>(
      `SELECT n, outbox, log FROM (SELECT n, outbox, log, finished_at FROM deliveries WHERE status = ? ORDER BY n LIMIT ${SLICE})
       WHERE finished_at < ? OR n <= ?`,
      status,
      before,
      upTo,
    )
    for (const { n, outbox: payload, log } of old) {
      this.#sql.run('DELETE FROM deliveries WHERE n = ?', n)
      if (log !== null) this.#outbox.release(log)
      if (payload !== null) this.#outbox.forget(payload)
    }
    return old.length
  }
}
