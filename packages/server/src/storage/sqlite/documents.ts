/** Small JSON objects of a user, by collection and name. */
import type { DocumentEdit, DocumentRow, DocumentStore } from '../contract/user-data.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

const COLUMNS = 'name, json, created_at, updated_at'
export const LIST_DOCUMENTS_SQL = `SELECT ${COLUMNS} FROM documents WHERE user = ? AND collection = ? ORDER BY name`
export const GET_DOCUMENT_SQL = `SELECT ${COLUMNS} FROM documents WHERE user = ? AND collection = ? AND name = ?`

export function sqliteDocuments(sql: Sql, commits: GroupCommit, now: () => Date): DocumentStore {
  const list = (user: string, collection: string) =>
    sql.all<DocumentRow>(LIST_DOCUMENTS_SQL, user, collection).map((row) => ({ ...row }))
  const get = (user: string, collection: string, name: string): DocumentRow | null => {
    const row = sql.get<DocumentRow>(GET_DOCUMENT_SQL, user, collection, name)
    return row === undefined ? null : { ...row }
  }
  const editOf = (user: string): DocumentEdit => ({
    list: (collection) => list(user, collection),
    get: (collection, name) => get(user, collection, name),
    put: (collection, name, json) => {
      sql.run(
        `INSERT INTO documents (user, collection, name, json, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
         ON CONFLICT (user, collection, name) DO UPDATE SET json = excluded.json, updated_at = excluded.updated_at`,
        user,
        collection,
        name,
        json,
        now().toISOString(),
      )
    },
    delete: (collection, name) =>
      sql.run('DELETE FROM documents WHERE user = ? AND collection = ? AND name = ?', user, collection, name) === 1,
  })
  return {
    list: (user, collection) => commits.read(() => list(user, collection)),
    get: (user, collection, name) => commits.read(() => get(user, collection, name)),
    edit: (user, change) => commits.write(() => change(editOf(user))),
  }
}
