/** Texts of conversations that are no events. */
import type { ConversationFile, ConversationFileStore } from '../contract/files.ts'
import { bytesOfFiles } from '../shared/file-bytes.ts'
import type { Database, Sql } from './database.ts'
import { owned } from './notes.ts'
import { countBytes } from './usage.ts'

const PARTS_SQL = `SELECT f.text FROM conversations c JOIN conversation_files f ON f.conversation = c.n
  WHERE c.id = $1 AND f.name = $2 ORDER BY f.part`
const REMOVE_SQL = `WITH gone AS (DELETE FROM conversation_files WHERE conversation = $1 AND name = $2 RETURNING size)
  SELECT coalesce(sum(size), 0)::bigint AS bytes FROM gone`
const COUNT_SQL = 'UPDATE conversations SET bytes = bytes + $1 WHERE n = $2 RETURNING owner'
const INSERT_SQL = 'INSERT INTO conversation_files (conversation, name, part, size, text) VALUES ($1, $2, $3, $4, $5)'

export function postgresFiles(database: Database): ConversationFileStore {
  return {
    put: async (owner, file) => {
      const bytes = bytesOfFiles([file])
      await database.write(async (sql) => {
        const conversation = await owned(sql, owner)
        const before = (await sql.get<{ bytes: number }>(REMOVE_SQL, conversation, file.name))?.bytes ?? 0
        await insertFile(sql, conversation, file)
        const row = await sql.get<{ owner: string }>(COUNT_SQL, bytes - before, conversation)
        if (row !== undefined) await countBytes(sql, row.owner, bytes - before)
      })
    },
    get: (id, name) =>
      database.read(async (sql) => {
        const parts = await sql.all<{ text: string }>(PARTS_SQL, id, name)
        return parts.length === 0 ? null : parts.map(({ text }) => text)
      }),
  }
}

/** Inserts the parts of a file in the current transaction. A file without parts has an empty one. */
export async function insertFile(sql: Sql, conversation: number, { name, parts }: ConversationFile): Promise<void> {
  for (const [part, text] of (parts.length === 0 ? [''] : parts).entries())
    await sql.run(INSERT_SQL, conversation, name, part, Buffer.byteLength(text), text)
}
