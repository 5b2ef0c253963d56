/** Completion callbacks that are owed: see `CallbackStore`. */
import type { CallbackStore, OwedCallback } from '../contract/callbacks.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

export function sqliteCallbacks(sql: Sql, commits: GroupCommit): CallbackStore {
  return {
    put: ({ id, conversation_id, json }) =>
      commits.write(() => {
        sql.run(
          `INSERT INTO callbacks (id, conversation_id, json) VALUES (?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET json = excluded.json`,
          id,
          conversation_id,
          json,
        )
      }),
    owed: () =>
      commits.read(() =>
        sql
          .all<OwedCallback>('SELECT id, conversation_id, json FROM callbacks WHERE is_parked = 0 ORDER BY id')
          .map((row) => ({ ...row })),
      ),
    park: (id) => commits.write(() => void sql.run('UPDATE callbacks SET is_parked = 1 WHERE id = ?', id)),
    remove: (id) => commits.write(() => void sql.run('DELETE FROM callbacks WHERE id = ?', id)),
  }
}
