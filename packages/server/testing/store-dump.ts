/** Everything that a SQLite store contains, to compare before and after. */
import { DatabaseSync } from 'node:sqlite'

/** Numbers that nothing refers to, and what is left to compute. */
const IGNORED: Readonly<Record<string, readonly string[]>> = { events: ['n'], notes: ['n'] }
const LEFT_OUT = new Set(['event_backfill'])

export type StoreDump = Record<string, string[]>

/** The rows of each table as text, in an order of their own, with the numbers that were given to rows. */
export function dumpStore(path: string): StoreDump {
  using database = new DatabaseSync(path, { readOnly: true })
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all()
  return Object.fromEntries(
    tables
      .map(({ name }) => String(name))
      .filter((name) => !LEFT_OUT.has(name) && !/^sqlite_(?!sequence)/.test(name))
      .map((name) => [name, rowsOf(database, name)]),
  )
}

function rowsOf(database: DatabaseSync, table: string): string[] {
  const rows = database.prepare(`SELECT * FROM "${table}"`).all()
  return rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => IGNORED[table]?.includes(name) !== true)
          .map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value]),
      ),
    )
    .toSorted()
}
