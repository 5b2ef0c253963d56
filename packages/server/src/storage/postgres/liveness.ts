/**
 * The nodes that hold their leases. A lease is an advisory lock of a session with the keys "PRLY" and the number of the node. The keys never
 * change: nodes of two versions would not see each other, so a change would need a full stop of all nodes.
 */
import type { NodeNumber, NodeRow } from '../contract/nodes.ts'
import type { Database, Sql } from './database.ts'

/** "PRLY", which marks SQLite files too. */
export const LEASE_CLASS = 0x50524c59

/** The number of no node, which every node shares a lock of: who holds it alone, such as a move of the store, keeps nodes out. */
export const ALL_NODES = 0

/** The numbers of the live nodes, as a query with the column `n`. */
export const LIVE_SQL = `SELECT objid::bigint AS n FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LEASE_CLASS} AND objid <> ${ALL_NODES}
  AND objsubid = 2 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const iso = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const LIVE_NODES_SQL = `SELECT n, url, version, places, ${iso('started_at')} AS "startedAt", ${iso('draining_at')} AS "drainingAt"
  FROM nodes WHERE n IN (${LIVE_SQL}) ORDER BY n`

export const liveNodes = (database: Database): Promise<NodeRow[]> =>
  database.read((sql) => sql.all<NodeRow>(LIVE_NODES_SQL))

/** Of some nodes those that hold their leases. */
export async function liveAmong(sql: Sql, nodes: readonly NodeNumber[]): Promise<Set<NodeNumber>> {
  if (nodes.length === 0) return new Set()
  const text = `SELECT n FROM (${LIVE_SQL}) live WHERE n = ANY($1::bigint[])`
  return new Set((await sql.all<{ n: NodeNumber }>(text, nodes)).map(({ n }) => n))
}
