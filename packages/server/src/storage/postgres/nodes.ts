/** Numbers of the nodes of a database, which are never used again. */
import type { NodeStore } from '../contract/nodes.ts'
import type { Database } from './database.ts'

export function postgresNodes(database: Database): NodeStore {
  return {
    add: () =>
      database.write(async (sql) => {
        const added = await sql.get<{ n: number }>('INSERT INTO nodes DEFAULT VALUES RETURNING n')
        if (added === undefined) throw new Error('a node was not added')
        return added.n
      }),
  }
}
