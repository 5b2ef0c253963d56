/** The users of a store. A user exists from the first key on. Source: docs/keys.md, Users and roles. */
import { ParleyError } from '@parley/protocol'
import type { NewUser, UserRow, UserStore } from '../contract/access.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'
import type { LogSweep } from './sweep.ts'

const COLUMNS = 'user, state, created_at'
const GET_SQL = `SELECT ${COLUMNS} FROM users WHERE user = ?`

/**
 * Statements that delete the rows of a user (?1). What refers to conversations is deleted with them. The audit stays, and so do the ids of
 * deleted conversations, which belong to no other user. A test compares the tables with the schema.
 */
const ERASE: readonly string[] = [
  // Logs of received conversations are under negative numbers; the sweep deletes them.
  'INSERT INTO deleted_logs (conversation, seq) SELECT -n, seq FROM received_conversations WHERE owner = ?1 AND seq > 0',
  'DELETE FROM received_conversations WHERE owner = ?1',
  'DELETE FROM made_workspaces WHERE owner = ?1',
  'DELETE FROM settings WHERE user = ?1',
  'DELETE FROM secrets WHERE user = ?1',
  // After the rows whose deletion replaces the version.
  'DELETE FROM secret_versions WHERE of_user = ?1',
  'DELETE FROM documents WHERE user = ?1',
  'DELETE FROM bash_events WHERE user = ?1',
  'DELETE FROM keyed_requests WHERE user = ?1',
  'DELETE FROM usage WHERE user = ?1',
  'DELETE FROM feed_changes WHERE user = ?1',
  'DELETE FROM feeds WHERE user = ?1',
  'DELETE FROM login_sessions WHERE user = ?1',
  'DELETE FROM login_codes WHERE user = ?1',
  'DELETE FROM keys WHERE user = ?1',
  'DELETE FROM users WHERE user = ?1',
]

/** Adds a user unless it is known; within the caller's transaction. @throws ParleyError as `KeyStore.create`. */
export function admitUser(sql: Sql, user: string, { isOnly, settings }: NewUser, now: () => Date): void {
  const known = sql.get<UserRow>(GET_SQL, user)
  if (known?.state === 'deleting')
    throw new ParleyError(
      'conflict',
      `User ${user} is being deleted. Try again when parley users list no longer shows it.`,
    )
  if (known !== undefined) return
  if (isOnly && sql.get('SELECT 1 FROM users LIMIT 1') !== undefined)
    throw new ParleyError(
      'forbidden',
      `This server is for one user, and ${user} would be another one: set PARLEY_MODE=shared for several users.`,
    )
  sql.run(`INSERT INTO users (${COLUMNS}) VALUES (?, 'active', ?)`, user, now().toISOString())
  if (settings !== null)
    sql.run('INSERT INTO settings (user, json) VALUES (?, ?) ON CONFLICT DO NOTHING', user, settings)
}

export function sqliteUsers(sql: Sql, commits: GroupCommit, sweep: LogSweep, now: () => Date): UserStore {
  const rows = (condition: string) => () =>
    sql.all<UserRow>(`SELECT ${COLUMNS} FROM users ${condition} ORDER BY user`).map((row) => ({ ...row }))
  return {
    list: () => commits.read(rows('')),
    suspended: () => commits.read(rows(`WHERE state <> 'active'`)),
    async ensure(user, settings) {
      // Reads first: a start with a known user writes nothing.
      if ((await commits.read(() => sql.get(GET_SQL, user))) !== undefined) return
      await commits.write(() => admitUser(sql, user, { isOnly: false, settings }, now))
    },
    setState: (user, state) =>
      commits.write(() => {
        const before = sql.get<UserRow>(GET_SQL, user)?.state ?? null
        if (before !== null && before !== 'deleting') sql.run('UPDATE users SET state = ? WHERE user = ?', state, user)
        return before
      }),
    deletedIds: (user) =>
      commits.read(() =>
        sql.all<{ id: string }>('SELECT id FROM deleted_ids WHERE owner = ?', user).map(({ id }) => id),
      ),
    async erase(user) {
      await commits.write(() => {
        // Another node may have completed the deletion, and a new user may have the name.
        if (sql.get<UserRow>('SELECT state FROM users WHERE user = ?', user)?.state === 'active') return
        for (const statement of ERASE) sql.run(statement, user)
      })
      sweep.start()
    },
  }
}
