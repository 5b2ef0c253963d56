/** An event as the columns of its row: its place, and what is searched or counted without parsing it. */
import { isTreeEvent, type StoredEvent } from '@parley/protocol'
import type { SQLInputValue } from 'node:sqlite'
import type { Sql } from './sql.ts'

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The stored form of an event id: 16 bytes for a canonical UUID, the text itself for anything else. */
export function packedId(id: string): SQLInputValue {
  return CANONICAL_UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : id
}

/** Bits of the column `flags`. */
const TREE = 1
const FAILED = 2
const HAS_IMAGES = 4

/** Characters of searchable text kept of an event that is not a message; outputs are long and repeat. */
const MAX_OTHER_TEXT = 8192

/** The columns that are computed from the event. They are null in rows of older versions until the backfill reaches them. */
export type DerivedColumns = readonly [
  /** Stored form of the parent's id, from which the row's `parent_seq` is looked up; null for a root or a control event. */
  parent: SQLInputValue,
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
    ...derivedColumns(event, json),
  ]
}

/** Bytes of events as they are stored. */
export const bytesOf = (events: readonly EventColumns[]): number => events.reduce((sum, columns) => sum + columns[8], 0)

/** The computed columns of an event, of which only the envelope is known. */
function derivedColumns(event: { kind: string }, json: string): DerivedColumns {
  const { parent_id, tool_name } = event as Shape
  return [
    typeof parent_id === 'string' ? packedId(parent_id) : null,
    typeof tool_name === 'string' ? tool_name : null,
    Buffer.byteLength(json),
    flagsOf(event as Shape),
    searchText(event as Shape),
  ]
}

/** As `derivedColumns`, from the stored text. A text that holds no event has its size only. */
export function derivedFrom(json: string): DerivedColumns {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return derivedColumns(value as { kind: string }, json)
  } catch {
    // The events of a conversation with such a row cannot be read either; the other columns stay empty.
  }
  return [null, null, Buffer.byteLength(json), 0, null]
}

/** The members of any kind of event that are read here; all may be absent or different in events of other servers. */
type Shape = {
  kind: string
  parent_id?: unknown
  tool_name?: unknown
  llm_message?: { content?: unknown; reasoning_content?: unknown } | null
  extended_content?: unknown
  thought?: unknown
  summary?: unknown
  tool_call?: { arguments?: unknown } | null
  observation?: { content?: unknown; is_error?: unknown } | null
  error?: unknown
  rejection_reason?: unknown
  detail?: unknown
}

function flagsOf(event: Shape): number {
  const parts = partsOf(event.llm_message?.content ?? event.observation?.content)
  const hasFailed =
    event.observation?.is_error === true || event.kind === 'AgentErrorEvent' || event.kind === 'ConversationErrorEvent'
  return (
    (isTreeEvent(event) ? TREE : 0) +
    (hasFailed ? FAILED : 0) +
    (parts.some(({ type }) => type === 'image') ? HAS_IMAGES : 0)
  )
}

/** The text in which a search finds an event, in lower case; texts of different members are on lines of their own. */
function searchText(event: Shape): string | null {
  const { llm_message, observation, tool_call } = event
  const texts =
    event.kind === 'MessageEvent'
      ? [...textsOf(llm_message?.content), ...textsOf(event.extended_content), llm_message?.reasoning_content]
      : [
          ...textsOf(event.thought),
          event.summary,
          tool_call?.arguments,
          ...textsOf(observation?.content),
          event.error,
          event.rejection_reason,
          event.detail,
        ]
  const joined = texts.filter((text): text is string => typeof text === 'string' && text !== '').join('\n')
  if (joined === '') return null
  return (event.kind === 'MessageEvent' ? joined : joined.slice(0, MAX_OTHER_TEXT)).toLowerCase()
}

const partsOf = (content: unknown): { type?: unknown; text?: unknown }[] =>
  Array.isArray(content) ? content.filter((part) => typeof part === 'object' && part !== null) : []

const textsOf = (content: unknown): unknown[] => partsOf(content).map(({ text }) => text)

export function insertEvents(sql: Sql, conversation: number, events: readonly EventColumns[]): void {
  for (const [seq, id, kind, source, timestamp, event, parent, tool, size, flags, text] of events) {
    sql.run(
      `INSERT INTO events (conversation, seq, id, kind, source, timestamp, event, parent_seq, tool, size, flags, text)
       VALUES (?, ?, ?, ?, ?, ?, ?, ${PARENT_SEQ}, ?, ?, ?, ?)`,
      conversation,
      seq,
      id,
      kind,
      source,
      timestamp,
      event,
      parent,
      conversation,
      tool,
      size,
      flags,
      text,
    )
  }
}

/** The seq of the event with an id in a conversation; null for an unknown one. */
export const PARENT_SEQ = '(SELECT parent.seq FROM events parent WHERE parent.id = ? AND parent.conversation = ?)'
