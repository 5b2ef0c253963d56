/**
 * Replaces the sealed texts of a store in one transaction. Source: docs/operations.md, Replacing the sealing key.
 *
 * Invariants
 *   Z1. All texts and the test value of the key change together, or nothing changes.
 *   Z2. Every text column of every table is searched, so that a new table is not forgotten.
 *   Z3. After `compactStore`, the file contains nothing that was replaced or deleted, before or by this.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SealTest } from '../contract/directory.ts'
import { explained } from './failures.ts'
import { connect } from './open.ts'
import { PUT_SEAL_TEST_SQL } from './seal-test.ts'
import type { Sql } from './sql.ts'

export type Resealing = {
  /** True for a text that is to be replaced. */
  isAffected: (text: string) => boolean
  text: (text: string) => string
  /** For the JSON of settings, documents and records. */
  record: (json: string) => string
  /** The test value of the new key, and its salt. */
  test: SealTest
  /** Called after each table, with its name, and with null after the commit. */
  progress: (table: string | null) => void
}

/** Columns with the JSON of records that may contain keys of models. */
const RECORDS: ReadonlySet<string> = new Set([
  'settings.json',
  'documents.json',
  'records.record',
  'owed_releases.record',
])
const TEST = 'seal_test'

/**
 * Replaces the sealed texts of the store at `path`, which no server uses.
 * @throws ParleyError `unavailable` when the store is locked, damaged, of another program or of a newer Parley. Nothing is changed then.
 */
export const resealStore = (path: string, resealing: Resealing): void =>
  withStore(path, (sql) => replaceAll(sql, resealing))

/**
 * Writes the store anew, without the space of deleted and replaced rows. Needs as much free space as the store has bytes.
 * @throws ParleyError `unavailable`; the store is unchanged then.
 */
export const compactStore = (path: string): void =>
  withStore(path, ({ database }) => database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)'))

function withStore(path: string, work: (sql: Sql) => void): void {
  let sql: Sql | undefined
  try {
    sql = connect(path)
    work(sql)
  } catch (error) {
    throw explained(error, path)
  } finally {
    sql?.database.close()
  }
}

function replaceAll(sql: Sql, { isAffected, text, record, test, progress }: Resealing): void {
  const { database } = sql
  define(database, 'is_affected', (value) => (isAffected(value) ? 1 : 0))
  define(database, 'resealed_text', text)
  define(database, 'resealed_record', record)
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const { table, columns } of textColumns(sql)) {
      for (const column of columns) {
        const change = RECORDS.has(`${table}.${column}`) ? 'resealed_record' : 'resealed_text'
        database.exec(`UPDATE "${table}" SET "${column}" = ${change}("${column}")
          WHERE typeof("${column}") = 'text' AND instr("${column}", 'v1:') > 0 AND is_affected("${column}")`)
      }
      progress(table)
    }
    sql.run(PUT_SEAL_TEST_SQL, test.sealed, test.salt)
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
  progress(null)
}

const define = (database: DatabaseSync, name: string, body: (text: string) => string | number): void =>
  database.function(name, { directOnly: true }, (value) => body(String(value)))

/** The tables with text columns, without the test value of the key. */
function textColumns(sql: Sql): { table: string; columns: string[] }[] {
  const rows = sql.all<{ table: string; column: string }>(
    `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND t.name <> '${TEST}' AND c.type = 'TEXT'
     ORDER BY t.rowid, c.cid`,
  )
  const tables = [...new Set(rows.map(({ table }) => table))]
  return tables.map((table) => ({
    table,
    columns: rows.filter((row) => row.table === table).map(({ column }) => column),
  }))
}
