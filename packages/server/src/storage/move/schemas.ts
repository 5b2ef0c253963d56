/** The tables of the two stores, as they are. */
import type { Sql as Postgres } from '../postgres/database.ts'
import type { Sql as Sqlite } from '../sqlite/sql.ts'
import type { Tables } from './plan.ts'

type Listed = { table: string; column: string; type: string }

const SQLITE_SQL = `SELECT t.name AS "table", c.name AS "column", '' AS type FROM sqlite_schema t, pragma_table_info(t.name) c
  WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY t.rowid, c.cid`
const POSTGRES_SQL = `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE c.relnamespace = 'parley'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY c.oid, a.attnum`

export const sqliteTables = (sql: Sqlite): Tables => tablesOf(sql.all<Listed>(SQLITE_SQL))

export const postgresTables = async (sql: Postgres): Promise<Tables> => tablesOf(await sql.all<Listed>(POSTGRES_SQL))

function tablesOf(rows: readonly Listed[]): Tables {
  const tables = new Map<string, Map<string, string>>()
  for (const { table, column, type } of rows) {
    const columns = tables.get(table) ?? new Map<string, string>()
    tables.set(table, columns.set(column, type))
  }
  return tables
}
