/** Rows for every table of a SQLite store, from its schema, so that a new column has values too. */
import type { EventId } from '@parley/protocol'
import { eventColumns, insertEvents } from '../src/storage/sqlite/event-columns.ts'
import type { Sql } from '../src/storage/sqlite/sql.ts'
import { random, RandomHistory } from './random-history.ts'
import { message, numbered, otherEvent } from './store-fixtures.ts'

type Column = { name: string; type: string; notnull: 0 | 1 }

/** Texts that one of the stores writes in another form, or that a careless copy changes. */
const TEXTS = [
  '',
  'plain',
  'a\0b\0',
  '\u{10FFFF}\u{10FFFE}\u{10FFFF}',
  'NULL',
  '{1,"2"}',
  `"quoted" 'twice' \\x00\\`,
  ' \n\t ',
  '😀é\u{2028}',
]
/** Columns of any length. */
const LONG = new Set(['json', 'record', 'payload', 'info', 'detail'])
/** Filled by triggers, by `fillEvents`, or empty in a store without an older version. */
const LEFT_OUT = new Set(['events', 'event_backfill', 'secret_versions'])
/** Rows for each table that may have several. */
const ROWS = 7

/** Fills every table. */
export function fillTables(sql: Sql, seed: number): void {
  const next = random(seed)
  sql.exec('BEGIN')
  const tables = sql.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
  )
  let used = 0
  for (const table of tables) {
    if (LEFT_OUT.has(table.name)) continue
    const columns = sql.all<Column>('SELECT name, type, "notnull" FROM pragma_table_info(?)', table.name)
    const isSingle = table.sql.includes('CHECK')
    for (let row = 0; row < (isSingle ? 1 : ROWS); row++) {
      const values = columns.map(({ name, type, notnull }) => {
        used += 1
        if (isSingle && (name === 'n' || name === 'one')) return 1
        if (name === 'conversation') return row + 1
        if (notnull === 0 && name !== 'n' && next() < 0.3) return null
        if (type === 'REAL') return used + next()
        if (type === 'INTEGER') return integer(name, row, used)
        const text = `${TEXTS[Math.floor(next() * TEXTS.length)]}${used}`
        return LONG.has(name) && next() < 0.3 ? text.repeat(2_000) : text
      })
      const names = columns.map(({ name }) => `"${name}"`).join(', ')
      sql.run(`INSERT INTO "${table.name}" (${names}) VALUES (${columns.map(() => '?').join(', ')})`, ...values)
    }
  }
  fillEvents(sql, seed)
  // Numbers of deleted rows.
  sql.run('UPDATE sqlite_sequence SET seq = seq + 1000')
  sql.exec('COMMIT')
}

function integer(name: string, row: number, used: number): number {
  if (name === 'n') return row + 1
  if (/^(?:is_|held$|wants_)/.test(name)) return used % 2
  return ['bytes', 'last_seq', 'unproven_seq'].includes(name) ? Number.MAX_SAFE_INTEGER - used : used
}

/** Logs of conversations and of received ones, with an id that is no UUID, and a damaged event. */
function fillEvents(sql: Sql, seed: number): void {
  for (let log = 1; log <= ROWS; log++) {
    const { events } = new RandomHistory(seed * ROWS + log).grow(30)
    insertEvents(
      sql,
      log % 2 === 0 ? log : -log,
      events.map((event) => eventColumns(event)),
    )
  }
  const parent = `an id that is no UUID, ${'x'.repeat(3_000)}`
  const odd = [
    message('U+0000 \0', { id: parent as EventId }),
    message('reply', { parent_id: parent } as object),
    otherEvent('OtherEvent', { tool_name: 'other', parent_id: null }),
  ]
  insertEvents(
    sql,
    100,
    numbered(odd).map((event) => eventColumns(event)),
  )
  sql.run(`INSERT INTO events (conversation, seq, id, kind, timestamp, event, size, flags)
    VALUES (100, 4, x'00112233445566778899aabbccddeeff', 'MessageEvent', '', '{"id', 4, 128)`)
}
