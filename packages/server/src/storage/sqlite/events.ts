/** Reads a log. A page is a range of the index over (conversation, seq) in index order, so its cost does not depend on its start (S5). */
import { type ConversationId, readEvent, type StoredEvent } from '@parley/protocol'
import type { EventFilter, EventStore } from '../contract/events.ts'
import { OUTLINE_COLUMNS, type OutlineRow, readOutline } from '../shared/outline.ts'
import { unreadable } from '../unreadable.ts'
import { fillRow, packedId } from './event-columns.ts'
import { hasConditions, scan, type Scan } from './event-scan.ts'
import type { GroupCommit } from './group-commit.ts'

import type { Sql } from './sql.ts'

type EventRow = { seq: number; event: string }

const COLUMNS = 'seq, event'
const RANGE = 'conversation = ? AND seq BETWEEN ? AND ?'

/** @throws ParleyError `conflict` for a row that holds no event */
const storedIn =
  (id: ConversationId) =>
  ({ seq, event }: EventRow): StoredEvent => {
    try {
      return { seq, event: readEvent(JSON.parse(event)) }
    } catch (error) {
      throw unreadable(id, `event ${seq} of its log`, error)
    }
  }

export const pageSql = (order: 'asc' | 'desc'): string =>
  `SELECT ${COLUMNS} FROM events WHERE ${RANGE} ORDER BY seq ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`

export const GET_SQL = `SELECT ${COLUMNS} FROM events WHERE id = ? AND conversation = ?`
export const GET_BY_SEQ_SQL = `SELECT ${COLUMNS} FROM events WHERE conversation = ? AND seq = ?`

/** Usage records are searched among thousands of other events, so they have their own index. Other kinds are found by a scan. */
export const NEWEST_USAGE_SQL = `SELECT ${COLUMNS} FROM events WHERE conversation = ? AND kind = 'UsageRecordedEvent' ORDER BY seq DESC LIMIT ?`

/** Reads the index `events_outline` alone. */
export const OUTLINE_SQL = `SELECT ${OUTLINE_COLUMNS} FROM events WHERE ${RANGE} ORDER BY seq`
const FILLED_SQL = 'SELECT n, conversation, event FROM events WHERE conversation = ? AND seq = ?'
/** Rows filled in one transaction; their events are read. */
const FILL = 64

/** Number and newest seq of a log; undefined when there is none. */
export type FindLog = (id: ConversationId) => { n: number; seq: number } | undefined

/** The logs of our own conversations. */
export const ownLogs =
  (sql: Sql): FindLog =>
  (id) =>
    sql.get('SELECT n, seq FROM conversations WHERE id = ?', id)

export function sqliteEvents(sql: Sql, commits: GroupCommit, find: FindLog): EventStore {
  /** Runs `read` for a known conversation, otherwise resolves with `unknown`. */
  const reading = <T>(id: ConversationId, unknown: T, read: (log: { n: number; seq: number }) => T): Promise<T> =>
    commits.read(() => {
      const log = find(id)
      return log === undefined ? unknown : read(log)
    })

  /** Reads the matching events of a range in slices. */
  async function search(id: ConversationId, log: { n: number }, range: Scan, limit: number): Promise<StoredEvent[]> {
    const items: StoredEvent[] = []
    await commits.readInSlices(async () => {
      for await (const rows of scan(sql, log.n, range, limit)) items.push(...rows.map(storedIn(id)))
    })
    return items
  }

  async function matches(log: { n: number; seq: number }, filter: EventFilter): Promise<number> {
    let count = 0
    await commits.readInSlices(async () => {
      const range = { order: 'asc' as const, first: 1, last: log.seq, filter }
      for await (const rows of scan(sql, log.n, range, null)) count += rows.length
    })
    return count
  }

  async function fill(n: number, seqs: readonly number[]): Promise<void> {
    for (let at = 0; at < seqs.length; at += FILL)
      await commits.write(() => {
        for (const seq of seqs.slice(at, at + FILL)) {
          const row = sql.get<{ n: number; conversation: number; event: string }>(FILLED_SQL, n, seq)
          if (row !== undefined) fillRow(sql, row)
        }
      })
  }

  return {
    page: async (id, { from, until, order = 'asc', limit, filter }) => {
      const log = await reading(id, null, (found) => found)
      if (log === null) return []
      const first = order === 'asc' ? Math.max(1, from ?? 1) : 1
      const last = order === 'asc' ? Math.min(log.seq, until ?? log.seq) : Math.min(log.seq, from ?? log.seq)
      if (limit < 1 || first > last) return []
      if (filter !== undefined && hasConditions(filter)) return search(id, log, { order, first, last, filter }, limit)
      return commits.read(() => sql.all<EventRow>(pageSql(order), log.n, first, last, limit).map(storedIn(id)))
    },

    count: async (id, filter) => {
      const log = await reading(id, null, (found) => found)
      if (log === null) return 0
      // S1: without a condition the newest seq is the number of events.
      return filter !== undefined && hasConditions(filter) ? matches(log, filter) : log.seq
    },

    get: (id, event) =>
      reading(id, null, ({ n }) => {
        const row = sql.get<EventRow>(GET_SQL, packedId(event), n)
        return row === undefined ? null : storedIn(id)(row)
      }),

    getMany: (id, seqs) =>
      reading(id, [], ({ n, seq: newest }) => {
        const wanted = [...new Set(seqs)].filter((seq) => seq >= 1 && seq <= newest).sort((a, b) => a - b)
        const rows = wanted.map((seq) => sql.get<EventRow>(GET_BY_SEQ_SQL, n, seq))
        return rows.filter((row) => row !== undefined).map(storedIn(id))
      }),

    newest: async (id, kind, limit) => {
      const log = await reading(id, null, (found) => found)
      if (log === null) return []
      if (kind !== 'UsageRecordedEvent')
        return search(id, log, { order: 'desc', first: 1, last: log.seq, filter: { kinds: [kind] } }, limit)
      return commits.read(() => sql.all<EventRow>(NEWEST_USAGE_SQL, log.n, limit).map(storedIn(id)))
    },

    outline: async (id, range) => {
      const { n, seq: newest } = await reading(id, { n: 0, seq: 0 }, (found) => found)
      const rows = (first: number, last: number) =>
        commits.read(() => sql.arrays<OutlineRow>(OUTLINE_SQL, n, first, last))
      return readOutline({ newest, rows, fill: (seqs) => fill(n, seqs) }, range)
    },
  }
}
