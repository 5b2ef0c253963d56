/** Databases for tests. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresServer } from './postgres-server.ts'

export type TestDatabase = AsyncDisposable & {
  readonly url: string
  /** Runs a statement on a connection of its own. */
  query<Row>(text: string, ...values: unknown[]): Promise<Row[]>
}

/** Deletes all rows; triggers and foreign keys would make it slow. */
const EMPTY_SQL = `SET session_replication_role = replica;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley' AND tablename <> 'cluster' LOOP
      EXECUTE format('DELETE FROM parley.%I', name);
    END LOOP;
    IF to_regclass('parley.note_counter') IS NOT NULL THEN INSERT INTO parley.note_counter VALUES (1, 0); END IF;
  END $$`

/** Databases of the tests' own server that no test uses. Creating one takes longer than a test. */
const free: string[] = []

/** An empty database, which is removed with its scope or used again. `isNew`: no store was ever in it. */
export async function testDatabase({ isNew = false } = {}): Promise<TestDatabase> {
  const server = await postgresServer()
  const url = (isNew ? undefined : free.pop()) ?? (await createDatabase(server.url))
  return {
    url,
    query: (text, ...values) => ask(url, text, values),
    async [Symbol.asyncDispose]() {
      if (server.isOwn && !isNew) {
        await ask(url, EMPTY_SQL)
        free.push(url)
      } else await ask(server.url, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
  }
}

async function createDatabase(server: string): Promise<string> {
  const name = `parley_test_${randomBytes(8).toString('hex')}`
  await ask(server, `CREATE DATABASE ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return String(url)
}

const BIGINT = 20
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === BIGINT ? Number : (pg.types.getTypeParser(oid, format as 'text') as (text: string) => unknown),
}

async function ask<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=parley,public', types })
  await client.connect()
  try {
    return (await (values.length === 0 ? client.query(text) : client.query(text, values))).rows as Row[]
  } finally {
    await client.end()
  }
}
