/** Named secrets of a user as cipher text. */
import type { SecretRow, SecretStore } from '../contract/user-data.ts'
import type { Database } from './database.ts'
import { lock } from './locks.ts'

const COLUMNS = 'name, description, sealed, created_at, updated_at'
const LIST_SQL = `SELECT ${COLUMNS} FROM secrets WHERE user_name = $1 ORDER BY name`
const GET_SQL = `SELECT ${COLUMNS} FROM secrets WHERE user_name = $1 AND name = $2`
const INSERT = `INSERT INTO secrets (user_name, name, description, sealed, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (user_name, name) DO`
const CREATE_SQL = `${INSERT} NOTHING`
const PUT_SQL = `${INSERT} UPDATE
  SET description = excluded.description, sealed = excluded.sealed, updated_at = excluded.updated_at`
const RENAME_SQL = 'UPDATE secrets SET name = $1, description = $2, updated_at = $3 WHERE user_name = $4 AND name = $5'
const DELETE_SQL = 'DELETE FROM secrets WHERE user_name = $1 AND name = $2'

const VERSION_SQL = 'SELECT n FROM secret_versions WHERE user_name = $1'

export function postgresVault(database: Database, now: () => Date): SecretStore {
  const at = () => now().toISOString()
  return {
    version: (user) => database.read(async (sql) => (await sql.get<{ n: number }>(VERSION_SQL, user))?.n ?? 0),
    list: (user) => database.read((sql) => sql.all<SecretRow>(LIST_SQL, user)),
    get: (user, name) => database.read(async (sql) => (await sql.get<SecretRow>(GET_SQL, user, name)) ?? null),
    create: (user, { name, description, sealed }) =>
      database.write(async (sql) => (await sql.run(CREATE_SQL, user, name, description, sealed, at())) === 1),
    put: (user, { name, description, sealed }) =>
      database.write(async (sql) => void (await sql.run(PUT_SQL, user, name, description, sealed, at()))),
    rename: (user, name, to) =>
      database.write(async (sql) => {
        await lock(sql, 'user', [user])
        if ((await sql.get(GET_SQL, user, name)) === undefined) return 'unknown'
        if (to.name !== name && (await sql.get(GET_SQL, user, to.name)) !== undefined) return 'taken'
        await sql.run(RENAME_SQL, to.name, to.description, at(), user, name)
        return 'renamed'
      }),
    delete: (user, name) => database.write(async (sql) => (await sql.run(DELETE_SQL, user, name)) === 1),
  }
}
