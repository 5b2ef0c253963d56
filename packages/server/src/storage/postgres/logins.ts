/** Logins of browsers, and the codes that open them; of tokens and codes the hashes only. */
import type { LoginCodeRow, LoginSessionRow, LoginStore } from '../contract/logins.ts'
import type { Database } from './database.ts'

const COLUMNS = 'id, user_name AS "user", hash, key_hash, label, created_at, last_used_at, expires_at'
const CODE_COLUMNS = 'hash, user_name AS "user", key_hash, created_at, expires_at'
const FIND_SQL = `SELECT ${COLUMNS} FROM login_sessions WHERE hash = $1`
const LIST_SQL = `SELECT ${COLUMNS} FROM login_sessions WHERE user_name = $1 ORDER BY created_at, id`
const INSERT_SQL = `INSERT INTO login_sessions (id, user_name, hash, key_hash, label, created_at, last_used_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
const EXPIRE_SQL = 'DELETE FROM login_sessions WHERE user_name = $1 AND expires_at <= $2'
const EXCESS_SQL = `DELETE FROM login_sessions WHERE id IN (
  SELECT id FROM login_sessions WHERE user_name = $1 AND key_hash = $2 ORDER BY last_used_at DESC, id DESC OFFSET $3
)`
const TOUCH_SQL = 'UPDATE login_sessions SET last_used_at = $1, expires_at = $2 WHERE id = $3'
const INSERT_CODE_SQL = `INSERT INTO login_codes (hash, user_name, key_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`
const EXPIRE_CODES_SQL = 'DELETE FROM login_codes WHERE user_name = $1 AND expires_at <= $2'
const EXCESS_CODES_SQL = `DELETE FROM login_codes WHERE hash IN (
  SELECT hash FROM login_codes WHERE user_name = $1 AND key_hash = $2 ORDER BY created_at DESC, hash OFFSET $3
)`

export function postgresLogins(database: Database): LoginStore {
  return {
    create: ({ id, user, hash, key_hash, label, created_at, last_used_at, expires_at }, atMost) =>
      database.write(async (sql) => {
        await sql.run(EXPIRE_SQL, user, created_at)
        await sql.run(EXCESS_SQL, user, key_hash, atMost - 1)
        await sql.run(INSERT_SQL, id, user, hash, key_hash, label, created_at, last_used_at, expires_at)
      }),
    find: (hash) => database.read(async (sql) => (await sql.get<LoginSessionRow>(FIND_SQL, hash)) ?? null),
    touch: (id, { last_used_at, expires_at }) =>
      database.write(async (sql) => void (await sql.run(TOUCH_SQL, last_used_at, expires_at, id))),
    list: (user) => database.read((sql) => sql.all<LoginSessionRow>(LIST_SQL, user)),
    remove: (user, id) =>
      database.write(
        async (sql) => (await sql.run('DELETE FROM login_sessions WHERE user_name = $1 AND id = $2', user, id)) === 1,
      ),
    addCode: ({ hash, user, key_hash, created_at, expires_at }, atMost) =>
      database.write(async (sql) => {
        await sql.run(EXPIRE_CODES_SQL, user, created_at)
        await sql.run(EXCESS_CODES_SQL, user, key_hash, atMost - 1)
        await sql.run(INSERT_CODE_SQL, hash, user, key_hash, created_at, expires_at)
      }),
    takeCode: (hash) =>
      database.write(async (sql) => {
        const text = `DELETE FROM login_codes WHERE hash = $1 RETURNING ${CODE_COLUMNS}`
        return (await sql.get<LoginCodeRow>(text, hash)) ?? null
      }),
  }
}
