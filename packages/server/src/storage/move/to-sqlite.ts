/**
 * Moves the rows of a store in a PostgreSQL database into a new SQLite file. Source: docs/operations.md, Moving a store.
 *
 * Invariants
 *   M1. All rows arrive, and then the schema `parley` gets another name; or neither happens.
 *   M2. No server uses the database meanwhile.
 *   M3. Rows are read and written in batches; a store of any size needs the memory of one batch.
 */
import { open } from 'node:fs/promises'
import type { SQLInputValue } from 'node:sqlite'
import { ParleyError } from '@parley/protocol'
import type { SealTestStore } from '../contract/directory.ts'
import type { PlaceId } from '../contract/nodes.ts'
import { Database, type Sql as Postgres } from '../postgres/database.ts'
import { migrate } from '../postgres/migrations.ts'
import { postgresSealTest } from '../postgres/seal-test.ts'
import { explained as explainedBySqlite } from '../sqlite/failures.ts'
import { connect } from '../sqlite/open.ts'
import type { Sql as Sqlite } from '../sqlite/sql.ts'
import { COMPUTED_BY_SQLITE, NOTHING, type Row } from './computed.ts'
import { moveCountersToSqlite } from './counters.ts'
import { planOf, type TablePlan, type Tables } from './plan.ts'
import { clearPlace, placeCondition } from './places.ts'
import { Progress, type MoveReport, type MoveStep } from './progress.ts'
import { postgresTables, sqliteTables } from './schemas.ts'
import { expectUnused, lockUnused } from './unused.ts'

export type ToSqlite = {
  /** Address of the database. */
  url: string
  /** The new file, which must not exist. */
  path: string
  /** The data directory of the new file. */
  place: PlaceId
  /** New name of the schema when everything has been moved. */
  schema: string
  /** Checks the sealing key before anything is written. */
  expectKey: (test: SealTestStore) => Promise<void>
  progress: (step: MoveStep) => void
  /** Called when the file is complete; what it throws undoes the move. */
  complete: () => Promise<void>
}

/** Rows of one answer. */
const FETCHED = 100

/**
 * Copies every row of the database into the new file, and renames the schema of the database.
 * @throws ParleyError `not_found` when the database has no store, `conflict` when a server uses it, `unavailable`; what `expectKey` and
 * `complete` throw. The database is unchanged then, except that it has the newest schema; the file may exist.
 */
export async function moveToSqlite({ url, ...moving }: ToSqlite): Promise<MoveReport> {
  const database = new Database(url)
  try {
    await expectStore(database)
    await migrate(database)
    await moving.expectKey(postgresSealTest(database))
    return await database.once((source) => readAll(source, database.name, moving), { inTransaction: true })
  } catch (error) {
    throw explainedBySqlite(database.explained(error), moving.path)
  } finally {
    await database.close()
  }
}

async function expectStore(database: Database): Promise<void> {
  const text = "SELECT to_regclass('parley.cluster') IS NOT NULL AS has_store"
  const found = await database.read((sql) => sql.get<{ has_store: boolean }>(text))
  if (found?.has_store === true) return
  throw new ParleyError('not_found', `database ${database.name} has no store of Parley: check its name`, {
    details: { store: database.name },
  })
}

async function readAll(source: Postgres, name: string, moving: Omit<ToSqlite, 'url'>): Promise<MoveReport> {
  await source.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  await lockUnused(source, name)
  await source.run('SET LOCAL statement_timeout = 0')
  const progress = new Progress(moving.progress)
  await writeFile(source, moving, progress)
  await expectUnused(source, name)
  await source.script(`ALTER SCHEMA parley RENAME TO ${moving.schema}`)
  await moving.complete()
  return progress.report
}

async function writeFile(
  source: Postgres,
  { path, place }: Pick<ToSqlite, 'path' | 'place'>,
  progress: Progress,
): Promise<void> {
  // SQLite gives its side files the mode of the file.
  await (await open(path, 'wx', 0o600)).close()
  const target = connect(path)
  try {
    const [from, to] = [await postgresTables(source), sqliteTables(target)]
    target.exec('BEGIN IMMEDIATE')
    for (const plan of planOf(to, from)) await copyTable(source, target, { plan, from, place }, progress)
    clearPlace(target, place)
    await moveCountersToSqlite(source, target)
    target.exec('COMMIT')
    // A single file: no write-ahead log stays beside it.
    target.get('PRAGMA journal_mode = DELETE')
  } finally {
    target.database.close()
  }
}

type Copying = { plan: TablePlan; from: Tables; place: PlaceId }

async function copyTable(
  source: Postgres,
  target: Sqlite,
  { plan, from, place }: Copying,
  progress: Progress,
): Promise<void> {
  const { table, twins } = plan
  const computed = COMPUTED_BY_SQLITE[table] ?? NOTHING
  const columns = [...twins.map(({ sqlite }) => sqlite), ...computed.columns]
  const text = `INSERT INTO "${table}" (${columns.map((name) => `"${name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  const seqOf = (id: SQLInputValue, conversation: number) =>
    target.get<{ seq: number }>('SELECT seq FROM events WHERE id = ? AND conversation = ?', id, conversation)?.seq ??
    null
  const insert = (row: Row) => {
    const own = computed.of(row, seqOf)
    const values = [
      ...twins.map(({ postgres }) => sqliteValue(row[postgres])),
      ...computed.columns.map((column) => own[column]!),
    ]
    target.run(text, ...values)
  }
  // Triggers of other tables have written rows.
  target.run(`DELETE FROM "${table}"`)
  // A cursor takes no values, and an id has no characters that would end the text.
  const condition = placeCondition(table)?.replace('$1', `'${place.replaceAll("'", "''")}'`)
  const rows = condition === undefined ? table : `${table} WHERE ${condition}`
  progress.begin(table, (await source.get<{ n: number }>(`SELECT count(*) AS n FROM ${rows}`))!.n)
  const cursor = `moved_${table}`
  await source.script(
    `DECLARE ${cursor} NO SCROLL CURSOR FOR ${await selectOf(source, { table, rows }, from.get(table)!)}`,
  )
  for (;;) {
    const fetched = await source.all<Row>(`FETCH FORWARD ${FETCHED} FROM ${cursor}`)
    if (fetched.length === 0) break
    for (const row of fetched) insert(row)
    progress.add(fetched.length)
  }
  await source.script(`CLOSE ${cursor}`)
  progress.end()
}

/** Rows in the order of the primary key: logs in the order of `seq`, numbered rows in that of their numbers. */
async function selectOf(
  source: Postgres,
  { table, rows }: { table: string; rows: string },
  columns: ReadonlyMap<string, string>,
): Promise<string> {
  const key = await source.all<{ name: string }>(
    `SELECT a.attname AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
     WHERE i.indrelid = $1::text::regclass AND i.indisprimary ORDER BY array_position(i.indkey::smallint[], a.attnum)`,
    `parley.${table}`,
  )
  return `SELECT ${[...columns.keys()].join(', ')} FROM ${rows} ORDER BY ${key.map(({ name }) => name).join(', ')}`
}

function sqliteValue(value: unknown): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue)
}
