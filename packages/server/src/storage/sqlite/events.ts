/** Reads a log. A page is a range of the index over (conversation, seq) in index order, so its cost does not depend on its start (S5). */
import { type ConversationId, readEvent, type StoredEvent } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import type { EventFilter, EventStore } from '../storage.ts'
import { unreadable } from '../unreadable.ts'
import type { GroupCommit } from './group-commit.ts'
import { packedId } from './log.ts'
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

/** The conditions of a filter as SQL and its values, to append to a range. */
export function filterSql(filter: EventFilter | undefined): { where: string; values: SQLInputValue[] } {
  const terms: string[] = []
  const values: SQLInputValue[] = []
  const add = (term: string, ...bound: SQLInputValue[]) => {
    terms.push(` AND ${term}`)
    values.push(...bound)
  }
  if (filter?.kinds !== undefined) add(`kind IN (${filter.kinds.map(() => '?').join(', ')})`, ...filter.kinds)
  if (filter?.source !== undefined) add('source = ?', filter.source)
  if (filter?.timestampGte !== undefined) add('timestamp >= ?', filter.timestampGte)
  if (filter?.timestampLt !== undefined) add('timestamp < ?', filter.timestampLt)
  if (filter?.body !== undefined) add(`kind = 'MessageEvent' AND message_contains(event, ?)`, filter.body.toLowerCase())
  return { where: terms.join(''), values }
}

export const pageSql = (order: 'asc' | 'desc', where: string): string =>
  `SELECT ${COLUMNS} FROM events WHERE ${RANGE}${where} ORDER BY seq ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`

export const countSql = (where: string): string => `SELECT count(*) AS count FROM events WHERE ${RANGE}${where}`

export const GET_SQL = `SELECT ${COLUMNS} FROM events WHERE id = ? AND conversation = ?`
export const GET_BY_SEQ_SQL = `SELECT ${COLUMNS} FROM events WHERE conversation = ? AND seq = ?`

/**
 * Usage records are searched after every turn among thousands of other events, so they have their own index; the planner uses it
 * only when the kind is part of the text. Other kinds are found by scanning backwards.
 */
export const newestSql = (kind: string): string =>
  kind === 'UsageRecordedEvent'
    ? `SELECT ${COLUMNS} FROM events WHERE conversation = ? AND kind = 'UsageRecordedEvent' ORDER BY seq DESC LIMIT ?`
    : pageSql('desc', ' AND kind = ?')

type Texts = readonly { text?: unknown }[] | undefined
type MessageShape = {
  extended_content?: Texts
  llm_message?: { content?: Texts; reasoning_content?: unknown }
}

/** True when the text, extended content or reasoning of a MessageEvent contains `needle`, which is in lower case. */
function messageContains(event: string, needle: string): boolean {
  const { llm_message, extended_content } = JSON.parse(event) as MessageShape
  const texts = [...(llm_message?.content ?? []), ...(extended_content ?? [])].map(({ text }) => text)
  return [...texts, llm_message?.reasoning_content].some(
    (text) => typeof text === 'string' && text.toLowerCase().includes(needle),
  )
}

/** Registers `message_contains(event, needle)` on the connection. */
export function registerFunctions(sql: Sql): void {
  const options = { deterministic: true, directOnly: true }
  sql.database.function('message_contains', options, (event, needle) =>
    messageContains(String(event), String(needle)) ? 1 : 0,
  )
}

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

  return {
    page: (id, { from, order = 'asc', limit, filter }) =>
      reading(id, [], ({ n, seq }) => {
        const first = order === 'asc' ? Math.max(1, from ?? 1) : 1
        const last = order === 'asc' ? seq : Math.min(seq, from ?? seq)
        if (limit < 1 || first > last) return []
        const { where, values } = filterSql(filter)
        return sql.all<EventRow>(pageSql(order, where), n, first, last, ...values, limit).map(storedIn(id))
      }),

    count: (id, filter) =>
      reading(id, 0, ({ n, seq }) => {
        const { where, values } = filterSql(filter)
        // S1: without a condition the newest seq is the number of events.
        if (where === '') return seq
        return sql.get<{ count: number }>(countSql(where), n, 1, seq, ...values)?.count ?? 0
      }),

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

    newest: (id, kind, limit) =>
      reading(id, [], ({ n, seq }) => {
        const text = newestSql(kind)
        const rows =
          kind === 'UsageRecordedEvent'
            ? sql.all<EventRow>(text, n, limit)
            : sql.all<EventRow>(text, n, 1, seq, kind, limit)
        return rows.map(storedIn(id))
      }),
  }
}
