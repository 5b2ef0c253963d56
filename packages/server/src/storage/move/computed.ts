/** Columns that one store computes from others, in its own form. */
import type { SQLInputValue } from 'node:sqlite'
import { packedId as postgresId } from '../postgres/event-rows.ts'
import type { SqlValue } from '../postgres/database.ts'
import { digestOf, namedIn } from '../postgres/workspaces.ts'
import { computedFrom } from '../shared/event-columns.ts'
import { isComplete } from '../shared/outline.ts'
import { derivedFrom, packedId as sqliteId } from '../sqlite/event-columns.ts'

/** A row of any table, by the names of its own store. */
export type Row = Readonly<Record<string, unknown>>

type Computed<Value, Context extends unknown[]> = {
  columns: readonly string[]
  of: (row: Row, ...context: Context) => Record<string, Value>
}

/** For a table without computed columns. */
export const NOTHING = { columns: [], of: (): Record<string, never> => ({}) } as const

/** By table: columns of PostgreSQL, from a row of SQLite. */
export const COMPUTED_BY_POSTGRES: Readonly<Record<string, Computed<SqlValue, []>>> = {
  records: {
    columns: ['working_dir', 'worktree_source'],
    of: ({ record }) => {
      const [working_dir, worktree_source] = namedIn(String(record))
      return { working_dir, worktree_source }
    },
  },
  made_workspaces: { columns: ['root_digest'], of: ({ root }) => ({ root_digest: digestOf(String(root)) }) },
  conversation_files: { columns: ['size'], of: ({ text }) => ({ size: Buffer.byteLength(String(text)) }) },
  events: {
    columns: ['id', 'parent_seq', 'refers_seq', 'tool', 'size', 'flags', 'text'],
    of: ({ id, event, parent_seq, refers_seq, tool, size, flags, text }) => {
      const packed = typeof id === 'string' ? postgresId(id) : Buffer.from(id as Uint8Array)
      const known = { parent_seq, refers_seq, tool, size, flags, text } as Record<string, SqlValue>
      if (isComplete({ flags: flags as number | null })) return { id: packed, ...known }
      // A row of an older version, which the backfill has not reached: the outline fills it.
      const computed = computedFrom(String(event))
      return { id: packed, ...known, size: computed.size, text: computed.text, flags: null }
    },
  },
}

/** The seq of the event with a packed id in a conversation; null for an unknown one. */
type SeqOf = (id: SQLInputValue, conversation: number) => number | null

/** By table: columns of SQLite, from a row of PostgreSQL. */
export const COMPUTED_BY_SQLITE: Readonly<Record<string, Computed<SQLInputValue, [SeqOf]>>> = {
  events: {
    columns: ['id', 'parent_seq', 'refers_seq', 'tool', 'size', 'flags', 'text'],
    of: ({ conversation, id, event }, seqOf) => {
      const [parent, refers, tool, size, flags, text] = derivedFrom(String(event))
      const seqOr = (named: SQLInputValue) => (named === null ? null : seqOf(named, Number(conversation)))
      const [parent_seq, refers_seq] = [seqOr(parent), seqOr(refers)]
      return { id: unpackedId(id as Buffer, String(event)), parent_seq, refers_seq, tool, size, flags, text }
    },
  },
}

/** The id of an event in the form of SQLite. PostgreSQL has a digest of an id that is no UUID, so that one is read from the event. */
function unpackedId(packed: Buffer, event: string): SQLInputValue {
  if (packed.length === UUID_BYTES) return packed
  try {
    const { id } = JSON.parse(event) as { id?: unknown }
    if (typeof id === 'string' && postgresId(id).equals(packed)) return sqliteId(id)
  } catch {
    // A damaged event: no request finds it by its id.
  }
  return packed
}

const UUID_BYTES = 16
