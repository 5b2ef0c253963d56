/** Checks of a database for `parley doctor`, which change nothing in it. */
import { ParleyError } from '@parley/protocol'
import pg from 'pg'
import { nameOf } from './database.ts'
import { explained, QueryFailure } from './failures.ts'
import { faultOf, type Server, SERVER_SQL } from './migrations.ts'
import { POOLER_REMEDY, sharesSessions } from './pooler.ts'

const USERS_SQL = 'SELECT DISTINCT user_name AS name FROM parley.keys ORDER BY user_name'
/** True when commits wait for a synchronous standby. */
export const HAS_STANDBY = `current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')`
/** "PRLY": the class of the locks that nodes hold. */
const NODES = 0x50524c59
/** `may_write`: creates the schema, or owns what is in it. */
const FACTS_SQL = `SELECT current_user AS role, pg_is_in_recovery() AS is_standby,
  CASE WHEN to_regnamespace('parley') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege('parley', 'CREATE') AND NOT EXISTS (
      SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('parley') AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE'))
  END AS may_write,
  ${HAS_STANDBY} AS has_synchronous_standby,
  (SELECT count(DISTINCT objid) > 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${NODES} AND objid > 0 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS has_several_nodes,
  extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms`

export type DatabaseFacts = {
  /** Host, port and name. */
  name: string
  version: string
  /** Users with keys. */
  users: string[]
}

/** A fact that a start, or several nodes, need. `remedy` null: it is as it should be. */
export type DatabaseFinding = { level: 'ok' | 'warn' | 'fail'; says: string; remedy: string | null }

type Facts = {
  role: string
  is_standby: boolean
  may_write: boolean
  has_synchronous_standby: boolean
  has_several_nodes: boolean
  now_ms: number
}

/** Milliseconds by which the clocks of this machine and of the database may differ: signatures and requests between nodes allow minutes. */
const MAX_CLOCK_DIFFERENCE_MS = 10_000

/** @throws ParleyError `unavailable` with the remedy. */
export async function probeDatabase(url: string): Promise<DatabaseFacts> {
  return withClient(url, async (client, server) => {
    const users = server.has_schema ? (await client.query<{ name: string }>(USERS_SQL)).rows : []
    return { name: nameOf(url), version: server.version, users: users.map((row) => row.name) }
  })
}

/** What is to be known besides `probeDatabase`. @throws ParleyError `unavailable` with the remedy. */
export async function examineDatabase(url: string): Promise<DatabaseFinding[]> {
  const pooled = await sharesSessions({ url, name: nameOf(url) })
  const found = await withClient(url, async (client) => {
    const before = Date.now()
    const facts = (await client.query<Facts>(FACTS_SQL)).rows[0]!
    return { facts, aheadMs: facts.now_ms - (before + Date.now()) / 2 }
  })
  return [poolerFinding(pooled), ...findingsOf(found.facts, found.aheadMs)]
}

const poolerFinding = (pooled: boolean): DatabaseFinding =>
  pooled
    ? { level: 'fail', says: 'a pooler gives one session to several clients', remedy: POOLER_REMEDY }
    : { level: 'ok', says: 'each client has a session of its own', remedy: null }

function findingsOf(facts: Facts, aheadMs: number): DatabaseFinding[] {
  const { role, is_standby, may_write, has_synchronous_standby, has_several_nodes } = facts
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  return [
    is_standby
      ? { level: 'fail', says: 'the server is a standby, which is read-only', remedy: 'name the primary server' }
      : may_write
        ? { level: 'ok', says: `role ${role} may write`, remedy: null }
        : {
            level: 'fail',
            says: `role ${role} may not create or change what Parley needs`,
            remedy: `make ${role} the owner of the database and of the schema parley`,
          },
    has_synchronous_standby
      ? { level: 'ok', says: 'commits wait for a synchronous standby', remedy: null }
      : has_several_nodes
        ? {
            level: 'warn',
            says: 'no synchronous standby: a failover loses the last commits',
            remedy: 'set synchronous_standby_names of the database server',
          }
        : { level: 'ok', says: 'no synchronous standby', remedy: null },
    Math.abs(aheadMs) <= MAX_CLOCK_DIFFERENCE_MS
      ? { level: 'ok', says: 'its clock agrees with that of this machine', remedy: null }
      : {
          level: 'warn',
          says: `its clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`,
          remedy: 'synchronize both with NTP',
        },
  ]
}

async function withClient<T>(url: string, work: (client: pg.Client, server: Server) => Promise<T>): Promise<T> {
  const name = nameOf(url)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const server = (await client.query<Server>(SERVER_SQL)).rows[0]
    const fault = faultOf(server)
    if (fault !== null || server === undefined) throw new ParleyError('unavailable', `database ${name} ${fault}`)
    return await work(client, server)
  } catch (error) {
    throw error instanceof ParleyError ? error : explained(new QueryFailure(error), name)
  } finally {
    await client.end().catch(() => undefined)
  }
}
