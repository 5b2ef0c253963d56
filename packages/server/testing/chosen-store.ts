/** Direct access to the store of a data directory, whichever of the two it has (see `store-choice.ts`). */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { chosenDatabase, databaseOf } from './store-choice.ts'

/** Runs a statement that both stores understand, with `?` for values; resolves with its rows. */
export async function queryStore<Row = Record<string, unknown>>(
  dataDir: string,
  text: string,
  ...values: SQLInputValue[]
): Promise<Row[]> {
  const database = await databaseOf(dataDir)
  if (database === null) {
    using store = new DatabaseSync(join(dataDir, 'parley.db'), { timeout: 5_000 })
    return store.prepare(text).all(...values) as unknown[] as Row[]
  }
  let at = 0
  return database.query(
    text.replaceAll('?', () => `$${++at}`),
    ...values,
  )
}

const REFUSE_SQL = `CREATE OR REPLACE FUNCTION parley.refuse_writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: no space left on device' USING ERRCODE = 'disk_full';
  END $$;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley' LOOP
      EXECUTE format('CREATE TRIGGER refuses BEFORE INSERT OR UPDATE OR DELETE ON parley.%I EXECUTE FUNCTION parley.refuse_writes()', name);
    END LOOP;
  END $$`
const ACCEPT_SQL = 'DROP FUNCTION parley.refuse_writes() CASCADE'

/** The store accepts no write until disposal: the file is locked, or every statement fails as on a full disk. */
export async function refuseWrites(dataDir: string): Promise<AsyncDisposable> {
  const database = await databaseOf(dataDir)
  if (database === null) {
    const lock = new DatabaseSync(join(dataDir, 'parley.db'), { timeout: 10_000 })
    lock.exec('BEGIN IMMEDIATE')
    return { [Symbol.asyncDispose]: async () => lock.close() }
  }
  await database.query(REFUSE_SQL)
  return { [Symbol.asyncDispose]: async () => void (await database.query(ACCEPT_SQL)) }
}

/** All bytes of the store as one text, without what is kept in other files. */
export async function storedText(dataDir: string): Promise<string> {
  const database = await databaseOf(dataDir)
  if (database === null) {
    const names = (await readdir(dataDir)).filter((name) => name.startsWith('parley.db'))
    return (await Promise.all(names.map((name) => readFile(join(dataDir, name), 'latin1')))).join('\n')
  }
  const tables = await database.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'parley'",
  )
  const rows = await Promise.all(
    tables.map(({ name }) => database.query<{ row: string }>(`SELECT t::text AS row FROM parley.${name} t`)),
  )
  return rows.flatMap((each) => each.map(({ row }) => row)).join('\n')
}

/** Numbers of rows that name a user as their user or owner, by table; without tables that have none. */
export async function rowsOfUser(dataDir: string, user: string): Promise<Record<string, number>> {
  const isSqlite = (await chosenDatabase(dataDir)) === null
  const columns = await queryStore<{ table: string; column: string }>(
    dataDir,
    isSqlite
      ? `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND c.name IN ('user', 'owner')`
      : `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
         WHERE table_schema = 'parley' AND column_name IN ('user_name', 'owner')`,
  )
  const counts: Record<string, number> = {}
  for (const { table, column } of columns) {
    const [count] = await queryStore<{ n: number }>(
      dataDir,
      `SELECT count(*) AS n FROM ${table} WHERE ${column} = ?`,
      user,
    )
    if (count!.n > 0) counts[table] = count!.n
  }
  return counts
}
