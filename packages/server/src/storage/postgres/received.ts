/** Conversations received from other servers. Their logs are stored in `events` under negative numbers (D6 in `schema.ts`). */
import type { ConversationId, StoredEvent } from '@parley/protocol'
import type { ConversationQuery, ConversationRow } from '../contract/conversations.ts'
import type { EventStore } from '../contract/events.ts'
import type { ListedRow, ReceivedEvent, ReceivedRow, ReceivedStore } from '../contract/received.ts'
import { Cursors, type Place } from '../shared/cursors.ts'
import type { Database, Sql, SqlValue } from './database.ts'
import { bytesOf, eventRow, insertEvents, packedId } from './event-rows.ts'
import { type Log, postgresEvents } from './events.ts'
import { lock } from './locks.ts'
import { pageSql, ROWS, SORT_COLUMN } from './records.ts'
import type { LogSweep } from './sweep.ts'
import { countBytes } from './usage.ts'

/** Removals are remembered for longer than a sender retries. */
const REMEMBER_REMOVED_MS = 7 * 24 * 3600 * 1000

const COLUMNS = 'c.id, c.owner, c.created_at, c.updated_at, c.sent_at, c.status, c.parent_conversation_id, c.info'
/** Excludes rows of removals and of logs without a conversation, and those whose id the same user has as an own conversation. */
const SHOWN = `c.info IS NOT NULL AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.id = c.id AND o.owner = c.owner)`
const RECEIVED_ROWS = `SELECT ${COLUMNS} FROM received_conversations c WHERE ${SHOWN} AND`

const GET_SQL = `SELECT ${COLUMNS} FROM received_conversations c WHERE c.owner = $1 AND c.id = $2 AND c.info IS NOT NULL`
const LOG_SQL = 'SELECT n, seq, bytes, sent_at, removed_at FROM received_conversations WHERE owner = $1 AND id = $2'
const PUT_SQL = `INSERT INTO received_conversations AS stored
    (id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (owner, id) DO UPDATE SET created_at = excluded.created_at, updated_at = excluded.updated_at,
    sent_at = coalesce(excluded.sent_at, stored.sent_at), status = excluded.status,
    parent_conversation_id = excluded.parent_conversation_id, info = excluded.info, removed_at = NULL`
const REMOVED_SQL = `INSERT INTO received_conversations (id, owner, created_at, updated_at, sent_at, status, removed_at)
  VALUES ($1, $2, $3, $3, $4, 'deleting', $3)`
/** A row for events that arrive before their conversation; listings leave it out. */
const NEW_LOG_SQL = `INSERT INTO received_conversations (id, owner, created_at, updated_at, status)
  VALUES ($1, $2, $3, $3, 'idle') RETURNING n`
const KNOWN_SQL = `SELECT encode(id, 'hex') AS id FROM events WHERE conversation = $1 AND id = ANY($2::bytea[])`
const GROWN_SQL = 'UPDATE received_conversations SET seq = $1, bytes = bytes + $2 WHERE n = $3'

const TABLES = ['conversations', 'received_conversations'] as const
type StoredLog = { n: number; seq: number; bytes: number; sent_at: string | null; removed_at: string | null }

const logOf = (sql: Sql, owner: string, id: ConversationId) => sql.get<StoredLog>(LOG_SQL, owner, id)

const logsOf = (owner: string): Log => ({
  n: '(SELECT -n FROM received_conversations WHERE id = $1 AND owner = $2)',
  seq: '(SELECT seq FROM received_conversations WHERE id = $1 AND owner = $2)',
  valuesOf: (id) => [id, owner],
  size: 2,
})

export class ReceivedConversations implements ReceivedStore {
  readonly #database: Database
  readonly #sweep: LogSweep
  readonly #now: () => Date
  readonly #cursors = new Cursors()

  constructor(database: Database, sweep: LogSweep, now: () => Date) {
    this.#database = database
    this.#sweep = sweep
    this.#now = now
  }

