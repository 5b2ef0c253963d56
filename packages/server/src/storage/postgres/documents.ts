/** Small JSON objects of a user, by collection and name. */
import type { DocumentEdit, DocumentRow, DocumentStore } from '../contract/user-data.ts'
import type { Database } from './database.ts'
import { lock } from './locks.ts'

const COLUMNS = 'name, json, created_at, updated_at'
const LIST_SQL = `SELECT ${COLUMNS} FROM documents WHERE user_name = $1 AND collection = $2 ORDER BY name`
const GET_SQL = `SELECT ${COLUMNS} FROM documents WHERE user_name = $1 AND collection = $2 AND name = $3`
const ALL_SQL = `SELECT collection, ${COLUMNS} FROM documents WHERE user_name = $1`
const PUT_SQL = `INSERT INTO documents (user_name, collection, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (user_name, collection, name) DO UPDATE SET json = excluded.json, updated_at = excluded.updated_at`
const DELETE_SQL = 'DELETE FROM documents WHERE user_name = $1 AND collection = $2 AND name = $3'

type Document = DocumentRow & { collection: string }

/** A copy of a user's documents, on which a synchronous callback works. */
class DocumentCopy implements DocumentEdit {
  readonly #documents = new Map<string, Document>()
  readonly #now: () => Date
  /** Keys of the documents that were replaced or deleted. */
  readonly #changed = new Map<string, Pick<Document, 'collection' | 'name'>>()

  constructor(documents: readonly Document[], now: () => Date) {
    for (const document of documents) this.#documents.set(keyOf(document.collection, document.name), document)
    this.#now = now
  }

  list(collection: string): DocumentRow[] {
    const found = [...this.#documents.values()].filter((each) => each.collection === collection)
    return found.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))).map(rowOf)
  }

  get(collection: string, name: string): DocumentRow | null {
    const found = this.#documents.get(keyOf(collection, name))
    return found === undefined ? null : rowOf(found)
  }

  put(collection: string, name: string, json: string): void {
    const key = keyOf(collection, name)
    const at = this.#now().toISOString()
    const created_at = this.#documents.get(key)?.created_at ?? at
    this.#documents.set(key, { collection, name, json, created_at, updated_at: at })
    this.#changed.set(key, { collection, name })
  }

  delete(collection: string, name: string): boolean {
    const key = keyOf(collection, name)
    if (!this.#documents.delete(key)) return false
    this.#changed.set(key, { collection, name })
    return true
  }

  /** The changed documents; `row` is null for a deleted one. */
  changes(): { collection: string; name: string; row: DocumentRow | null }[] {
    return [...this.#changed].map(([key, place]) => ({ ...place, row: this.#documents.get(key) ?? null }))
  }
}

const keyOf = (collection: string, name: string): string => JSON.stringify([collection, name])
const rowOf = ({ name, json, created_at, updated_at }: DocumentRow): DocumentRow => ({
  name,
  json,
  created_at,
  updated_at,
})

export function postgresDocuments(database: Database, now: () => Date): DocumentStore {
  return {
    list: (user, collection) => database.read((sql) => sql.all<DocumentRow>(LIST_SQL, user, collection)),
    get: (user, collection, name) =>
      database.read(async (sql) => (await sql.get<DocumentRow>(GET_SQL, user, collection, name)) ?? null),
    edit: (user, change) =>
      database.write(async (sql) => {
        await lock(sql, 'user', [user])
        const copy = new DocumentCopy(await sql.all<Document>(ALL_SQL, user), now)
        const result = change(copy)
        for (const { collection, name, row } of copy.changes()) {
          if (row === null) await sql.run(DELETE_SQL, user, collection, name)
          else await sql.run(PUT_SQL, user, collection, name, row.json, row.created_at, row.updated_at)
        }
        return result
      }),
  }
}
