/** Conversations received from other servers. Their logs are stored in `events` under negative numbers (D6 in `migrations.ts`). */
import type { ConversationId, StoredEvent } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import type { ConversationQuery, ConversationRow, ConversationSort } from '../contract/conversations.ts'
import type { EventStore } from '../contract/events.ts'
import type { ListedRow, ReceivedEvent, ReceivedRow, ReceivedStore } from '../contract/received.ts'
import { Cursors, type Place } from '../shared/cursors.ts'
import { sqliteEvents } from './events.ts'
import type { GroupCommit } from './group-commit.ts'
import { bytesOf, eventColumns, insertEvents, packedId } from './event-columns.ts'
import { SORT_COLUMN, searchSql } from './records.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'
import { countBytes } from './usage.ts'

/** Removals are remembered for longer than a sender retries. */
const REMEMBER_REMOVED_MS = 7 * 24 * 3600 * 1000

const COLUMNS = 'c.id, c.owner, c.created_at, c.updated_at, c.sent_at, c.status, c.parent_conversation_id, c.info'
/** Excludes rows of removals and of logs without a conversation, and those whose id the same user has as an own conversation. */
const SHOWN = `c.info IS NOT NULL AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.id = c.id AND o.owner = c.owner)`

export const GET_RECEIVED_SQL = `SELECT ${COLUMNS} FROM received_conversations c WHERE c.owner = ? AND c.id = ? AND c.info IS NOT NULL`
const countReceivedSql = (hasStatus: boolean): string =>
  `SELECT count(*) AS count FROM received_conversations c WHERE c.owner = ?${hasStatus ? ' AND c.status = ?' : ''} AND ${SHOWN}`

/** `searchSql` for received conversations. */
export function searchReceivedSql(sort: ConversationSort, hasStatus: boolean, hasCursor: boolean): string {
  const column = SORT_COLUMN[sort]
  const descends = sort.endsWith('_DESC')
  const order = descends ? 'DESC' : 'ASC'
  const status = hasStatus ? ' AND c.status = ?' : ''
  const cursor = hasCursor ? ` AND (c.${column}, c.n) ${descends ? '<=' : '>='} (?, ?)` : ''
  return `SELECT ${COLUMNS} FROM received_conversations c WHERE c.owner = ?${status}${cursor} AND ${SHOWN}
    ORDER BY c.${column} ${order}, c.n ${order} LIMIT ?`
}

const TABLES = ['conversations', 'received_conversations'] as const
type StoredLog = { n: number; seq: number; bytes: number; sent_at: string | null; removed_at: string | null }

export class ReceivedConversations implements ReceivedStore {
  readonly #sql: Sql
  readonly #commits: GroupCommit
  readonly #sweep: LogSweep
  readonly #now: () => Date
  readonly #cursors = new Cursors()

  constructor(sql: Sql, commits: GroupCommit, sweep: LogSweep, now: () => Date) {
    this.#sql = sql
    this.#commits = commits
    this.#sweep = sweep
    this.#now = now
  }

  put(row: ReceivedRow): Promise<'stored' | 'stale'> {
    return this.#commits.write(() => this.#put(row))
  }

  async remove(owner: string, id: ConversationId, sentAt: string | null): Promise<void> {
    await this.#commits.write(() => this.#remove(owner, id, sentAt))
    this.#sweep.start()
  }