  put(row: ReceivedRow): Promise<'stored' | 'stale'> {
    const { id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info } = row
    return this.#locked(owner, id, async (sql) => {
      const before = await logOf(sql, owner, id)
      if (before !== undefined && isStale(before, sent_at)) return 'stale'
      const values = [id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info]
      await sql.run(PUT_SQL, ...values)
      return 'stored'
    })
  }

  async remove(owner: string, id: ConversationId, sentAt: string | null): Promise<void> {
    await this.#locked(owner, id, (sql) => this.#remove(sql, owner, id, sentAt))
    this.#sweep.start()
  }

  get(owner: string, id: ConversationId): Promise<ReceivedRow | null> {
    return this.#database.read(async (sql) => (await sql.get<ReceivedRow>(GET_SQL, owner, id)) ?? null)
  }

  search(query: ConversationQuery): ReturnType<ReceivedStore['search']> {
    return this.#database.read((sql) => this.#search(sql, query))
  }

  count(owner: string, status?: ReceivedRow['status']): Promise<number> {
    const text = `SELECT count(*) AS count FROM received_conversations c
      WHERE c.owner = $1${status === undefined ? '' : ' AND c.status = $2'} AND ${SHOWN}`
    return this.#database.read(async (sql) => {
      const values = status === undefined ? [owner] : [owner, status]
      return (await sql.get<{ count: number }>(text, ...values))?.count ?? 0
    })
  }

  append(owner: string, id: ConversationId, events: readonly ReceivedEvent[]): Promise<void> {
    return this.#locked(owner, id, (sql) => this.#append(sql, owner, id, events as unknown as StoredEvent['event'][]))
  }

  events(owner: string): EventStore {
    return postgresEvents(this.#database, logsOf(owner))
  }

  /** Reports of one conversation are stored one after another. */
  #locked<T>(owner: string, id: ConversationId, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.write(async (sql) => {
      await lock(sql, 'received', [`${id} ${owner}`])
      return work(sql)
    })
  }

  async #search(sql: Sql, query: ConversationQuery): ReturnType<ReceivedStore['search']> {
    const { sort, limit, from } = query
    const place = from === undefined ? undefined : await this.#placeOf(sql, query, from)
    const own = await rowsFrom<ConversationRow>(sql, query, 0, place)
    const received = await rowsFrom<ReceivedRow>(sql, query, 1, place)
    const items = merge(
      own.map((row) => ({ origin: 'own' as const, ...row })),
      received.map((row) => ({ origin: 'received' as const, ...row })),
      sort,
    )
    const following = items[limit]
    if (following === undefined) return { items, next: null }
    const rank = following.origin === 'own' ? 0 : 1
    const text = `SELECT n FROM ${TABLES[rank]} WHERE id = $1 AND owner = $2`
    const n = (await sql.get<{ n: number }>(text, following.id, query.owner))?.n ?? 0
    this.#cursors.remember(query, following.id, { at: following[SORT_COLUMN[sort]], n, rank })
    return { items: items.slice(0, limit), next: following.id }
  }

  async #placeOf(sql: Sql, query: ConversationQuery, from: ConversationId): Promise<Place | undefined> {
    const remembered = this.#cursors.recall(query, from)
    if (remembered !== undefined) return remembered
    for (const [rank, table] of TABLES.entries()) {
      const text = `SELECT ${SORT_COLUMN[query.sort]} AS at, n FROM ${table} WHERE id = $1 AND owner = $2`
      const row = await sql.get<{ at: string; n: number }>(text, from, query.owner)
      if (row !== undefined) return { ...row, rank }
    }
    return undefined
  }

  async #remove(sql: Sql, owner: string, id: ConversationId, sentAt: string | null): Promise<void> {
    const before = await logOf(sql, owner, id)
    if (before !== undefined) {
      if (isStale(before, sentAt)) return
      await sql.run('DELETE FROM received_conversations WHERE n = $1', before.n)
      await countBytes(sql, owner, -before.bytes)
      if (before.seq > 0)
        await sql.run('INSERT INTO deleted_logs (conversation, seq) VALUES ($1, $2)', -before.n, before.seq)
    }
    const now = this.#now()
    // A new number, because nothing may be written under the number of a log that is being swept.
    await sql.run(REMOVED_SQL, id, owner, now.toISOString(), sentAt)
    const oldest = new Date(now.getTime() - REMEMBER_REMOVED_MS).toISOString()
    await sql.run('DELETE FROM received_conversations WHERE removed_at < $1', oldest)
  }

  async #append(sql: Sql, owner: string, id: ConversationId, events: readonly StoredEvent['event'][]): Promise<void> {
    const log = (await logOf(sql, owner, id)) ?? (await this.#newLog(sql, owner, id))
    if (log.removed_at !== null) return
    const packed = events.map((event) => packedId(event.id))
    const known = new Set((await sql.all<{ id: string }>(KNOWN_SQL, -log.n, packed)).map((row) => row.id))
    const rows = []
    for (const [index, event] of events.entries()) {
      const key = packed[index]!.toString('hex')
      if (known.has(key)) continue
      known.add(key)
      rows.push(eventRow({ seq: log.seq + rows.length + 1, event }))
    }
    if (rows.length === 0) return
    const bytes = bytesOf(rows)
    await insertEvents(sql, -log.n, rows)
    await sql.run(GROWN_SQL, log.seq + rows.length, bytes, log.n)
    await countBytes(sql, owner, bytes)
  }

  async #newLog(sql: Sql, owner: string, id: ConversationId): Promise<StoredLog> {
    const made = await sql.get<{ n: number }>(NEW_LOG_SQL, id, owner, this.#now().toISOString())
    if (made === undefined) throw new Error(`received conversation ${id} was not stored`)
    return { n: made.n, seq: 0, bytes: 0, sent_at: null, removed_at: null }
  }
}

