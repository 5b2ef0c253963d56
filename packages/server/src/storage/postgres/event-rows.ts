/** Events as rows of the table `events`. */
import { createHash } from 'node:crypto'
import type { StoredEvent } from '@parley/protocol'
import { type ComputedColumns, computedColumns, uuidBytes } from '../shared/event-columns.ts'
import type { Sql } from './database.ts'

/** The stored form of an event id: 16 bytes for a canonical UUID, 32 bytes of a digest for anything else, which may be long. */
export const packedId = (id: string): Buffer => uuidBytes(id) ?? createHash('sha256').update(id).digest()

export type EventRow = {
  seq: number
  id: Buffer
  kind: string
  source: string | null
  timestamp: string
  /** Bytes of the event. */
  size: number
  event: string
  /** What a search reads; null for an event that no search finds. */
  text: string | null
}

export function eventRow({ seq, event }: StoredEvent): EventRow {
  const json = JSON.stringify(event)
  const { id, kind, source, timestamp } = event
  return {
    seq,
    id: packedId(id),
    kind,
    source: source ?? null,
    timestamp,
    event: json,
    ...searched(kind, computedColumns(event, json)),
  }
}

/** The columns of a row that are computed from its event. */
export const searched = (
  kind: string,
  { size, text }: Pick<ComputedColumns, 'size' | 'text'>,
): Pick<EventRow, 'size' | 'text'> => ({
  size,
  text: kind === 'MessageEvent' ? text : null,
})

/** Bytes of events as they are stored. */
export const bytesOf = (rows: readonly EventRow[]): number => rows.reduce((sum, { size }) => sum + size, 0)

/** The columns of rows as arrays, in the order of `EVENT_ARRAYS`. */
export const arraysOf = (rows: readonly EventRow[]) =>
  [
    rows.map(({ seq }) => seq),
    rows.map(({ id }) => id),
    rows.map(({ kind }) => kind),
    rows.map(({ source }) => source),
    rows.map(({ timestamp }) => timestamp),
    rows.map(({ size }) => size),
    rows.map(({ event }) => event),
    rows.map(({ text }) => text),
  ] as const

export const EVENT_COLUMNS = 'seq, id, kind, source, timestamp, size, event, text'
/** Types of the arrays, with parameters from `$first` on. */
export const eventArrays = (first: number): string =>
  ['bigint', 'bytea', 'text', 'text', 'text', 'bigint', 'text', 'text']
    .map((type, index) => `$${first + index}::${type}[]`)
    .join(', ')

const INSERT_SQL = `INSERT INTO events (conversation, ${EVENT_COLUMNS}) SELECT $1, * FROM unnest(${eventArrays(2)})`
/** Rows of one statement, which bounds its size. */
const SLICE = 500

export async function insertEvents(sql: Sql, conversation: number, rows: readonly EventRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += SLICE)
    await sql.run(INSERT_SQL, conversation, ...arraysOf(rows.slice(at, at + SLICE)))
}
