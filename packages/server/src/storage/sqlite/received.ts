/** Conversations of other servers. Their logs lie among our own events under negative numbers (D6 in `migrations.ts`). */
import type { ConversationId, StoredEvent } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import { type Clock, isoNow } from '../../lib/index.ts'
import type {
  ConversationQuery,
  ConversationRow,
  ConversationSort,
  ListedRow,
  ReceivedRow,
  ReceivedStore,
} from '../storage.ts'
import { Cursors, type Place } from './cursors.ts'
import { sqliteEvents } from './events.ts'
import type { GroupCommit } from './group-commit.ts'
import { eventColumns, insertEvents, packedId } from './log.ts'
import { SORT_COLUMN, searchSql } from './records.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'

/** How long a removal is remembered: longer than a sender tries. */
const REMEMBER_REMOVED_MS = 7 * 24 * 3600 * 1000

const COLUMNS = 'c.id, c.owner, c.created_at, c.updated_at, c.sent_at, c.status, c.parent_conversation_id, c.info'
/** Said with a removal too, and not hidden behind an own conversation of the same user. */
const SHOWN = `c.info IS NOT NULL AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.id = c.id AND o.owner = c.owner)`

export const GET_RECEIVED_SQL = `SELECT ${COLUMNS} FROM received_conversations c WHERE c.owner = ? AND c.id = ? AND c.info IS NOT NULL`
export const countReceivedSql = (hasStatus: boolean): string =>
  `SELECT count(*) AS count FROM received_conversations c WHERE c.owner = ?${hasStatus ? ' AND c.status = ?' : ''} AND ${SHOWN}`

/** As `searchSql`, over received conversations. */
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
type Known = { n: number; seq: number; sent_at: string | null; removed_at: string | null }

