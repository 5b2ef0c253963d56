/** One JSON object per user, changed in the transaction that reads it. */
import type { SettingsStore } from '../contract/user-data.ts'
import type { Database, Sql } from './database.ts'
import { lock } from './locks.ts'

const GET_SQL = 'SELECT json FROM settings WHERE user_name = $1'
const PUT_SQL = `INSERT INTO settings (user_name, json) VALUES ($1, $2)
  ON CONFLICT (user_name) DO UPDATE SET json = excluded.json`

export function postgresSettings(database: Database): SettingsStore {
  const get = async (sql: Sql, user: string) => (await sql.get<{ json: string }>(GET_SQL, user))?.json ?? null
  return {
    get: (user) => database.read((sql) => get(sql, user)),
    update: (user, change) =>
      database.write(async (sql) => {
        // The row may not exist yet, so the user is locked.
        await lock(sql, 'user', [user])
        const json = change(await get(sql, user))
        await sql.run(PUT_SQL, user, json)
        return json
      }),
  }
}
