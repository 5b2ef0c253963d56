import type { ConversationId } from '@parley/protocol'
import type { NoteOwner } from './notes.ts'

/**
 * A text that belongs to a conversation and is no event: a task list, a recording. Its parts are opaque for the store; its writer
 * divides the text and seals each part.
 */
export type ConversationFile = {
  name: string
  /** Of at most `MAX_FILE_PART` bytes each. */
  parts: readonly string[]
}

/** Most bytes of one part of a file. */
export const MAX_FILE_PART = 1024 * 1024

/** Files of conversations. They count as stored bytes of the user, and are deleted with their conversation. */
export interface ConversationFileStore {
  /**
   * Stores a file, and replaces the one of the same name. Durable when it resolves.
   * @throws ParleyError `conflict` with `details.reason` `epoch`, or `not_found`, without a change; `too_large` for a part.
   */
  put(owner: NoteOwner, file: ConversationFile): Promise<void>
  /** The parts of a file, in their order; null when there is none. */
  get(id: ConversationId, name: string): Promise<string[] | null>
}
