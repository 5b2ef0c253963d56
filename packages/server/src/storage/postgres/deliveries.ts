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
import { timeSql } from './clock.ts'
import type { Database, Sql } from './database.ts'
import { cutBatch } from './event-batches.ts'
import { lock } from './locks.ts'
import type { Outbox } from './outbox.ts'
import type { LogSweep } from './sweep.ts'
import { dropDeliveries, IS_SENT } from './user-deliveries.ts'
import { parkWaiting } from './waiting-deliveries.ts'

/** Deliveries deleted in one transaction. */
const SLICE = 500

const COLUMNS = `id, target, conversation_id, kind, topic, sequence, status, created_at, queued_at, attempts, first_attempt_at,
  next_attempt_at, last_status, last_error, finished_at`

const dueSql = (comparison: '<=' | '>'): string => `SELECT ${COLUMNS} FROM deliveries
  WHERE target = $1 AND next_attempt_at ${comparison} $2 AND ${IS_SENT} ORDER BY next_attempt_at, n LIMIT $3`
const DUE_SQL = dueSql('<=')
const FAR_AHEAD_SQL = dueSql('>')
const NEXT_DUE_SQL = 'SELECT min(next_attempt_at) AS at FROM deliveries WHERE target = $1 AND next_attempt_at > $2'
const PROMOTE_SQL = `UPDATE deliveries SET next_attempt_at = ${timeSql('$4')} WHERE next_attempt_at IS NULL AND n = (
  SELECT n FROM deliveries WHERE target = $1 AND conversation_id = $2 AND kind = $3 AND status = 'pending' ORDER BY n LIMIT 1)`
const BUSY_SQL = `SELECT 1 FROM deliveries
  WHERE target = $1 AND conversation_id = $2 AND kind = $3 AND status = 'pending' AND next_attempt_at IS NOT NULL`
const BEHIND_SQL = `SELECT DISTINCT f.conversation_id AS id FROM followed_logs f
  LEFT JOIN conversations c ON c.n = f.log WHERE f.target = $1 AND f.seq < coalesce(f.last_seq, c.seq)`
const BATCH_SQL = 'SELECT seq, event FROM events WHERE conversation = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq'
const KEYS_SQL =
  'SELECT target, conversation_id, kind, status, outbox, log, sequence, last_seq FROM deliveries WHERE id = $1'
const RECORD_SQL = `UPDATE deliveries SET status = $2, attempts = attempts + $3,
    first_attempt_at = coalesce(first_attempt_at, $4), next_attempt_at = $5, last_status = $6, last_error = $7, finished_at = $8
  WHERE id = $1 AND status = 'pending' AND ($9::bigint IS NULL OR begun_term = $9)
  RETURNING target, conversation_id, kind, log`
const REDELIVER_SQL = `UPDATE deliveries SET status = 'pending', attempts = 0, first_attempt_at = NULL, finished_at = NULL,
  queued_at = ${timeSql('$2')} WHERE id = $1`
const NOW_SQL = `SELECT ${timeSql('$1')} AS at`
const LEAD_SQL = 'UPDATE webhook_targets SET term = term + 1, sender = $2 WHERE name = $1 RETURNING term'
/** The last condition is evaluated again when another sender has changed the row meanwhile. */
const BEGIN_SQL = `UPDATE deliveries d SET begun_term = t.term FROM webhook_targets t
  WHERE d.id = $1 AND d.status = 'pending' AND t.name = d.target AND t.term = $2 AND d.begun_term <= $2
  RETURNING d.kind, d.outbox, d.log, d.sequence, d.last_seq, ${timeSql('$3')} AS at`
const SURPLUS_SQL = 'SELECT n FROM deliveries WHERE status = $1 ORDER BY n DESC LIMIT 1 OFFSET $2'
const DELETE_OLD_SQL = `DELETE FROM deliveries WHERE n IN (
    SELECT n FROM (SELECT n, finished_at FROM deliveries WHERE status = $1 ORDER BY n LIMIT ${SLICE}) oldest
    WHERE finished_at < $2 OR n <= $3
  ) RETURNING outbox, log`

