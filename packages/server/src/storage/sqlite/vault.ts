/** Named secrets of a user as cipher text. */
import type { SecretRow, SecretStore } from '../contract/user-data.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const COLUMNS = 'name, description, sealed, created_at, updated_at'
export const LIST_SQL = `SELECT ${COLUMNS} FROM secrets WHERE user = ? ORDER BY name`
export const GET_SQL = `SELECT ${COLUMNS} FROM secrets WHERE user = ? AND name = ?`

const INSERT = `INSERT INTO secrets (user, name, description, sealed, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
  ON CONFLICT (user, name) DO`

export const VERSION_SQL = 'SELECT n FROM secret_versions WHERE of_user = ?'

/** The version of a user's secrets and settings; triggers replace it with each change of a row. */
export const secretsVersion = (sql: Sql, user: string): number => sql.get<{ n: number }>(VERSION_SQL, user)?.n ?? 0

export function sqliteVault(sql: Sql, commits: GroupCommit, now: () => Date): SecretStore {
  const get = (user: string, name: string) => sql.get<SecretRow>(GET_SQL, user, name)
  return {
    version: (user) => commits.read(() => secretsVersion(sql, user)),
    list: (user) => commits.read(() => sql.all<SecretRow>(LIST_SQL, user).map((row) => ({ ...row }))),
    get: (user, name) =>
      commits.read(() => {
        const row = get(user, name)
        return row === undefined ? null : { ...row }
      }),
    create: (user, { name, description, sealed }) =>
      commits.write(() => sql.run(`${INSERT} NOTHING`, user, name, description, sealed, now().toISOString()) === 1),
    put: (user, { name, description, sealed }) =>
      commits.write(() => {
        sql.run(
          `${INSERT} UPDATE SET description = excluded.description, sealed = excluded.sealed, updated_at = excluded.updated_at`,
          user,
          name,
          description,
          sealed,
          now().toISOString(),
        )
      }),
    rename: (user, name, to) =>
      commits.write(() => {
        if (get(user, name) === undefined) return 'unknown'
        if (to.name !== name && get(user, to.name) !== undefined) return 'taken'
        sql.run(
          'UPDATE secrets SET name = ?, description = ?, updated_at = ? WHERE user = ? AND name = ?',
          to.name,
          to.description,
          now().toISOString(),
          user,
          name,
        )
        return 'renamed'
      }),
    delete: (user, name) =>
      commits.write(() => sql.run('DELETE FROM secrets WHERE user = ? AND name = ?', user, name) === 1),
  }
}
