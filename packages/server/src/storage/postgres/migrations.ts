/** Brings a database to the newest schema. */
import { ParleyError } from '@parley/protocol'
import type { Database, Sql } from './database.ts'
import { MIGRATIONS } from './schema.ts'

/** `min_reader`: the oldest schema whose version can still work with this one. */
const CLUSTER = `
  CREATE TABLE IF NOT EXISTS cluster (
    one integer PRIMARY KEY CHECK (one = 1),
    schema integer NOT NULL,
    min_reader integer NOT NULL
  );
  INSERT INTO cluster VALUES (1, 0, 0) ON CONFLICT DO NOTHING;
`

/** The oldest version that can work with the newest schema: those before it use a database alone. */
const MIN_READER = 2
/** Advisory lock of migrations: "PRLM". */
const MIGRATION_LOCK = 0x50524c4d
/** `server_version_num` of PostgreSQL 14. */
const OLDEST_SERVER = 140_000

/** What a database is. */
export type Server = { number: number; version: string; encoding: string; has_schema: boolean }

export const SERVER_SQL = `SELECT current_setting('server_version_num')::integer AS number,
  current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
  to_regclass('parley.cluster') IS NOT NULL AS has_schema`

/** Why a database cannot be used, and the remedy; null: it can. */
export function faultOf(server: Server | undefined): string | null {
  if (server === undefined) return 'gives no version'
  if (server.number < OLDEST_SERVER) return `is PostgreSQL ${server.version}; Parley needs PostgreSQL 14 or later`
  if (server.encoding === 'UTF8') return null
  return `has the encoding ${server.encoding}; create it with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`
}

type Cluster = { schema: number; min_reader: number }

/**
 * Migrates the database to the newest schema, all steps in one transaction. Of several servers that start at once, one migrates.
 * @throws ParleyError `unavailable` for an old server, another encoding than UTF-8, or a schema that a newer Parley wrote.
 */
export async function migrate(database: Database): Promise<void> {
  const refuse = (why: string) =>
    new ParleyError('unavailable', `database ${database.name} ${why}`, { details: { store: database.name } })
  const server = await database.read((sql) => sql.get<Server>(SERVER_SQL))
  const fault = faultOf(server)
  if (fault !== null) throw refuse(fault)
  const known = server?.has_schema === true ? await database.read(clusterOf) : undefined
  if (known?.schema === MIGRATIONS.length) return
  await database.write(async (sql) => {
    await sql.run('SELECT pg_advisory_xact_lock($1, 0)', MIGRATION_LOCK)
    await sql.run('CREATE SCHEMA IF NOT EXISTS parley')
    await sql.script(CLUSTER)
    // Read under the lock, because another server may have migrated meanwhile.
    const { schema, min_reader } = (await clusterOf(sql))!
    if (min_reader > MIGRATIONS.length)
      throw refuse(
        `has schema ${schema}, this Parley knows up to ${MIGRATIONS.length}: start the newer Parley that wrote it, or name another database`,
      )
    if (schema >= MIGRATIONS.length) return
    for (const step of MIGRATIONS.slice(schema)) await sql.script(step)
    await sql.run('UPDATE cluster SET schema = $1, min_reader = $2', MIGRATIONS.length, MIN_READER)
  })
}

const clusterOf = (sql: Sql): Promise<Cluster | undefined> => sql.get('SELECT schema, min_reader FROM cluster')