const COUNTS_SQL = `SELECT count(*) FILTER (WHERE status = 'pending')::int AS pending,
    count(*) FILTER (WHERE status = 'parked')::int AS parked
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
type Keys = BodyKeys & Lane & { status: string }

const keysOf = (sql: Sql, id: string): Promise<Keys | undefined> => sql.get<Keys>(KEYS_SQL, id)

/** Null when the stored text, or an event of the batch, was deleted. */
async function bodyOf(sql: Sql, { kind, outbox, log, sequence, last_seq }: BodyKeys): Promise<DeliveryBody | null> {
  if (kind === 'notification') {
    const row = await sql.get<{ payload: string }>('SELECT payload FROM outbox WHERE id = $1', outbox)
    return row === undefined ? null : { kind, payload: row.payload }
  }
  const rows = await sql.all<{ seq: number; event: string }>(BATCH_SQL, log, sequence, last_seq)
  if (rows.length === 0 || rows.length !== (last_seq ?? 0) - sequence + 1) return null
  return { kind, events: rows.map(({ seq, event }) => ({ seq, event: readEvent(JSON.parse(event)) })) }
}

/** Makes the first delivery of a lane due (O1). `at`: null for the time of the database. */
async function promote(sql: Sql, { target, conversation_id, kind }: Lane, at: string | null): Promise<void> {
  await sql.run(PROMOTE_SQL, target, conversation_id, kind, at)
}

export class Deliveries implements OutboxStore {
  readonly #database: Database
  readonly #outbox: Outbox
  readonly #sweep: LogSweep

  constructor(database: Database, outbox: Outbox, sweep: LogSweep) {
    this.#database = database
    this.#outbox = outbox
    this.#sweep = sweep
  }

  async now(): Promise<Date> {
    const row = await this.#database.read((sql) => sql.get<{ at: string }>(NOW_SQL, this.#outbox.givenTime()))
    return new Date(row!.at)
  }

  subscribe(listener: Parameters<OutboxStore['subscribe']>[0]): ReturnType<OutboxStore['subscribe']> {
    return this.#outbox.subscribe(listener)
  }

  due(target: string, now: string, limit: number): Promise<Delivery[]> {
    return this.#database.read(async (sql) => {
      const due = await sql.all<Delivery>(DUE_SQL, target, now, limit)
      const horizon = new Date(Math.min(Date.parse(now) + MAX_DELIVERY_WAIT_MS, LAST_TIME)).toISOString()
      return [...due, ...(await sql.all<Delivery>(FAR_AHEAD_SQL, target, horizon, limit - due.length))]
    })
  }

  nextDue(target: string, now: string): Promise<string | null> {
    return this.#database.read(
      async (sql) => (await sql.get<{ at: string | null }>(NEXT_DUE_SQL, target, now))?.at ?? null,
    )
  }

  lead(target: string, by: NodeNumber): Promise<SenderTerm> {
    return this.#database.write(async (sql) => (await sql.get<{ term: number }>(LEAD_SQL, target, by))?.term ?? 0)
  }

  begin(id: string, term: SenderTerm): ReturnType<OutboxStore['begin']> {
    return this.#database.write(async (sql) => {
      const row = await sql.get<BodyKeys & { at: string }>(BEGIN_SQL, id, term, this.#outbox.givenTime())
      if (row === undefined) return { kind: 'refused' as const }
      return { kind: 'begun' as const, at: new Date(row.at), body: await bodyOf(sql, row) }
    })
  }

  body(id: string): Promise<DeliveryBody | null> {
    return this.#database.read(async (sql) => {
      const row = await keysOf(sql, id)
      return row === undefined ? null : bodyOf(sql, row)
    })
  }

  async record(id: string, outcome: DeliveryOutcome): Promise<void> {
    const isSweepable = await this.#database.write((sql) => this.#record(sql, id, outcome))
    if (isSweepable) this.#sweep.start()
  }

  async park(target: string, parking: Parameters<OutboxStore['park']>[1]): ReturnType<OutboxStore['park']> {
    const parked = await this.#database.write(async (sql) => {
      const rows = await parkWaiting(sql, target, parking)
      for (const lane of rows) await promote(sql, lane, parking.at)
      return rows
    })
    const batches = parked.filter(({ kind }) => kind === 'events').map(({ conversation_id }) => conversation_id)
    return { parked: parked.length, batches }
  }

  async cut(target: string, id: ConversationId, limits: BatchLimits): ReturnType<OutboxStore['cut']> {
    const result = await this.#database.write((sql) => cutBatch(sql, this.#outbox, target, id, limits))
    if (result.isCut) this.#announce(id)
    return result
  }

  behind(target: string): Promise<ConversationId[]> {
    return this.#database.read(async (sql) =>
      (await sql.all<{ id: ConversationId }>(BEHIND_SQL, target)).map(({ id }) => id),
    )
  }

  list({ status, limit, after }: Parameters<OutboxStore['list']>[0]): ReturnType<OutboxStore['list']> {
    return this.#database.read(async (sql) => {
      const last =
        after === undefined ? undefined : await sql.get<{ n: number }>('SELECT n FROM deliveries WHERE id = $1', after)
      const values = [...(status === undefined ? [] : [status]), ...(last === undefined ? [] : [last.n])]
      const terms = [
        ...(status === undefined ? [] : ['status = $2']),
        ...(last === undefined ? [] : [`n < $${values.length + 1}`]),
      ]
      const where = terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`
      const text = `SELECT ${COLUMNS} FROM deliveries ${where} ORDER BY n DESC LIMIT $1`
      const found = await sql.all<Delivery>(text, limit + 1, ...values)
      const items = found.slice(0, limit)
      return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
    })
  }

  async redeliver(id: string): ReturnType<OutboxStore['redeliver']> {
    const { result, conversation } = await this.#database.write((sql) => this.#redeliver(sql, id))
    if (conversation !== null) this.#announce(conversation)
    return result
  }

  async prune(bounds: Parameters<OutboxStore['prune']>[0]): Promise<number> {
    const { deliveredBefore, parkedBefore, maxDelivered, maxParked } = bounds
    const deleted = await this.#database.write(
      async (sql) =>
        (await this.#deleteOld(sql, 'delivered', deliveredBefore, maxDelivered)) +
        (await this.#deleteOld(sql, 'parked', parkedBefore, maxParked)),
    )
    if (deleted > 0) this.#sweep.start()
    return deleted
  }

  async dropUser(user: string): Promise<void> {
    await dropDeliveries(user, this.#database, this.#outbox)
    this.#sweep.start()
  }

  counts(): Promise<{ pending: number; parked: number }> {
    return this.#database.read(async (sql) => (await sql.get<{ pending: number; parked: number }>(COUNTS_SQL))!)
  }

  resume(): void {
    this.#outbox.announce({ conversation_id: null, deliveries: true, events: 0, isOver: false })
  }

  #announce(id: ConversationId): void {
    this.#outbox.announce({ conversation_id: id, deliveries: true, events: 0, isOver: false })
  }

  /** Returns true when a log may be swept now. */
  async #record(sql: Sql, id: string, outcome: DeliveryOutcome): Promise<boolean> {
    const { status, at, last_status, last_error, isSent = true, term } = outcome
    const keys = await keysOf(sql, id)
    if (keys === undefined) return false
    await lock(sql, 'lane', [keys.conversation_id])
    const next = status === 'pending' ? outcome.next_attempt_at : null
    const finished = status === 'pending' ? null : at
    const values = [id, status, isSent ? 1 : 0, at, next, last_status, last_error, finished, term ?? null]
    const lane = await sql.get<Lane & { log: number | null }>(RECORD_SQL, ...values)
    if (lane === undefined || status === 'pending') return false
    await promote(sql, lane, at)
    return lane.log !== null && this.#outbox.release(sql, lane.log)
  }

  async #redeliver(
    sql: Sql,
    id: string,
  ): Promise<{ result: Awaited<ReturnType<OutboxStore['redeliver']>>; conversation: ConversationId | null }> {
    const known = await keysOf(sql, id)
    if (known !== undefined) await lock(sql, 'lane', [known.conversation_id])
    const row = known === undefined ? undefined : await keysOf(sql, id)
    if (row === undefined) return { result: 'unknown', conversation: null }
    if (row.status === 'pending') return { result: 'pending', conversation: null }
    const isTarget = await sql.get('SELECT 1 FROM webhook_targets WHERE name = $1 AND removed_at IS NULL', row.target)
    if (isTarget === undefined || (await bodyOf(sql, row)) === null) return { result: 'gone', conversation: null }
    await sql.run(REDELIVER_SQL, id, this.#outbox.givenTime())
    // After the delivery of the lane that is under way, and before the waiting ones.
    const isBusy = await sql.get(BUSY_SQL, row.target, row.conversation_id, row.kind)
    if (isBusy === undefined) await promote(sql, row, this.#outbox.givenTime())
    return { result: 'queued', conversation: row.conversation_id }
  }

  /** Deletes a slice of deliveries that finished before a time, or that are beyond the newest `atMost`. Returns their count. */
  async #deleteOld(sql: Sql, status: 'delivered' | 'parked', before: string, atMost: number): Promise<number> {
    const upTo = (await sql.get<{ n: number }>(SURPLUS_SQL, status, atMost))?.n ?? 0
    const old = await sql.all<{ outbox: number | null; log: number | null }>(DELETE_OLD_SQL, status, before, upTo)
    for (const log of new Set(old.map((row) => row.log))) if (log !== null) await this.#outbox.release(sql, log)
    for (const payload of new Set(old.map((row) => row.outbox)))
      if (payload !== null) await this.#outbox.forget(sql, payload)
    return old.length
  }
}
