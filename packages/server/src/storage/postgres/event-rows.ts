/** Events as rows of the table `events`. */
import { createHash } from 'node:crypto'
import type { StoredEvent } from '@parley/protocol'
import { type ComputedColumns, computedColumns, computedFrom, uuidBytes } from '../shared/event-columns.ts'
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
  /** What a search reads, in lower case; null for an event without text. */
  text: string | null
  tool: string | null
  flags: number
  parent: NamedEvent
  refers: NamedEvent
}

/** An event that another one names: its seq, if one insert writes both; otherwise its stored id. Both null: no event. */
type NamedEvent = { seq: number | null; id: Buffer | null }

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
    ...computedOf(computedColumns(event, json)),
  }
}

/** The columns of a row that are computed from its event. */
const computedOf = ({ parent, refers, ...columns }: ComputedColumns) => ({
  ...columns,
  parent: named(parent),
  refers: named(refers),
})

const named = (id: string | null): NamedEvent => ({ seq: null, id: id === null ? null : packedId(id) })

/** The rows of one insert, which name each other by seq. */
export function linked(rows: readonly EventRow[]): EventRow[] {
  const seqs = new Map(rows.map(({ id, seq }) => [id.toString('latin1'), seq]))
  const link = (event: NamedEvent): NamedEvent => {
    const seq = event.id === null ? undefined : seqs.get(event.id.toString('latin1'))
    return seq === undefined ? event : { seq, id: null }
  }
  return rows.map((row) => ({ ...row, parent: link(row.parent), refers: link(row.refers) }))
}

/** Bytes of events as they are stored. */
export const bytesOf = (rows: readonly EventRow[]): number => rows.reduce((sum, { size }) => sum + size, 0)

/** Columns of the arrays of rows, with their types. */
const ARRAYS = {
  seq: 'bigint',
  id: 'bytea',
  kind: 'text',
  source: 'text',
  timestamp: 'text',
  size: 'bigint',
  event: 'text',
  text: 'text',
  tool: 'text',
  flags: 'integer',
  parent_seq: 'bigint',
  parent_id: 'bytea',
  refers_seq: 'bigint',
  refers_id: 'bytea',
} as const
const NAMES = Object.keys(ARRAYS)

/** The columns of rows as arrays, in the order of `eventArrays`. */
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
    rows.map(({ tool }) => tool),
    rows.map(({ flags }) => flags),
    rows.map(({ parent }) => parent.seq),
    rows.map(({ parent }) => parent.id),
    rows.map(({ refers }) => refers.seq),
    rows.map(({ refers }) => refers.id),
  ] as const

/** Names of the arrays. */
export const ARRAY_COLUMNS = NAMES.join(', ')
/** The arrays with their types, with parameters from `$first` on. */
export const eventArrays = (first: number): string =>
  Object.values(ARRAYS)
    .map((type, index) => `$${first + index}::${type}[]`)
    .join(', ')

export const EVENT_COLUMNS = NAMES.filter((name) => !name.endsWith('_id')).join(', ')
/** The seq of the event that `x` names as its parent, or refers to, in the log of the number `n`. */
const lookup = (name: 'parent' | 'refers', n: string): string =>
  `(SELECT named.seq FROM events named WHERE named.id = x.${name}_id AND named.conversation = ${n})`
const seqOf = (name: 'parent' | 'refers', n: string): string => `coalesce(x.${name}_seq, ${lookup(name, n)})`
/** The values of `EVENT_COLUMNS` from the arrays `x`. */
export const eventValues = (n: string): string =>
  EVENT_COLUMNS.split(', ')
    .map((name) =>
      /^(?:parent|refers)_/.test(name) ? seqOf(name.startsWith('p') ? 'parent' : 'refers', n) : `x.${name}`,
    )
    .join(', ')

const INSERT_SQL = `INSERT INTO events (conversation, ${EVENT_COLUMNS})
  SELECT $1, ${eventValues('$1')} FROM unnest(${eventArrays(2)}) AS x (${ARRAY_COLUMNS})`
/** Rows of one statement, which bounds its size. */
const SLICE = 500

export async function insertEvents(sql: Sql, conversation: number, rows: readonly EventRow[]): Promise<void> {
  const all = linked(rows)
  for (let at = 0; at < all.length; at += SLICE)
    await sql.run(INSERT_SQL, conversation, ...arraysOf(all.slice(at, at + SLICE)))
}

const OLD_SQL = 'SELECT seq, event FROM events WHERE conversation = $1 AND seq = ANY($2::bigint[])'
const FILL_SQL = `UPDATE events e SET size = x.size, text = x.text, tool = x.tool, flags = x.flags,
    parent_seq = ${lookup('parent', '$1')}, refers_seq = ${lookup('refers', '$1')}
  FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::bytea[], $8::bytea[])
    AS x (seq, size, text, tool, flags, parent_id, refers_id)
  WHERE e.conversation = $1 AND e.seq = x.seq`

/** Computes the columns of rows of an older version, and stores them. */
export async function fillRows(sql: Sql, conversation: number, seqs: readonly number[]): Promise<void> {
  const found = await sql.all<{ seq: number; event: string }>(OLD_SQL, conversation, seqs)
  const rows = found.map(({ seq, event }) => ({ seq, ...computedOf(computedFrom(event)) }))
  await sql.run(
    FILL_SQL,
    conversation,
    rows.map(({ seq }) => seq),
    rows.map(({ size }) => size),
    rows.map(({ text }) => text),
    rows.map(({ tool }) => tool),
    rows.map(({ flags }) => flags),
    rows.map(({ parent }) => parent.id),
    rows.map(({ refers }) => refers.id),
  )
}
