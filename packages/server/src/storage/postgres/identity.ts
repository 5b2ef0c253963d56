/**
 * Notices that a database was restored from a backup. Executors refuse an owner with an older epoch than they have seen, and the epochs of a
 * backup are older, so all are raised then, and so are the numbers of changes. Source: docs/operations.md, Backups of a database.
 */
import type { Database, Sql } from './database.ts'
import { isLost } from './failures.ts'
import { raiseFeeds } from './feed.ts'

/** Of the server, of its history (a recovery to a point in time and a promotion begin a new one), and of the tables. */
const IDENTITY_SQL = `SELECT concat_ws('/', s.system_identifier, c.timeline_id, 'parley.cluster'::regclass::oid::text) AS identity
  FROM pg_control_system() s, pg_control_checkpoint() c`
const KNOWN_SQL = 'SELECT identity FROM cluster'
/** "PRLY": a node that is alive holds such a lock. After a promotion nodes are alive, and continue with their epochs. */
const IN_USE_SQL = `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${0x50524c59} AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS is_used`
/** "PRLE": one process at a time raises epochs. */
const LOCK_SQL = `SELECT pg_advisory_xact_lock(${0x50524c45}, 0)`
/** More than any conversation had owners since a backup. A number of JavaScript holds two million such steps. */
const STEP = 2 ** 32
const SLICE = 10_000

/** Raises all epochs if the database was restored since the last start and no node is alive. True when they were raised. */
export async function raiseEpochsOfRestored(database: Database): Promise<boolean> {
  const isKnown = (known: string | null, identity: string | null) => identity === null || known === identity
  const identity = await identityOf(database)
  if (isKnown(await database.read(knownOf), identity)) return false
  return database.write(async (sql) => {
    await sql.run(LOCK_SQL)
    const known = await knownOf(sql)
    if (isKnown(known, identity)) return false
    if (known !== null && (await sql.get<{ is_used: boolean }>(IN_USE_SQL))!.is_used) return false
    if (known !== null) await raiseAll(sql)
    await sql.run('UPDATE cluster SET identity = $1', identity)
    return known !== null
  })
}

/** Null when the role may not read it. */
async function identityOf(database: Database): Promise<string | null> {
  try {
    return (await database.read((sql) => sql.get<{ identity: string }>(IDENTITY_SQL)))?.identity ?? null
  } catch (error) {
    if (isLost(error)) throw error
    return null
  }
}

const knownOf = async (sql: Sql): Promise<string | null> =>
  (await sql.get<{ identity: string | null }>(KNOWN_SQL))?.identity ?? null

/** In slices, because a statement has a time limit. */
async function raiseAll(sql: Sql): Promise<void> {
  await raiseFeeds(sql)
  const { newest } = (await sql.get<{ newest: number }>('SELECT coalesce(max(n), 0) AS newest FROM conversations'))!
  for (let after = 0; after < newest; after += SLICE)
    await sql.run('UPDATE conversations SET epoch = epoch + $1 WHERE n > $2 AND n <= $3', STEP, after, after + SLICE)
}
