/** Reads a log. A page is a range of the primary key in its order, so its cost does not depend on its start (S5). */
import { type ConversationId, readEvent, type StoredEvent } from '@parley/protocol'
import type { EventFilter, EventStore } from '../contract/events.ts'
import { OUTLINE_COLUMNS, type OutlineRow, readOutline } from '../shared/outline.ts'
import { unreadable } from '../unreadable.ts'
import type { Database, SqlValue } from './database.ts'
import { fillRows, packedId } from './event-rows.ts'
import { decodeText } from './text.ts'

type StoredText = { seq: number; event: string }

/** A log by the values of its conversation: its number and its newest seq as expressions, which name the values `$1` and so on. */
export type Log = { n: string; seq: string; valuesOf: (id: ConversationId) => readonly SqlValue[]; size: number }

/** The logs of our own conversations. */
export const OWN_LOGS: Log = {
  n: '(SELECT n FROM conversations WHERE id = $1)',
  seq: '(SELECT seq FROM conversations WHERE id = $1)',
  valuesOf: (id) => [id],
  size: 1,
}

/** @throws ParleyError `conflict` for a row that holds no event */
const storedIn =
  (id: ConversationId) =>
  ({ seq, event }: StoredText): StoredEvent => {
    try {
      return { seq, event: readEvent(JSON.parse(event)) }
    } catch (error) {
      throw unreadable(id, `event ${seq} of its log`, error)
    }
  }

/** The conditions of a filter, and their values, which are numbered after `before` others. */
function conditionsOf(filter: EventFilter | undefined, before: number): { where: string; values: SqlValue[] } {
  const terms: string[] = []
  const values: SqlValue[] = []
  const add = (term: (place: string) => string, value: SqlValue | undefined) => {
    if (value === undefined) return
    values.push(value)
    terms.push(` AND ${term(`$${before + values.length}`)}`)
  }
  // A kind by itself is text of the statement, so that the index of that kind is found.
  if (filter?.kinds?.length === 1 && filter.kinds[0] === 'UsageRecordedEvent')
    terms.push(" AND kind = 'UsageRecordedEvent'")
  else add((value) => `kind = ANY(${value}::text[])`, filter?.kinds)
  add((value) => `source = ${value}`, filter?.source)
  add((value) => `timestamp >= ${value}`, filter?.timestampGte)
  add((value) => `timestamp < ${value}`, filter?.timestampLt)
  add((value) => `kind = 'MessageEvent' AND strpos(text, ${value}) > 0`, filter?.body?.toLowerCase())
  add((value) => `strpos(text, ${value}) > 0`, filter?.text?.toLowerCase())
  return { where: terms.join(''), values }
}

/** One value for all rows, because each row of a result costs this process more than its values. */
const OUTLINE_SQL = `SELECT json_agg(json_build_array(${OUTLINE_COLUMNS}) ORDER BY seq) AS rows
  FROM events WHERE conversation = $1 AND seq BETWEEN $2 AND $3`
/** Texts inside of JSON are not decoded by the connection. */
const decoded = ([seq, kind, source, tool, ...rest]: OutlineRow): OutlineRow => [
  seq,
  decodeText(kind),
  source,
  tool === null ? null : decodeText(tool),
  ...rest,
]
/** Rows filled in one statement; their events are read. */
const FILL = 64

export function postgresEvents(database: Database, log: Log): EventStore {
  const { n, size } = log
  const from = `SELECT seq, event FROM events WHERE conversation = ${n}`
  const bySeq = `${from} AND seq = ANY($${size + 1}::bigint[]) ORDER BY seq`
  const oldSql = `SELECT conversation AS n, seq FROM events WHERE conversation = ${n} AND flags IS NULL LIMIT ${FILL}`
  const byId = `${from} AND id = $${size + 1}`

  /** Computes the searchable text of rows of earlier versions, which have that of messages only. */
  async function fillOld(id: ConversationId): Promise<void> {
    for (;;) {
      const old = await database.read((sql) => sql.all<{ n: number; seq: number }>(oldSql, ...log.valuesOf(id)))
      const [first] = old
      if (first === undefined) return
      const seqs = old.map(({ seq }) => seq)
      await database.write((sql) => fillRows(sql, first.n, seqs))
    }
  }

  /** Events from `first` to `last` that match a filter, at most `limit`. */
  async function range(
    id: ConversationId,
    {
      first,
      last,
      order,
      limit,
      filter,
    }: { first: number; last: number; order: string; limit: number; filter: EventFilter | undefined },
  ): Promise<StoredEvent[]> {
    const { where, values } = conditionsOf(filter, size + 3)
    const text = `${from} AND seq BETWEEN $${size + 1} AND $${size + 2}${where} ORDER BY seq ${order} LIMIT $${size + 3}`
    const rows = await database.read((sql) =>
      sql.all<StoredText>(text, ...log.valuesOf(id), first, last, limit, ...values),
    )
    return rows.map(storedIn(id))
  }

  return {
    page: async (id, { from: start, until, order = 'asc', limit, filter }) => {
      const first = order === 'asc' ? Math.max(1, start ?? 1) : 1
      const last = (order === 'asc' ? until : start) ?? Number.MAX_SAFE_INTEGER
      if (limit < 1 || first > last) return []
      if (filter?.text !== undefined) await fillOld(id)
      return range(id, { first, last, order: order === 'asc' ? 'ASC' : 'DESC', limit, filter })
    },

    count: async (id, filter) => {
      if (filter?.text !== undefined) await fillOld(id)
      return database.read(async (sql) => {
        const { where, values } = conditionsOf(filter, size)
        // S1: without a condition the newest seq is the number of events.
        const text =
          where === ''
            ? `SELECT coalesce(${log.seq}, 0) AS count`
            : `SELECT count(*) AS count FROM events WHERE conversation = ${n}${where}`
        return (await sql.get<{ count: number }>(text, ...log.valuesOf(id), ...values))?.count ?? 0
      })
    },

    get: (id, event) =>
      database.read(async (sql) => {
        const row = await sql.get<StoredText>(byId, ...log.valuesOf(id), packedId(event))
        return row === undefined ? null : storedIn(id)(row)
      }),

    getMany: (id, seqs) =>
      database.read(async (sql) => {
        const wanted = [...new Set(seqs)].filter((seq) => Number.isSafeInteger(seq) && seq >= 1)
        if (wanted.length === 0) return []
        return (await sql.all<StoredText>(bySeq, ...log.valuesOf(id), wanted)).map(storedIn(id))
      }),

    newest: (id, kind, limit) =>
      range(id, { first: 1, last: Number.MAX_SAFE_INTEGER, order: 'DESC', limit, filter: { kinds: [kind] } }),

    outline: async (id, wanted) => {
      const place = await database.read((sql) =>
        sql.get<{ n: number | null; newest: number | null }>(
          `SELECT ${n} AS n, ${log.seq} AS newest`,
          ...log.valuesOf(id),
        ),
      )
      const { n: number, newest } = { n: place?.n ?? 0, newest: place?.newest ?? 0 }
      const rows = async (first: number, last: number) => {
        const found = await database.read((sql) =>
          sql.get<{ rows: OutlineRow[] | null }>(OUTLINE_SQL, number, first, last),
        )
        return (found?.rows ?? []).map(decoded)
      }
      const fill = async (seqs: readonly number[]) => {
        for (let at = 0; at < seqs.length; at += FILL)
          await database.write((sql) => fillRows(sql, number, seqs.slice(at, at + FILL)))
      }
      return readOutline({ newest, rows, fill }, wanted)
    },
  }
}
