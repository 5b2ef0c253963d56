/** Reads a log. A page is a range of the primary key in its order, so its cost does not depend on its start (S5). */
import { type ConversationId, readEvent, type StoredEvent } from '@parley/protocol'
import type { EventFilter, EventStore } from '../contract/events.ts'
import { unreadable } from '../unreadable.ts'
import type { Database, SqlValue } from './database.ts'
import { packedId } from './event-rows.ts'

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
  return { where: terms.join(''), values }
}

export function postgresEvents(database: Database, log: Log): EventStore {
  const { n, size } = log
  const from = `SELECT seq, event FROM events WHERE conversation = ${n}`
  const bySeq = `${from} AND seq = ANY($${size + 1}::bigint[]) ORDER BY seq`
  const byId = `${from} AND id = $${size + 1}`

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
    page: async (id, { from: start, order = 'asc', limit, filter }) => {
      const first = order === 'asc' ? Math.max(1, start ?? 1) : 1
      const last = order === 'asc' ? Number.MAX_SAFE_INTEGER : (start ?? Number.MAX_SAFE_INTEGER)
      if (limit < 1 || first > last) return []
      return range(id, { first, last, order: order === 'asc' ? 'ASC' : 'DESC', limit, filter })
    },

    count: (id, filter) =>
      database.read(async (sql) => {
        const { where, values } = conditionsOf(filter, size)
        // S1: without a condition the newest seq is the number of events.
        const text =
          where === ''
            ? `SELECT coalesce(${log.seq}, 0) AS count`
            : `SELECT count(*) AS count FROM events WHERE conversation = ${n}${where}`
        return (await sql.get<{ count: number }>(text, ...log.valuesOf(id), ...values))?.count ?? 0
      }),

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
  }
}
