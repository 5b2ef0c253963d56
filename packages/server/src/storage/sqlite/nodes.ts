/** Numbers of the nodes of this file. Only one process uses it at a time, so every earlier node has ended. */
import type { NodeStore } from '../contract/nodes.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const NEWEST_SQL = "SELECT seq FROM sqlite_sequence WHERE name = 'nodes'"
const RUNNING_SQL = 'SELECT node, count(*) AS count FROM conversations WHERE wants_owner = 1 GROUP BY node'

export function sqliteNodes(sql: Sql, commits: GroupCommit): NodeStore {
  return {
    add: () =>
      commits.write(() => {
        const added = sql.returning<{ n: number }>('INSERT INTO nodes DEFAULT VALUES RETURNING n')
        if (added === undefined) throw new Error('a node was not added')
        // AUTOINCREMENT remembers the highest number without the rows.
        sql.run('DELETE FROM nodes WHERE n < ?', added.n)
        return added.n
      }),
    reserve: () =>
      commits.read(() => {
        const n = (sql.get<{ seq: number }>(NEWEST_SQL)?.seq ?? 0) + 1
        commits.beforeNextWrite(() => {
          sql.run('INSERT INTO nodes (n) VALUES (?)', n)
          sql.run('DELETE FROM nodes WHERE n < ?', n)
        })
        return n
      }),
    running: () =>
      commits.read(() => sql.all<{ node: number | null; count: number }>(RUNNING_SQL).map((row) => ({ ...row }))),
    facts: () =>
      commits.read(() => {
        const { version } = sql.get<{ version: string }>('SELECT sqlite_version() AS version')!
        return { engine: 'sqlite' as const, version, synchronous_standby: null }
      }),
  }
}
