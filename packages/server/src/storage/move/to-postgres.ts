/**
 * Moves the rows of a SQLite store into an empty PostgreSQL database. Source: docs/operations.md, Moving a store.
 *
 * Invariants
 *   M1. All rows arrive in one transaction, or none does.
 *   M2. No other process writes to the source meanwhile, and no server uses the target.
 *   M3. Rows are read and written in batches; a store of any size needs the memory of one batch.
 */
import { existsSync } from 'node:fs'
import { ParleyError } from '@parley/protocol'
import type { PlaceId } from '../contract/nodes.ts'
import { Database, type Sql as Postgres, type SqlValue } from '../postgres/database.ts'
import { migrate } from '../postgres/migrations.ts'
import { explained as explainedBySqlite } from '../sqlite/failures.ts'
import { connect } from '../sqlite/open.ts'
import type { Sql as Sqlite } from '../sqlite/sql.ts'
import { COMPUTED_BY_POSTGRES, NOTHING, type Row } from './computed.ts'
import { moveCountersToPostgres } from './counters.ts'
import { planOf, type TablePlan, type Tables } from './plan.ts'
import { fillPlaces } from './places.ts'
import { Progress, type MoveReport, type MoveStep } from './progress.ts'
import { postgresTables, sqliteTables } from './schemas.ts'
import { expectUnused, lockUnused } from './unused.ts'

export type ToPostgres = {
  /** File of the SQLite store, which is not changed, except that it gets the newest schema. */
  path: string
  /** Address of the database. */
  url: string
  /** The data directory of the store. */
  place: PlaceId
  progress: (step: MoveStep) => void
}

/** Rows and characters of one statement. */
const MAX_ROWS = 500
const MAX_CHARS = 1024 * 1024

/**
 * Copies every row of the store at `path`, which no server uses, into the database.
 * @throws ParleyError `not_found` without a store, `conflict` when the store or the database is in use, or the database is not empty;
 * `unavailable`. Nothing is changed then, except that the database may have empty tables.
 */
export async function moveToPostgres({ path, url, place, progress }: ToPostgres): Promise<MoveReport> {
  const source = openSource(path)
  const database = new Database(url)
  try {
    await migrate(database)
    return await database.once(
      (target) => fill(source, target, { name: database.name, place }, new Progress(progress)),
      {
        inTransaction: true,
      },
    )
  } catch (error) {
    throw explainedBySqlite(database.explained(error), path)
  } finally {
    source.database.close()
    await database.close()
  }
}

/** The store as one file, which no other process opens until the connection is closed (M2). */
function openSource(path: string): Sqlite {
  if (!existsSync(path))
    throw new ParleyError('not_found', `there is no store ${path}; name the data directory of a server with --data-dir`)
  let sql: Sqlite | undefined
  try {
    sql = connect(path)
    sql.get('PRAGMA journal_mode = DELETE')
    sql.exec('BEGIN EXCLUSIVE')
    return sql
  } catch (error) {
    sql?.database.close()
    throw explainedBySqlite(error, path)
  }
}

async function fill(
  source: Sqlite,
  target: Postgres,
  { name, place }: { name: string; place: PlaceId },
  progress: Progress,
): Promise<MoveReport> {
  await lockUnused(target, name)
  await target.run('SET LOCAL statement_timeout = 0')
  const [from, to] = [sqliteTables(source), await postgresTables(target)]
  const plans = planOf(from, to)
  for (const { table } of plans) await expectEmpty(target, table, name)
  for (const plan of plans) await copyTable(source, target, { plan, from, to }, progress)
  await fillPlaces(target, place)
  await moveCountersToPostgres(source, target)
  for (const { table } of plans) await target.script(`ANALYZE ${table}`)
  await expectUnused(target, name)
  return progress.report
}

async function expectEmpty(target: Postgres, table: string, name: string): Promise<void> {
  if ((await target.get(`SELECT 1 FROM ${table} LIMIT 1`)) === undefined) return
  throw new ParleyError(
    'conflict',
    `database ${name} is not empty: its table ${table} has rows. Name an empty database; if its data is not needed, ` +
      'run in it: DROP SCHEMA parley CASCADE',
    { details: { store: name } },
  )
}

type Copying = { plan: TablePlan; from: Tables; to: Tables }

async function copyTable(source: Sqlite, target: Postgres, { plan, from, to }: Copying, progress: Progress) {
  const { table, twins } = plan
  const computed = COMPUTED_BY_POSTGRES[table] ?? NOTHING
  const columns = [...twins.map(({ postgres }) => postgres), ...computed.columns]
  const types = columns.map((column, index) => `$${index + 1}::${to.get(table)!.get(column)!}[]`)
  const text = `INSERT INTO ${table} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${types.join(', ')})`
  const insert = async (rows: readonly Row[]) => {
    const arrays = [
      ...twins.map(({ sqlite, type }) => rows.map((row) => postgresValue(row[sqlite], type))),
      ...valuesOf(
        computed.columns,
        rows.map((row) => computed.of(row)),
      ),
    ]
    await target.run(text, ...arrays)
    progress.add(rows.length)
  }
  // Triggers of other tables have written rows.
  await target.run(`DELETE FROM ${table}`)
  progress.begin(table, source.get<{ n: number }>(`SELECT count(*) AS n FROM "${table}"`)!.n)
  let batch: Row[] = []
  let chars = 0
  for (const row of source.iterate<Row>(selectOf(plan, from.get(table)!))) {
    batch.push(row)
    for (const value of Object.values(row)) chars += typeof value === 'string' ? value.length : 0
    if (batch.length < MAX_ROWS && chars < MAX_CHARS) continue
    await insert(batch)
    batch = []
    chars = 0
  }
  if (batch.length > 0) await insert(batch)
  progress.end()
}

/** Events in the order of their logs, and other rows in the order of their numbers. */
function selectOf({ table, twins }: TablePlan, columns: ReadonlyMap<string, string>): string {
  const names = new Set([...columns.keys(), ...twins.map(({ sqlite }) => sqlite)])
  const order = columns.has('conversation') && columns.has('seq') ? 'conversation, seq' : '1'
  return `SELECT ${[...names].map((name) => `"${name}" AS "${name}"`).join(', ')} FROM "${table}" ORDER BY ${order}`
}

type Item = string | number | boolean | null | Buffer

const valuesOf = (columns: readonly string[], rows: readonly Record<string, SqlValue>[]): Item[][] =>
  columns.map((column) => rows.map((row) => row[column] as Item))

const postgresValue = (value: unknown, type: string): Item => {
  if (type === 'boolean' && value !== null) return value === 1
  return value instanceof Uint8Array ? Buffer.from(value) : (value as Item)
}
