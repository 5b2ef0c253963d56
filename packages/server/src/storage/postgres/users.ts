/** The users of a store. A user exists from the first key on. Source: docs/keys.md, Users and roles. */
import { ParleyError } from '@parley/protocol'
import type { NewUser, UserRow, UserStore } from '../contract/access.ts'
import type { Database, Sql } from './database.ts'
import { lock } from './locks.ts'
import type { LogSweep } from './sweep.ts'

const COLUMNS = 'user_name AS "user", state, created_at'
const GET_SQL = `SELECT ${COLUMNS} FROM users WHERE user_name = $1`
const FIRST_SETTINGS_SQL = 'INSERT INTO settings (user_name, json) VALUES ($1, $2) ON CONFLICT DO NOTHING'

/**
 * Statements that delete the rows of a user. What refers to conversations is deleted with them. The audit stays, and so do the ids of
 * deleted conversations, which belong to no other user. A test compares the tables with the schema.
 */
const ERASE: readonly string[] = [
  // Logs of received conversations are under negative numbers; the sweep deletes them.
  'INSERT INTO deleted_logs (conversation, seq) SELECT -n, seq FROM received_conversations WHERE owner = $1 AND seq > 0',
  'DELETE FROM received_conversations WHERE owner = $1',
  'DELETE FROM made_workspaces WHERE owner = $1',
  'DELETE FROM settings WHERE user_name = $1',
  'DELETE FROM secrets WHERE user_name = $1',
  // After the rows whose deletion replaces the version.
  'DELETE FROM secret_versions WHERE user_name = $1',
  'DELETE FROM documents WHERE user_name = $1',
  'DELETE FROM bash_events WHERE user_name = $1',
  'DELETE FROM keyed_requests WHERE user_name = $1',
  'DELETE FROM usage WHERE user_name = $1',
  'DELETE FROM feed_changes WHERE user_name = $1',
  'DELETE FROM feeds WHERE user_name = $1',
  'DELETE FROM login_sessions WHERE user_name = $1',
  'DELETE FROM login_codes WHERE user_name = $1',
  'DELETE FROM keys WHERE user_name = $1',
  'DELETE FROM users WHERE user_name = $1',
]

/** Adds a user unless it is known; within the caller's transaction. @throws ParleyError as `KeyStore.create`. */
export async function admitUser(sql: Sql, user: string, { isOnly, settings }: NewUser, now: () => Date): Promise<void> {
  await lock(sql, 'users', [''])
  const known = await sql.get<UserRow>(GET_SQL, user)
  if (known?.state === 'deleting')
    throw new ParleyError(
      'conflict',
      `User ${user} is being deleted. Try again when parley users list no longer shows it.`,
    )
  if (known !== undefined) return
  if (isOnly && (await sql.get('SELECT 1 FROM users LIMIT 1')) !== undefined)
    throw new ParleyError(
      'forbidden',
      `This server is for one user, and ${user} would be another one: set PARLEY_MODE=shared for several users.`,
    )
  const at = now().toISOString()
  await sql.run(`INSERT INTO users (user_name, state, created_at) VALUES ($1, 'active', $2)`, user, at)
  if (settings !== null) await sql.run(FIRST_SETTINGS_SQL, user, settings)
}

export function postgresUsers(database: Database, sweep: LogSweep, now: () => Date): UserStore {
  const rows = (condition: string) => (sql: Sql) =>
    sql.all<UserRow>(`SELECT ${COLUMNS} FROM users ${condition} ORDER BY user_name`)
  return {
    list: () => database.read(rows('')),
    suspended: () => database.read(rows(`WHERE state <> 'active'`)),
    async ensure(user, settings) {
      // Reads first: a start with a known user writes nothing.
      if ((await database.read((sql) => sql.get(GET_SQL, user))) !== undefined) return
      await database.write((sql) => admitUser(sql, user, { isOnly: false, settings }, now))
    },
    setState: (user, state) =>
      database.write(async (sql) => {
        const before = (await sql.get<UserRow>(`${GET_SQL} FOR UPDATE`, user))?.state ?? null
        if (before !== null && before !== 'deleting')
          await sql.run('UPDATE users SET state = $1 WHERE user_name = $2', state, user)
        return before
      }),
    deletedIds: (user) =>
      database.read(async (sql) => {
        const found = await sql.all<{ id: string }>('SELECT id FROM deleted_ids WHERE owner = $1', user)
        return found.map(({ id }) => id)
      }),
    async erase(user) {
      await database.write(async (sql) => {
        await lock(sql, 'users', [''])
        // Another node may have completed the deletion, and a new user may have the name.
        if ((await sql.get<UserRow>(GET_SQL, user))?.state === 'active') return
        for (const statement of ERASE) await sql.run(statement, user)
      })
      sweep.start()
    },
  }
}
