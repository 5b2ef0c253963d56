/** Issued API keys, stored as hashes only. */
import { ParleyError } from '@parley/protocol'
import type { KeyRow, KeyStore } from '../contract/access.ts'
import { isDuplicate } from './failures.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'
import { admitUser } from './users.ts'

const COLUMNS = 'id, user, role, hash, label, created_at, expires_at, revoked_at'
export const FIND_SQL = `SELECT ${COLUMNS} FROM keys WHERE hash = ?
  AND EXISTS (SELECT 1 FROM users WHERE users.user = keys.user AND state = 'active')`

export function sqliteKeys(sql: Sql, commits: GroupCommit, now: () => Date): KeyStore {
  return {
    create: ({ id, user, role, hash, label, expires_at }, newUser = { isOnly: false, settings: null }) =>
      commits.write(() => {
        admitUser(sql, user, newUser, now)
        const row: KeyRow = {
          id,
          user,
          role,
          hash,
          label,
          created_at: now().toISOString(),
          expires_at,
          revoked_at: null,
        }
        try {
          sql.run(
            `INSERT INTO keys (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL)`,
            id,
            user,
            role,
            hash,
            label,
            row.created_at,
            expires_at,
          )
        } catch (error) {
          if (!isDuplicate(error)) throw error
          throw new ParleyError('conflict', `key ${id} exists already; make a new one`, {
            details: { id },
            cause: error,
          })
        }
        return row
      }),
    find: (hash) =>
      commits.read(() => {
        const row = sql.get<KeyRow>(FIND_SQL, hash)
        return row === undefined ? null : { ...row }
      }),
    list: () =>
      commits.read(() => sql.all<KeyRow>(`SELECT ${COLUMNS} FROM keys ORDER BY rowid`).map((row) => ({ ...row }))),
    revoke: (id) =>
      commits.write(
        () =>
          sql.run('UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', now().toISOString(), id) === 1,
      ),
  }
}
