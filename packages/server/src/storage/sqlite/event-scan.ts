/**
 * Reads the events of one log that match a filter, in bounded slices: a filter that matches nothing reads the whole log, and the
 * thread that reads it also answers every other request.
 */
import { setImmediate } from 'node:timers/promises'
import type { SQLInputValue } from 'node:sqlite'
import type { EventFilter } from '../contract/events.ts'
import { derivedFrom } from './event-columns.ts'
import type { Sql } from './sql.ts'

export type ScannedRow = { seq: number; event: string }
/** `size`: null while the searchable text is not stored yet (see `event-backfill.ts`). */
type Found = ScannedRow & { size: number | null }

const RANGE = 'conversation = ? AND seq BETWEEN ? AND ?'

/** The number of events of a slice is adapted to this time in milliseconds. */
const SLICE_MS = 8
const MIN_SLICE = 16
const MAX_SLICE = 4096

/** False for a filter that every event matches. */
export const hasConditions = (filter: EventFilter): boolean => filterSql(filter).where !== ''

/** The conditions of a filter as SQL and its values, to append to a range. */
export function filterSql(filter: EventFilter | undefined): { where: string; values: SQLInputValue[] } {
  const terms: string[] = []
  const values: SQLInputValue[] = []
  const add = (term: string, ...bound: SQLInputValue[]) => {
    terms.push(` AND ${term}`)
    values.push(...bound)
  }
  // A kind by itself is text of the statement, so that the index of that kind is found.
  if (filter?.kinds?.length === 1 && filter.kinds[0] === 'UsageRecordedEvent') add("kind = 'UsageRecordedEvent'")
  else if (filter?.kinds !== undefined) add(`kind IN (${filter.kinds.map(() => '?').join(', ')})`, ...filter.kinds)
  if (filter?.source !== undefined) add('source = ?', filter.source)
  if (filter?.timestampGte !== undefined) add('timestamp >= ?', filter.timestampGte)
  if (filter?.timestampLt !== undefined) add('timestamp < ?', filter.timestampLt)
  if (filter?.body !== undefined)
    add(`kind = 'MessageEvent' AND (size IS NULL OR instr(text, ?) > 0)`, filter.body.toLowerCase())
  if (filter?.text !== undefined) add('(size IS NULL OR instr(text, ?) > 0)', filter.text.toLowerCase())
  return { where: terms.join(''), values }
}

export const scanSql = (order: 'asc' | 'desc', where: string): string =>
  `SELECT seq, event, size FROM events WHERE ${RANGE}${where} ORDER BY seq ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`

/** As `scanSql`, without the events that need not be read. */
export const scanCountSql = (where: string): string =>
  `SELECT seq, iif(size IS NULL, event, '') AS event, size FROM events WHERE ${RANGE}${where}`

export type Scan = {
  order: 'asc' | 'desc'
  first: number
  last: number
  filter: EventFilter
}

/**
 * Yields the matching rows of a range of one log, one list per slice. The store may change between two slices.
 * @param limit rows at most; null counts all of them without reading their events
 */
export async function* scan(
  sql: Sql,
  conversation: number,
  { order, first, last, filter }: Scan,
  limit: number | null,
): AsyncGenerator<ScannedRow[]> {
  const { where, values } = filterSql(filter)
  const text = limit === null ? scanCountSql(where) : scanSql(order, where)
  let count = 256
  let left = limit
  let [low, high] = [first, last]
  while (low <= high && left !== 0) {
    const from = performance.now()
    const [a, b] = order === 'asc' ? [low, Math.min(high, low + count - 1)] : [Math.max(low, high - count + 1), high]
    const found = sql.all<Found>(text, conversation, a, b, ...values, ...(left === null ? [] : [left]))
    const matching = found.filter((row) => isMatch(row, filter))
    // Rows that the limit has cut off follow the last one found.
    const end = found.length === left ? found.at(-1)!.seq : order === 'asc' ? b : a
    if (left !== null) left -= matching.length
    yield matching
    if (order === 'asc') low = end + 1
    else high = end - 1
    const tookMs = performance.now() - from
    if (tookMs > SLICE_MS) count = Math.max(MIN_SLICE, count >> 1)
    else if (tookMs < SLICE_MS / 2) count = Math.min(MAX_SLICE, count << 1)
    if (low <= high && left !== 0) await setImmediate()
  }
}

/** A row without stored text is searched here. */
function isMatch({ event, size }: Found, filter: EventFilter): boolean {
  const sought = [filter.body, filter.text].filter((each) => each !== undefined)
  if (sought.length === 0 || size !== null) return true
  const text = derivedFrom(event).at(-1) as string | null
  return sought.every((each) => text?.includes(each.toLowerCase()) === true)
}
