/** State of open calls that is not an event: see `NoteStore`. */
import { ParleyError } from '@parley/protocol'
import type { Note, NoteOwner, NoteStore } from '../contract/notes.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Sql } from './sql.ts'

export const GET_SQL = `SELECT o.text FROM conversations c JOIN notes o ON o.conversation = c.n
  WHERE c.id = ? AND o.about = ? AND o.kind = ?`
/** The ids of the parts of a call begin with the id of the call and `-`, which precedes `.` in the order of characters. */
export const SETTLE_SQL = `DELETE FROM notes WHERE conversation = ?1 AND about >= ?2 AND about < ?2 || '.'`
/** A note that has the text already is not written. */
export const CHANGE_SQL = 'UPDATE notes SET text = ? WHERE conversation = ? AND about = ? AND kind = ? AND text <> ?'
const NUMBER_SQL = 'SELECT n FROM conversations WHERE id = ?'

export function sqliteNotes(sql: Sql, commits: GroupCommit): NoteStore {
  return {
    put: (owner, note) => commits.write(() => putNote(sql, owned(sql, owner), note)),
    get: (id, kind, about) => commits.read(() => sql.get<{ text: string }>(GET_SQL, id, about, kind)?.text ?? null),
    change: (id, kind, abouts, text) =>
      commits.write(() => {
        const n = sql.get<{ n: number }>(NUMBER_SQL, id)?.n
        if (n === undefined) return
        for (const about of abouts) sql.run(CHANGE_SQL, text, n, about, kind, text)
      }),
    remove: (id, kind, about) =>
      commits.write(() => {
        const n = sql.get<{ n: number }>(NUMBER_SQL, id)?.n
        if (n === undefined) return
        if (about === undefined) sql.run('DELETE FROM notes WHERE conversation = ? AND kind = ?', n, kind)
        else sql.run('DELETE FROM notes WHERE conversation = ? AND about = ? AND kind = ?', n, about, kind)
      }),
    newest: () =>
      commits.read(() => sql.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'notes'")?.seq ?? 0),
  }
}

/** Inserts a note in the current transaction and returns its number. */
export function putNote(sql: Sql, conversation: number, { about, kind, text }: Note): number {
  const stored = sql.returning<{ n: number }>(
    'INSERT OR REPLACE INTO notes (conversation, about, kind, text) VALUES (?, ?, ?, ?) RETURNING n',
    conversation,
    about,
    kind,
    text,
  )
  if (stored === undefined) throw new Error('a note was not inserted')
  return stored.n
}

/** Deletes in the current transaction what is noted about these calls and their parts. */
export function settleNotes(sql: Sql, conversation: number, calls: readonly string[]): void {
  for (const call of calls) sql.run(SETTLE_SQL, conversation, call)
}

/** Number of a conversation that still has this owner. @throws ParleyError `not_found`, `conflict` */
export function owned(sql: Sql, { id, epoch }: NoteOwner): number {
  const row = sql.get<{ n: number; epoch: number }>('SELECT n, epoch FROM conversations WHERE id = ?', id)
  if (row === undefined)
    throw new ParleyError('not_found', `no conversation ${id}`, { details: { conversation_id: id } })
  if (row.epoch === epoch) return row.n
  const message = `conversation ${id} has another owner: epoch ${epoch} was replaced by ${row.epoch}`
  throw new ParleyError('conflict', message, { details: { reason: 'epoch', conversation_id: id, epoch: row.epoch } })
}
