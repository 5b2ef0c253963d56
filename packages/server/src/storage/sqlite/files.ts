/** Files of conversations: see `ConversationFileStore`. */
import type { ConversationFile, ConversationFileStore } from '../contract/files.ts'
import { bytesOfFiles } from '../shared/file-bytes.ts'
import type { GroupCommit } from './group-commit.ts'
import { owned } from './notes.ts'
import type { Sql } from './sql.ts'
import { countBytes } from './usage.ts'

export const PARTS_SQL = `SELECT f.text FROM conversations c JOIN conversation_files f ON f.conversation = c.n
  WHERE c.id = ? AND f.name = ? ORDER BY f.part`

export function sqliteFiles(sql: Sql, commits: GroupCommit): ConversationFileStore {
  return {
    async put(owner, file) {
      const bytes = bytesOfFiles([file])
      await commits.write(() => {
        const conversation = owned(sql, owner)
        const before = sql.get<{ bytes: number }>(
          'SELECT coalesce(sum(octet_length(text)), 0) AS bytes FROM conversation_files WHERE conversation = ? AND name = ?',
          conversation,
          file.name,
        )
        sql.run('DELETE FROM conversation_files WHERE conversation = ? AND name = ?', conversation, file.name)
        insertFile(sql, conversation, file)
        const more = bytes - (before?.bytes ?? 0)
        const row = sql.returning<{ owner: string }>(
          'UPDATE conversations SET bytes = bytes + ? WHERE n = ? RETURNING owner',
          more,
          conversation,
        )
        if (row !== undefined) countBytes(sql, row.owner, more)
      })
    },
    get: (id, name) =>
      commits.read(() => {
        const parts = sql.all<{ text: string }>(PARTS_SQL, id, name).map(({ text }) => text)
        return parts.length === 0 ? null : parts
      }),
  }
}

/** Inserts the parts of a file in the current transaction. A file without parts has an empty one. */
export function insertFile(sql: Sql, conversation: number, { name, parts }: ConversationFile): void {
  for (const [part, text] of (parts.length === 0 ? [''] : parts).entries())
    sql.run(
      'INSERT INTO conversation_files (conversation, name, part, text) VALUES (?, ?, ?, ?)',
      conversation,
      name,
      part,
      text,
    )
}
