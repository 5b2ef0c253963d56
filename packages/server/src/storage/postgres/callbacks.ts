/** Completion callbacks that are owed. */
import type { CallbackStore, OwedCallback } from '../contract/callbacks.ts'
import type { Database } from './database.ts'

const PUT_SQL = `INSERT INTO callbacks (id, conversation_id, json) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET json = excluded.json`
const OWED_SQL = 'SELECT id, conversation_id, json FROM callbacks WHERE NOT is_parked ORDER BY id'

export function postgresCallbacks(database: Database): CallbackStore {
  return {
    put: ({ id, conversation_id, json }) =>
      database.write(async (sql) => void (await sql.run(PUT_SQL, id, conversation_id, json))),
    owed: () => database.read((sql) => sql.all<OwedCallback>(OWED_SQL)),
    park: (id) =>
      database.write(async (sql) => void (await sql.run('UPDATE callbacks SET is_parked = true WHERE id = $1', id))),
    remove: (id) => database.write(async (sql) => void (await sql.run('DELETE FROM callbacks WHERE id = $1', id))),
  }
}
