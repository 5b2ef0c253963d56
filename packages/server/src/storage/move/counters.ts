/** Numbers that were given to rows, also to deleted ones. They are moved, because no number is ever used again. */
import type { Sql as Postgres } from '../postgres/database.ts'
import type { Sql as Sqlite } from '../sqlite/sql.ts'

/** Counters that are no identity column of the table of that name. */
const NOTES = 'notes'
const SECRET_VERSIONS = 'secret_versions'

const SQLITE_COUNTED = `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'`
/** The sequences of the schema, by the table whose column they number. */
const SEQUENCES = `SELECT c.relname AS "table", pg_get_serial_sequence('parley.' || quote_ident(c.relname), a.attname) AS sequence
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = 'parley'::regnamespace AND c.relkind = 'r' AND a.attidentity <> ''
  UNION ALL SELECT '${SECRET_VERSIONS}', 'parley.secret_version_numbers'`

type Sequence = { table: string; sequence: string }

/** Sets the numbers of a PostgreSQL store. @throws Error for numbered rows of SQLite without a sequence */
export async function moveCountersToPostgres(source: Sqlite, target: Postgres): Promise<void> {
  const sequences = await target.all<Sequence>(SEQUENCES)
  const known = new Set([NOTES, ...sequences.map(({ table }) => table)])
  const lost = source.all<{ name: string }>(SQLITE_COUNTED).filter(({ name }) => !known.has(name))
  if (lost.length > 0) throw new Error(`numbers without a sequence: ${lost.map(({ name }) => name).join(', ')}`)
  for (const { table, sequence } of sequences) {
    const newest = newestOf(source, table)
    await target.get('SELECT setval($1::text::regclass, $2, $3)', sequence, Math.max(1, newest), newest > 0)
  }
  await target.run('UPDATE note_counter SET newest = $1', newestOf(source, NOTES))
}

/** The highest number that a table of SQLite has given; 0: none. A table without a counter gives the next number after its rows. */
function newestOf(source: Sqlite, table: string): number {
  const counted = source.get<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?', table)
  return counted?.seq ?? source.get<{ n: number }>(`SELECT coalesce(max(rowid), 0) AS n FROM "${table}"`)!.n
}

/** Sets the numbers of a SQLite store. */
export async function moveCountersToSqlite(source: Postgres, target: Sqlite): Promise<void> {
  const counted = new Set(target.all<{ name: string }>(SQLITE_COUNTED).map(({ name }) => name))
  for (const { table, sequence } of await source.all<Sequence>(SEQUENCES)) {
    if (!counted.has(table)) continue
    const state = await source.get<{ newest: number }>(
      `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS newest FROM ${sequence}`,
    )
    setNewest(target, table, state!.newest)
  }
  const notes = await source.get<{ newest: number }>('SELECT newest FROM note_counter')
  setNewest(target, NOTES, notes?.newest ?? 0)
}

function setNewest(target: Sqlite, table: string, newest: number): void {
  target.run('DELETE FROM sqlite_sequence WHERE name = ?', table)
  if (newest > 0) target.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', table, newest)
}
