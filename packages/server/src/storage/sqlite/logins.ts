/** Logins of browsers, and the codes that open them; of tokens and codes the hashes only. */
import type { LoginCodeRow, LoginSessionRow, LoginStore } from '../contract/logins.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const COLUMNS = 'id, user, hash, key_hash, label, created_at, last_used_at, expires_at'
const CODE_COLUMNS = 'hash, user, key_hash, created_at, expires_at'
export const FIND_LOGIN_SQL = `SELECT ${COLUMNS} FROM login_sessions WHERE hash = ?`
export const LIST_LOGINS_SQL = `SELECT ${COLUMNS} FROM login_sessions WHERE user = ? ORDER BY created_at, id`
const EXCESS_SQL = `DELETE FROM login_sessions WHERE id IN (
  SELECT id FROM login_sessions WHERE user = ? AND key_hash = ? ORDER BY last_used_at DESC, id DESC LIMIT -1 OFFSET ?
)`
const EXCESS_CODES_SQL = `DELETE FROM login_codes WHERE hash IN (
  SELECT hash FROM login_codes WHERE user = ? AND key_hash = ? ORDER BY created_at DESC, hash LIMIT -1 OFFSET ?
)`

export function sqliteLogins(sql: Sql, commits: GroupCommit): LoginStore {
  return {
    create: ({ id, user, hash, key_hash, label, created_at, last_used_at, expires_at }, atMost) =>
      commits.write(() => {
        sql.run('DELETE FROM login_sessions WHERE user = ? AND expires_at <= ?', user, created_at)
        sql.run(EXCESS_SQL, user, key_hash, atMost - 1)
        sql.run(
          `INSERT INTO login_sessions (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
          id,
          user,
          hash,
          key_hash,
          label,
          created_at,
          last_used_at,
          expires_at,
        )
      }),
    find: (hash) =>
      commits.read(() => {
        const row = sql.get<LoginSessionRow>(FIND_LOGIN_SQL, hash)
        return row === undefined ? null : { ...row }
      }),
    touch: (id, { last_used_at, expires_at }) =>
      commits.write(
        () =>
          void sql.run(
            'UPDATE login_sessions SET last_used_at = ?, expires_at = ? WHERE id = ?',
            last_used_at,
            expires_at,
            id,
          ),
      ),
    list: (user) => commits.read(() => sql.all<LoginSessionRow>(LIST_LOGINS_SQL, user).map((row) => ({ ...row }))),
    remove: (user, id) =>
      commits.write(() => sql.run('DELETE FROM login_sessions WHERE user = ? AND id = ?', user, id) === 1),
    addCode: ({ hash, user, key_hash, created_at, expires_at }, atMost) =>
      commits.write(() => {
        sql.run('DELETE FROM login_codes WHERE user = ? AND expires_at <= ?', user, created_at)
        sql.run(EXCESS_CODES_SQL, user, key_hash, atMost - 1)
        sql.run(
          `INSERT INTO login_codes (${CODE_COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
          hash,
          user,
          key_hash,
          created_at,
          expires_at,
        )
      }),
    takeCode: (hash) =>
      commits.write(() => {
        const row = sql.get<LoginCodeRow>(`SELECT ${CODE_COLUMNS} FROM login_codes WHERE hash = ?`, hash)
        if (row === undefined) return null
        sql.run('DELETE FROM login_codes WHERE hash = ?', hash)
        return { ...row }
      }),
  }
}
