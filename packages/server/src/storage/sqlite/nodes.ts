/** Numbers of the nodes of this file. Only one process uses it at a time, so every earlier node has ended. */
import type { NodeStore } from '../contract/nodes.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

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
    running: () =>
      commits.read(() => sql.all<{ node: number | null; count: number }>(RUNNING_SQL).map((row) => ({ ...row }))),
    facts: () =>
      commits.read(() => {
        const { version } = sql.get<{ version: string }>('SELECT sqlite_version() AS version')!
        return { engine: 'sqlite' as const, version, synchronous_standby: null }
      }),
  }
}
