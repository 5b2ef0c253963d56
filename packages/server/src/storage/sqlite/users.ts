/** The users of a store. A user exists from the first key on. Source: docs/keys.md, Users and roles. */
import { ParleyError } from '@parley/protocol'
import type { NewUser, UserRow, UserStore } from '../contract/access.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const GET_SQL = 'SELECT user, state, created_at FROM users WHERE user = ?'

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
  sql.run(`INSERT INTO users (user, state, created_at) VALUES (?, 'active', ?)`, user, now().toISOString())
  if (settings !== null)
    sql.run('INSERT INTO settings (user, json) VALUES (?, ?) ON CONFLICT DO NOTHING', user, settings)
}

export function sqliteUsers(sql: Sql, commits: GroupCommit, now: () => Date): UserStore {
  return {
    list: () =>
      commits.read(() =>
        sql.all<UserRow>('SELECT user, state, created_at FROM users ORDER BY user').map((row) => ({ ...row })),
      ),
    async ensure(user, settings) {
      // Reads first: a start with a known user writes nothing.
      if ((await commits.read(() => sql.get(GET_SQL, user))) !== undefined) return
      await commits.write(() => admitUser(sql, user, { isOnly: false, settings }, now))
    },
  }
}
