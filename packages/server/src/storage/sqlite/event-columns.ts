/** An event as the columns of its row: its place, and what is searched or counted without parsing it. */
import type { StoredEvent } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import { type ComputedColumns, computedColumns, computedFrom, uuidBytes } from '../shared/event-columns.ts'
import type { Sql } from './sql.ts'

/** The stored form of an event id: 16 bytes for a canonical UUID, the text itself for anything else. */
export const packedId = (id: string): SQLInputValue => uuidBytes(id) ?? id

/** The columns that are computed from the event. They are null in rows of older versions until the backfill reaches them. */
export type DerivedColumns = readonly [
  /** Stored form of the parent's id, from which the row's `parent_seq` is looked up; null for a root or a control event. */
  parent: SQLInputValue,
  /** Stored form of the id of the event that this one is about, from which `refers_seq` is looked up. */
  refers: SQLInputValue,
  tool: string | null,
  /** Bytes of the event. */
  size: number,
  flags: number,
  /** Searchable text in lower case, from the masked event; null for an event without text. */
  text: string | null,
]

/** The columns of a row. They are computed before the transaction, so that the lock is held for writing only. */
export type EventColumns = readonly [
  seq: number,
  id: SQLInputValue,
  kind: string,
  source: string | null,
  timestamp: string,
  event: string,
  ...DerivedColumns,
]

export function eventColumns({ seq, event }: StoredEvent): EventColumns {
  const json = JSON.stringify(event)
  return [
    seq,
    packedId(event.id),
    event.kind,
    event.source ?? null,
    event.timestamp,
    json,
    ...derived(computedColumns(event, json)),
  ]
}

/** Bytes of events as they are stored. */
export const bytesOf = (events: readonly EventColumns[]): number => events.reduce((sum, columns) => sum + columns[9], 0)

/** The computed columns of a stored text; one that holds no event has its size only. */
export const derivedFrom = (json: string): DerivedColumns => derived(computedFrom(json))

const derived = ({ parent, refers, tool, size, flags, text }: ComputedColumns): DerivedColumns => [
  parent === null ? null : packedId(parent),
  refers === null ? null : packedId(refers),
  tool,
  size,
  flags,
  text,
]

export function insertEvents(sql: Sql, conversation: number, events: readonly EventColumns[]): void {
  for (const [seq, id, kind, source, timestamp, event, parent, refers, tool, size, flags, text] of events) {
    sql.run(
      `INSERT INTO events (conversation, seq, id, kind, source, timestamp, event, parent_seq, refers_seq, tool, size, flags, text)
       VALUES (?, ?, ?, ?, ?, ?, ?, ${SEQ_OF}, ${SEQ_OF}, ?, ?, ?, ?)`,
      conversation,
      seq,
      id,
      kind,
      source,
      timestamp,
      event,
      parent,
      conversation,
      refers,
      conversation,
      tool,
      size,
      flags,
      text,
    )
  }
}

/** The seq of the event with an id in a conversation; null for an unknown one. */
const SEQ_OF = '(SELECT named.seq FROM events named WHERE named.id = ? AND named.conversation = ?)'

/** Computes the columns of a stored row again. */
export function fillRow(
  sql: Sql,
  { n, conversation, event }: { n: number; conversation: number; event: string },
): void {
  const [parent, refers, ...columns] = derivedFrom(event)
  sql.run(
    `UPDATE events SET parent_seq = ${SEQ_OF}, refers_seq = ${SEQ_OF}, tool = ?, size = ?, flags = ?, text = ? WHERE n = ?`,
    parent,
    conversation,
    refers,
    conversation,
    ...columns,
    n,
  )
}
