/** State of open calls that is not an event: see `NoteStore`. */
import { ParleyError } from '@parley/protocol'
import type { Note, NoteOwner, NoteStore } from '../contract/notes.ts'
import type { Database, Sql } from './database.ts'

const GET_SQL = `SELECT o.text FROM conversations c JOIN notes o ON o.conversation = c.n
  WHERE c.id = $1 AND o.about = $2 AND o.kind = $3`
const OF = 'conversation = (SELECT n FROM conversations WHERE id = $1)'
const CHANGE_SQL = `UPDATE notes SET text = $2 WHERE ${OF} AND kind = $3 AND about = ANY($4::text[]) AND text <> $2`
/**
 * The counter is a row and no sequence: after a crash, a sequence may go on from a number that no note had. Its lock is the last one of
 * every transaction.
 */
const COUNT_SQL = 'UPDATE note_counter SET newest = newest + $1 RETURNING newest'
const PUT_SQL = `INSERT INTO notes (conversation, about, kind, text) VALUES ($1, $2, $3, $4)
  ON CONFLICT (conversation, about, kind) DO UPDATE SET text = excluded.text`

export function postgresNotes(database: Database): NoteStore {
  return {
    put: (owner, note) => database.write(async (sql) => putNotes(sql, await owned(sql, owner), [note])),
    get: (id, kind, about) =>
      database.read(async (sql) => (await sql.get<{ text: string }>(GET_SQL, id, about, kind))?.text ?? null),
    change: (id, kind, abouts, text) =>
      database.write(async (sql) => void (await sql.run(CHANGE_SQL, id, text, kind, abouts))),
    remove: (id, kind, about) =>
      database.write(async (sql) => {
        if (about === undefined) await sql.run(`DELETE FROM notes WHERE ${OF} AND kind = $2`, id, kind)
        else await sql.run(`DELETE FROM notes WHERE ${OF} AND kind = $2 AND about = $3`, id, kind, about)
      }),
    newest: () =>
      database.read(async (sql) => (await sql.get<{ newest: number }>('SELECT newest FROM note_counter'))?.newest ?? 0),
  }
}

/** Stores notes in the current transaction and returns the number of the last one. */
export async function putNotes(sql: Sql, conversation: number, notes: readonly Note[]): Promise<number> {
  for (const { about, kind, text } of notes) await sql.run(PUT_SQL, conversation, about, kind, text)
  const counted = await sql.get<{ newest: number }>(COUNT_SQL, notes.length)
  if (counted === undefined) throw new Error('the counter of notes is missing')
  return counted.newest
}

/** Number of a conversation that has this owner until the end of the transaction. */
export async function owned(sql: Sql, { id, epoch }: NoteOwner): Promise<number> {
  const text = 'SELECT n, epoch FROM conversations WHERE id = $1 FOR NO KEY UPDATE'
  const row = await sql.get<{ n: number; epoch: number }>(text, id)
  if (row === undefined)
    throw new ParleyError('not_found', `no conversation ${id}`, { details: { conversation_id: id } })
  if (row.epoch === epoch) return row.n
  const message = `conversation ${id} has another owner: epoch ${epoch} was replaced by ${row.epoch}; own it again`
  throw new ParleyError('conflict', message, { details: { reason: 'epoch', conversation_id: id, epoch: row.epoch } })
}