/** True for news older than the stored ones. After a removal, news of the same time count as older too. */
function isStale(before: StoredLog, sentAt: string | null): boolean {
  if (before.sent_at === null || sentAt === null) return false
  return before.removed_at === null ? sentAt < before.sent_at : sentAt <= before.sent_at
}

/**
 * A page of one table and the row after it, starting at a place that may be in the other one. In ascending order own rows precede
 * received ones of the same time; descending order is the exact reverse.
 */
async function rowsFrom<Row>(
  sql: Sql,
  { owner, status, sort, limit }: ConversationQuery,
  rank: number,
  place: Place | undefined,
): Promise<Row[]> {
  const text = pageSql(rank === 0 ? `${ROWS} WHERE` : RECEIVED_ROWS, sort, status !== undefined, place !== undefined)
  const values: SqlValue[] = [owner, limit + 1]
  if (status !== undefined) values.push(status)
  if (place !== undefined) values.push(place.at, boundOf(place, rank))
  return sql.all<Row>(text, ...values)
}

/** The number at which a table's rows of the same time begin or end, as seen from a place in the other table. */
function boundOf(place: Place, rank: number): number {
  if (rank === place.rank) return place.n
  return rank > place.rank ? 0 : Number.MAX_SAFE_INTEGER
}

function merge(own: ListedRow[], received: ListedRow[], sort: ConversationQuery['sort']): ListedRow[] {
  const column = SORT_COLUMN[sort]
  const descends = sort.endsWith('_DESC')
  const merged: ListedRow[] = []
  let [a, b] = [0, 0]
  while (a < own.length && b < received.length) {
    const [one, other] = [own[a]![column], received[b]![column]]
    const isOwnFirst = descends ? one > other : one <= other
    merged.push(isOwnFirst ? own[a++]! : received[b++]!)
  }
  return [...merged, ...own.slice(a), ...received.slice(b)]
}