  get(owner: string, id: ConversationId): Promise<ReceivedRow | null> {
    return this.#commits.read(() => {
      const row = this.#sql.get<ReceivedRow>(GET_RECEIVED_SQL, owner, id)
      return row === undefined ? null : { ...row }
    })
  }

  search(query: ConversationQuery): ReturnType<ReceivedStore['search']> {
    return this.#commits.read(() => this.#search(query))
  }

  count(owner: string, status?: ReceivedRow['status']): Promise<number> {
    return this.#commits.read(() => {
      const values = status === undefined ? [owner] : [owner, status]
      return this.#sql.get<{ count: number }>(countReceivedSql(status !== undefined), ...values)?.count ?? 0
    })
  }

  append(owner: string, id: ConversationId, events: readonly ReceivedEvent[]): Promise<void> {
    return this.#commits.write(() => this.#append(owner, id, events as unknown as StoredEvent['event'][]))
  }

  events(owner: string): EventStore {
    return sqliteEvents(this.#sql, this.#commits, (id) => {
      const log = this.#logOf(owner, id)
      return log === undefined ? undefined : { n: -log.n, seq: log.seq }
    })
  }

  #logOf(owner: string, id: ConversationId): StoredLog | undefined {
    return this.#sql.get<StoredLog>(
      'SELECT n, seq, bytes, sent_at, removed_at FROM received_conversations WHERE owner = ? AND id = ?',
      owner,
      id,
    )
  }

  #search(query: ConversationQuery): Awaited<ReturnType<ReceivedStore['search']>> {
    const { sort, limit, from } = query
    const place = from === undefined ? undefined : this.#placeOf(query, from)
    const own = this.#rowsFrom<ConversationRow>(query, 0, place, limit + 1)
    const received = this.#rowsFrom<ReceivedRow>(query, 1, place, limit + 1)
    const items = merge(
      own.map((row) => ({ origin: 'own' as const, ...row })),
      received.map((row) => ({ origin: 'received' as const, ...row })),
      sort,
    )
    const following = items[limit]
    if (following === undefined) return { items, next: null }
    const rank = following.origin === 'own' ? 0 : 1
    const text = `SELECT n FROM ${TABLES[rank]} WHERE id = ? AND owner = ?`
    const n = this.#sql.get<{ n: number }>(text, following.id, query.owner)?.n ?? 0
    this.#cursors.remember(query, following.id, { at: following[SORT_COLUMN[sort]], n, rank })
    return { items: items.slice(0, limit), next: following.id }
  }

  #placeOf(query: ConversationQuery, from: ConversationId): Place | undefined {
    const remembered = this.#cursors.recall(query, from)
    if (remembered !== undefined) return remembered
    for (const [rank, table] of TABLES.entries()) {
      const text = `SELECT ${SORT_COLUMN[query.sort]} AS at, n FROM ${table} WHERE id = ? AND owner = ?`
      const row = this.#sql.get<{ at: string; n: number }>(text, from, query.owner)
      if (row !== undefined) return { ...row, rank }
    }
    return undefined
  }

  /**
   * Up to `limit` rows of one table, starting at a place that may be in the other one. In ascending order own rows precede
   * received ones of the same time; descending order is the exact reverse.
   */
  #rowsFrom<Row>(query: ConversationQuery, rank: number, place: Place | undefined, limit: number): Row[] {
    const { owner, status, sort } = query
    const text = (rank === 0 ? searchSql : searchReceivedSql)(sort, status !== undefined, place !== undefined)
    const values: SQLInputValue[] = [owner]
    if (status !== undefined) values.push(status)
    if (place !== undefined) values.push(place.at, boundOf(place, rank))
    return this.#sql.all<Row>(text, ...values, limit)
  }

  #put(row: ReceivedRow): 'stored' | 'stale' {
    const { id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info } = row
    const before = this.#logOf(owner, id)
    if (before !== undefined && isStale(before, sent_at)) return 'stale'
    this.#sql.run(
      `INSERT INTO received_conversations (id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (owner, id) DO UPDATE SET created_at = excluded.created_at, updated_at = excluded.updated_at,
         sent_at = coalesce(excluded.sent_at, sent_at), status = excluded.status,
         parent_conversation_id = excluded.parent_conversation_id, info = excluded.info, removed_at = NULL`,
      id,
      owner,
      created_at,
      updated_at,
      sent_at,
      status,
      parent_conversation_id,
      info,
    )
    return 'stored'
  }

  #remove(owner: string, id: ConversationId, sentAt: string | null): void {
    const sql = this.#sql
    const before = this.#logOf(owner, id)
    if (before !== undefined) {
      if (isStale(before, sentAt)) return
      sql.run('DELETE FROM received_conversations WHERE n = ?', before.n)
      countBytes(sql, owner, -before.bytes)
      if (before.seq > 0) sql.run('INSERT INTO deleted_logs (conversation, seq) VALUES (?, ?)', -before.n, before.seq)
    }
    const now = this.#now()
    const at = now.toISOString()
    // A new number, because nothing may be written under the number of a log that is being swept (D4).
    sql.run(
      `INSERT INTO received_conversations (id, owner, created_at, updated_at, sent_at, status, removed_at)
       VALUES (?, ?, ?, ?, ?, 'deleting', ?)`,
      id,
      owner,
      at,
      at,
      sentAt,
      at,
    )
    const oldest = new Date(now.getTime() - REMEMBER_REMOVED_MS).toISOString()
    sql.run('DELETE FROM received_conversations WHERE removed_at < ?', oldest)
  }

  #append(owner: string, id: ConversationId, events: readonly StoredEvent['event'][]): void {
    const sql = this.#sql
    const log = this.#logOf(owner, id) ?? this.#newLog(owner, id)
    if (log.removed_at !== null) return
    let { seq } = log
    let bytes = 0
    for (const event of events) {
      if (sql.get('SELECT 1 FROM events WHERE id = ? AND conversation = ?', packedId(event.id), -log.n) !== undefined)
        continue
      seq += 1
      const columns = [eventColumns({ seq, event })]
      bytes += bytesOf(columns)
      insertEvents(sql, -log.n, columns)
    }
    if (seq === log.seq) return
    sql.run('UPDATE received_conversations SET seq = ?, bytes = bytes + ? WHERE n = ?', seq, bytes, log.n)
    countBytes(sql, owner, bytes)
  }

  /** A row for events that arrive before their conversation; listings leave it out. */
  #newLog(owner: string, id: ConversationId): StoredLog {
    const at = this.#now().toISOString()
    const made = this.#sql.returning<{ n: number }>(
      `INSERT INTO received_conversations (id, owner, created_at, updated_at, status) VALUES (?, ?, ?, ?, 'idle') RETURNING n`,
      id,
      owner,
      at,
      at,
    )
    if (made === undefined) throw new Error(`received conversation ${id} was not stored`)
    return { n: made.n, seq: 0, bytes: 0, sent_at: null, removed_at: null }
  }
}

/** True for news older than the stored ones. After a removal, news of the same time count as older too. */
function isStale(before: StoredLog, sentAt: string | null): boolean {
  if (before.sent_at === null || sentAt === null) return false
  return before.removed_at === null ? sentAt < before.sent_at : sentAt <= before.sent_at
}

/** The number at which a table's rows of the same time begin or end, as seen from a place in the other table. */
function boundOf(place: Place, rank: number): number {
  if (rank === place.rank) return place.n
  return rank > place.rank ? 0 : Number.MAX_SAFE_INTEGER
}

function merge(own: ListedRow[], received: ListedRow[], sort: ConversationSort): ListedRow[] {
  const column = SORT_COLUMN[sort]
  const descends = sort.endsWith('_DESC')
  const merged: ListedRow[] = []
  while (own.length > 0 && received.length > 0) {
    const [a, b] = [own[0]![column], received[0]![column]]
    const isOwnFirst = descends ? a > b : a <= b
    merged.push((isOwnFirst ? own : received).shift()!)
  }
  return [...merged, ...own, ...received]
}