export function sqliteReceived(sql: Sql, commits: GroupCommit, sweep: LogSweep, clock: Clock): ReceivedStore {
  const cursors = new Cursors()
  const known = (owner: string, id: ConversationId) =>
    sql.get<Known>(
      'SELECT n, seq, sent_at, removed_at FROM received_conversations WHERE owner = ? AND id = ?',
      owner,
      id,
    )

  function placeOf(query: ConversationQuery, from: ConversationId): Place | undefined {
    const remembered = cursors.recall(query, from)
    if (remembered !== undefined) return remembered
    for (const [rank, table] of TABLES.entries()) {
      const text = `SELECT ${SORT_COLUMN[query.sort]} AS at, n FROM ${table} WHERE id = ? AND owner = ?`
      const row = sql.get<{ at: string; n: number }>(text, from, query.owner)
      if (row !== undefined) return { ...row, rank }
    }
    return undefined
  }

  /**
   * Up to `limit` rows of one table from a place that may lie in the other one. In ascending order own rows stand before
   * received ones of the same time; descending is the exact reverse.
   */
  function rowsFrom<Row>(query: ConversationQuery, rank: number, place: Place | undefined, limit: number): Row[] {
    const { owner, status, sort } = query
    const text = (rank === 0 ? searchSql : searchReceivedSql)(sort, status !== undefined, place !== undefined)
    const values: SQLInputValue[] = [owner]
    if (status !== undefined) values.push(status)
    if (place !== undefined) values.push(place.at, boundOf(place, rank))
    return sql.all<Row>(text, ...values, limit)
  }

  const search = (query: ConversationQuery) => {
    const { sort, limit, from } = query
    const place = from === undefined ? undefined : placeOf(query, from)
    const own = rowsFrom<ConversationRow>(query, 0, place, limit + 1).map((row) => ({ origin: 'own' as const, ...row }))
    const received = rowsFrom<ReceivedRow>(query, 1, place, limit + 1).map((row) => ({
      origin: 'received' as const,
      ...row,
    }))
    const items = merge(own, received, sort)
    const following = items[limit]
    if (following === undefined) return { items, next: null }
    const rank = following.origin === 'own' ? 0 : 1
    const owned = [following.id, query.owner] as const
    const n = sql.get<{ n: number }>(`SELECT n FROM ${TABLES[rank]} WHERE id = ? AND owner = ?`, ...owned)?.n ?? 0
    cursors.remember(query, following.id, { at: following[SORT_COLUMN[sort]], n, rank })
    return { items: items.slice(0, limit), next: following.id }
  }

  const put = (row: ReceivedRow): 'stored' | 'stale' => {
    const { id, owner, created_at, updated_at, sent_at, status, parent_conversation_id, info } = row
    const before = known(owner, id)
    if (before !== undefined && isStale(before, sent_at)) return 'stale'
    sql.run(
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

  const remove = (owner: string, id: ConversationId, sentAt: string | null): void => {
    const before = known(owner, id)
    if (before !== undefined) {
      if (isStale(before, sentAt)) return
      sql.run('DELETE FROM received_conversations WHERE n = ?', before.n)
      if (before.seq > 0) sql.run('INSERT INTO deleted_logs (conversation, seq) VALUES (?, ?)', -before.n, before.seq)
    }
    const at = isoNow(clock)
    // A new number: the swept log's must not be written again (D4).
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
    const forgotten = new Date(clock.now() - REMEMBER_REMOVED_MS).toISOString()
    sql.run('DELETE FROM received_conversations WHERE removed_at < ?', forgotten)
  }

  const append = (owner: string, id: ConversationId, events: readonly StoredEvent['event'][]): void => {
    const log = known(owner, id) ?? introduce(owner, id)
    if (log.removed_at !== null) return
    let { seq } = log
    for (const event of events) {
      if (sql.get('SELECT 1 FROM events WHERE id = ? AND conversation = ?', packedId(event.id), -log.n) !== undefined)
        continue
      seq += 1
      insertEvents(sql, -log.n, [eventColumns({ seq, event })])
    }
    if (seq > log.seq) sql.run('UPDATE received_conversations SET seq = ? WHERE n = ?', seq, log.n)
  }

  /** A place for events of a conversation that nothing else is known of yet; it is not shown. */
  function introduce(owner: string, id: ConversationId): Known {
    const at = isoNow(clock)
    const made = sql.returning<{ n: number }>(
      `INSERT INTO received_conversations (id, owner, created_at, updated_at, status) VALUES (?, ?, ?, ?, 'idle') RETURNING n`,
      id,
      owner,
      at,
      at,
    )
    if (made === undefined) throw new Error(`received conversation ${id} was not stored`)
    return { n: made.n, seq: 0, sent_at: null, removed_at: null }
  }

  return {
    put: (row) => commits.write(() => put(row)),
    remove: async (owner, id, sentAt) => {
      await commits.write(() => remove(owner, id, sentAt))
      sweep.start()
    },
    get: (owner, id) =>
      commits.read(() => {
        const row = sql.get<ReceivedRow>(GET_RECEIVED_SQL, owner, id)
        return row === undefined ? null : { ...row }
      }),
    search: (query) => commits.read(() => search(query)),
    count: (owner, status) =>
      commits.read(() => {
        const values = status === undefined ? [owner] : [owner, status]
        return sql.get<{ count: number }>(countReceivedSql(status !== undefined), ...values)?.count ?? 0
      }),
    append: (owner, id, events) => commits.write(() => append(owner, id, events as unknown as StoredEvent['event'][])),
    events: (owner) =>
      sqliteEvents(sql, commits, (id) => {
        const log = known(owner, id)
        return log === undefined ? undefined : { n: -log.n, seq: log.seq }
      }),
  }
}

/** Of a removal also what was said at the same time is older. */
function isStale(before: Known, sentAt: string | null): boolean {
  if (before.sent_at === null || sentAt === null) return false
  return before.removed_at === null ? sentAt < before.sent_at : sentAt <= before.sent_at
}

/** Where a table's rows of the place's own time begin, or end, seen from a place in the other table. */
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
