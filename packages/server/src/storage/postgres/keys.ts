/** Issued API keys, stored as hashes only. */
import { ParleyError } from '@parley/protocol'
import type { KeyRow, KeyStore } from '../contract/access.ts'
import type { Database } from './database.ts'
import { isDuplicate } from './failures.ts'
import { admitUser } from './users.ts'

const COLUMNS = 'id, user_name AS "user", role, hash, label, created_at, expires_at, revoked_at'
const FIND_SQL = `SELECT ${COLUMNS} FROM keys WHERE hash = $1
  AND EXISTS (SELECT 1 FROM users WHERE users.user_name = keys.user_name AND state = 'active')`
const LIST_SQL = `SELECT ${COLUMNS} FROM keys ORDER BY n`
const INSERT_SQL = `INSERT INTO keys (id, user_name, role, hash, label, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`

export function postgresKeys(database: Database, now: () => Date): KeyStore {
  return {
    async create({ id, user, role, hash, label, expires_at }, newUser = { isOnly: false, settings: null }) {
      try {
        return await database.write(async (sql): Promise<KeyRow> => {
          await admitUser(sql, user, newUser, now)
          const created_at = now().toISOString()
          await sql.run(INSERT_SQL, id, user, role, hash, label, created_at, expires_at)
          return { id, user, role, hash, label, created_at, expires_at, revoked_at: null }
        })
      } catch (error) {
        if (!isDuplicate(error)) throw error
        throw new ParleyError('conflict', `key ${id} exists already; make a new one`, { details: { id }, cause: error })
      }
    },
    find: (hash) => database.read(async (sql) => (await sql.get<KeyRow>(FIND_SQL, hash)) ?? null),
    list: () => database.read((sql) => sql.all<KeyRow>(LIST_SQL)),
    revoke: (id) =>
      database.write(async (sql) => {
        const text = 'UPDATE keys SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2'
        return (await sql.run(text, now().toISOString(), id)) === 1
      }),
  }
}
