/** Checks of a database for `parley doctor`, which change nothing in it. */
import { ParleyError } from '@parley/protocol'
import pg from 'pg'
import { nameOf } from './database.ts'
import { explained, QueryFailure } from './failures.ts'
import { faultOf, type Server, SERVER_SQL } from './migrations.ts'

const USERS_SQL = 'SELECT DISTINCT user_name AS name FROM parley.keys ORDER BY user_name'

export type DatabaseFacts = {
  /** Host, port and name. */
  name: string
  version: string
  /** Users with keys. */
  users: string[]
}

/** @throws ParleyError `unavailable` with the remedy. */
export async function probeDatabase(url: string): Promise<DatabaseFacts> {
  const name = nameOf(url)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const server = (await client.query<Server>(SERVER_SQL)).rows[0]
    const fault = faultOf(server)
    if (fault !== null || server === undefined) throw new ParleyError('unavailable', `database ${name} ${fault}`)
    const users = server.has_schema ? (await client.query<{ name: string }>(USERS_SQL)).rows : []
    return { name, version: server.version, users: users.map((row) => row.name) }
  } catch (error) {
    throw error instanceof ParleyError ? error : explained(new QueryFailure(error), name)
  } finally {
    await client.end().catch(() => undefined)
  }
}
