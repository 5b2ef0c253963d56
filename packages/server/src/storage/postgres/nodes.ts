/** Numbers of the nodes of a database, which are never used again, and what other nodes see of them. */
import type { NodeStore } from '../contract/nodes.ts'
import type { Database } from './database.ts'
import { LIVE_SQL } from './liveness.ts'
import { HAS_STANDBY } from './probe.ts'

const ADD_SQL = 'INSERT INTO nodes (url, version, places) VALUES ($1, $2, $3) RETURNING n'
/** Rows of nodes that have ended long ago, and left nothing that should run. */
const FORGET_SQL = `DELETE FROM nodes WHERE started_at < now() - interval '30 days' AND n NOT IN (${LIVE_SQL})
  AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.wants_owner AND c.node = nodes.n)`

const RUNNING_SQL = 'SELECT node, count(*) AS count FROM conversations WHERE wants_owner GROUP BY node'
const FACTS_SQL = `SELECT current_setting('server_version') AS version,
  ${HAS_STANDBY} AS synchronous_standby`

type Facts = { version: string; synchronous_standby: boolean }

export function postgresNodes(database: Database): NodeStore {
  const add: NodeStore['add'] = ({ url, version, places } = { url: '', version: '', places: [] }) =>
    database.write(async (sql) => {
      await sql.run(FORGET_SQL)
      const added = await sql.get<{ n: number }>(ADD_SQL, url, version, places)
      if (added === undefined) throw new Error('a node was not added')
      return added.n
    })
  return {
    add,
    // Other processes may use the database.
    reserve: () => add(),
    running: () => database.read((sql) => sql.all<{ node: number | null; count: number }>(RUNNING_SQL)),
    facts: () =>
      database.read(async (sql) => ({ engine: 'postgresql' as const, ...(await sql.get<Facts>(FACTS_SQL))! })),
  }
}
