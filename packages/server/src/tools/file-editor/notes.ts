/**
 * Notes of edits, for recovery after the server was killed.
 *
 * Invariants
 *   J1. A note is durable before its file changes; without a note the file was not changed.
 *   J2. A note has the file's hash before and after; the file's hash now shows whether the edit took place.
 *   J3. Everything is keyed by call id, so repeating a step changes nothing.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { keepNote, notesOf } from '../call-notes.ts'
import { readOldNote } from '../old-notes.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'
import { readIfThere } from './access.ts'

/** Hash of a file's bytes; null: no file. */
type Hash = string | null
export type Note = {
  path: string
  before: Hash
  after: Hash
  /** Name of the content that an undo restores. */
  undoes?: string
}

export const hashOf = (bytes: Uint8Array | null): Hash =>
  bytes === null ? null : createHash('sha256').update(bytes).digest('hex')

/** Stores the plan of a call (J1). @throws Refusal when the file was changed while the store refused the note */
export async function writeNote(note: Note, context: ToolContext): Promise<void> {
  if ((await keepNote('file_editor', note, context)) === 'fresh') return
  if (hashOf(await readIfThere(note.path, context)) === note.before) return
  throw new Refusal(
    `${note.path} was changed by someone else before the edit began. Nothing was changed; look at it again.`,
  )
}

/** Returns the note of a call; null when the call wrote nothing. */
export async function readNote(context: ToolContext): Promise<Note | null> {
  const { callId, dataDir } = context
  const stored = await notesOf(context).read('file_editor', callId)
  const text = stored ?? (await readOldNote(join(dataDir, 'file_editor', 'notes'), callId))
  return text === null ? null : (JSON.parse(text) as Note)
}
