/** Completion callbacks that are owed. Only one process uses the file, so every node but the newest has ended. */
import type { CallbackStore, OwedCallback } from '../contract/callbacks.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const COLUMNS = 'id, conversation_id, is_open, json'
const PUT_SQL = `INSERT INTO callbacks (${COLUMNS}, node) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET is_open = excluded.is_open, json = excluded.json, node = excluded.node`
const OPEN_SQL = 'SELECT id FROM callbacks WHERE conversation_id = ? AND is_open = 1 AND is_parked = 0'
const END_SQL = `UPDATE callbacks SET is_open = ?, json = ?, node = ? WHERE id = ? AND is_open = 1 AND is_parked = 0`
const TAKE_SQL = `UPDATE callbacks SET node = ?1 WHERE is_parked = 0 AND node IS NOT ?1 AND NOT (is_open = 1 AND EXISTS (
    SELECT 1 FROM conversations c WHERE c.id = callbacks.conversation_id
      AND (c.wants_owner = 1 OR c.status IN ('running', 'waiting_for_confirmation'))))
  RETURNING ${COLUMNS}`
const OF_NODE_SQL = 'SELECT 1 FROM callbacks WHERE id = ? AND node = ? AND is_parked = 0'

type Row = Omit<OwedCallback, 'is_open'> & { is_open: number }

const owedOf = (row: Row): OwedCallback => ({ ...row, is_open: row.is_open === 1 })

export function sqliteCallbacks(sql: Sql, commits: GroupCommit): CallbackStore {
  const put = ({ id, conversation_id, is_open, json }: OwedCallback, by: number | null) =>
    sql.run(PUT_SQL, id, conversation_id, is_open ? 1 : 0, json, by)
  return {
    begin: (callback, by) =>
      commits.write(() => {
        const open = sql.get<{ id: string }>(OPEN_SQL, callback.conversation_id)
        if (open === undefined) put(callback, by)
        else sql.run('UPDATE callbacks SET node = ? WHERE id = ?', by, open.id)
        return open?.id ?? callback.id
      }),
    openOf: (id) => commits.read(() => sql.get<{ id: string }>(OPEN_SQL, id)?.id ?? null),
    end: ({ id, is_open, json }, by) => commits.write(() => sql.run(END_SQL, is_open ? 1 : 0, json, by, id) > 0),
    put: (callback, by) => commits.write(() => void put(callback, by)),
    take: (by) =>
      commits.write(() =>
        sql
          .returningAll<Row>(TAKE_SQL, by)
          .map(owedOf)
          .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      ),
    isOf: (id, node) => commits.read(() => sql.get(OF_NODE_SQL, id, node) !== undefined),
    owed: () =>
      commits.read(() => sql.all<Row>(`SELECT ${COLUMNS} FROM callbacks WHERE is_parked = 0 ORDER BY id`).map(owedOf)),
    park: (id) => commits.write(() => void sql.run('UPDATE callbacks SET is_parked = 1 WHERE id = ?', id)),
    remove: (id) => commits.write(() => void sql.run('DELETE FROM callbacks WHERE id = ?', id)),
  }
}
