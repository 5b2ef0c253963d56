import type { ConversationId } from '@parley/protocol'

/**
 * `file_editor`, `apply_patch`: what a call is going to write. `remote_call`: a call that is going to be sent to another agent
 * server. `remote_shell`: how much of the output of the newest command there has been shown. `arguments`: the arguments of a
 * call whose event is masked. `batch`: whether a client has received a batch that waits. `client_deadline`, `client_result`: of a call
 * that a client executes.
 */
export type NoteKind =
  | 'file_editor'
  | 'apply_patch'
  | 'remote_call'
  | 'remote_shell'
  | 'arguments'
  | 'batch'
  | 'client_deadline'
  | 'client_result'

/** State of an open call, or of a batch that waits, that is not an event. */
export type Note = {
  /** Id of the batch, or of the call, or of a part of it: `<id of the call>-<name of the part>`. For other kinds a name. */
  about: string
  kind: NoteKind
  /** Opaque for the store; its writer seals what must not be readable. */
  text: string
}

/** The process that writes a note: the owner of the conversation, as in an append. */
export type NoteOwner = { id: ConversationId; epoch: number }

/**
 * Notes of conversations. An append that names a call or a batch as settled deletes its notes in the same transaction, and
 * a deleted conversation has none.
 */
export interface NoteStore {
  /**
   * Stores a note, and replaces the note of the same kind about the same call. Durable when it resolves, with a number that is
   * higher than that of every note before, deleted ones included.
   * @throws ParleyError `conflict` with `details.reason` `epoch`, or `not_found`, without a change.
   */
  put(owner: NoteOwner, note: Note): Promise<number>
  /** Text of a note; null when there is none. */
  get(id: ConversationId, kind: NoteKind, about: string): Promise<string | null>
  /** Replaces the texts of notes that exist. Needs no owner. */
  change(id: ConversationId, kind: NoteKind, abouts: readonly string[], text: string): Promise<void>
  /** Deletes the note of one kind about one call, or all notes of that kind. */
  remove(id: ConversationId, kind: NoteKind, about?: string): Promise<void>
  /** Number of the newest note that this store has ever had; 0 before the first. */
  newest(): Promise<number>
}
