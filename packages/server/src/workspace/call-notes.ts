/**
 * Notes of calls that have begun: what a tool writes, and what is sent to another agent server.
 *
 * Invariants
 *   N1. A note is durable before the effect of its call begins: a call without a note had no effect, if the store is the newest.
 *   N2. The number of the newest note is in the data directory too, before the effect begins. A store with a lower number was
 *       restored: notes of its open calls may be missing (`call-proof.ts`).
 *   N3. Only the owner of a conversation adds notes, so an effect begins only where the next owner reads of it.
 *   N4. A note is deleted in the transaction that stores the result of its call.
 * Source: docs/architecture.md, Recovery.
 */
import { ParleyError } from '@parley/protocol'
import { backoffMs, sleep, type Backoff } from '../lib/index.ts'
import type { Cipher } from '../secrets/index.ts'
import type { NoteKind, NoteOwner, NoteStore } from '../storage/index.ts'
import type { CallProof } from './call-proof.ts'

/** Waits between repetitions of a note that the store refused. */
const BACKOFF: Backoff = { baseMs: 200, maxMs: 1_000 }

/** A note that exists, and was damaged or sealed with another key. */
export class UnreadableNote extends Error {}

/** Notes of one conversation. */
export interface CallNotes {
  /**
   * Stores a note, and replaces the one of the same kind about the same call. Resolves when it is durable.
   * @param signal with it, a note that the store refuses is repeated until the signal aborts
   * @throws ParleyError
   */
  write(kind: NoteKind, about: string, text: string, signal?: AbortSignal): Promise<void>
  /** Null when there is none. @throws UnreadableNote when it cannot be unsealed */
  read(kind: NoteKind, about: string): Promise<string | null>
  /** Removes the note about one call, or all notes of a kind. */
  remove(kind: NoteKind, about?: string): Promise<void>
}

/** The notes of a conversation, for its owner. */
export type OpenCallNotes = (owner: NoteOwner) => CallNotes

export type CallNotesDeps = {
  notes: NoteStore
  /** A note may contain the content of a file, or a secret in a path. */
  cipher: Pick<Cipher, 'seal' | 'open'>
  proof: Pick<CallProof, 'noted'>
}

export function openCallNotes({ notes, cipher, proof }: CallNotesDeps): OpenCallNotes {
  const opened = (sealed: string, kind: NoteKind, about: string): string => {
    try {
      return cipher.open(sealed)
    } catch (cause) {
      throw new UnreadableNote(`the note ${kind} of call ${about} cannot be unsealed`, { cause })
    }
  }
  return (owner) => ({
    async write(kind, about, text, signal) {
      const note = { kind, about, text: cipher.seal(text) }
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await proof.noted(await notes.put(owner, note))
        } catch (error) {
          if (signal === undefined || !(error instanceof ParleyError) || error.code !== 'unavailable') throw error
        }
        await sleep(backoffMs(BACKOFF, attempt), signal)
      }
    },
    async read(kind, about) {
      const text = await notes.get(owner.id, kind, about)
      return text === null ? null : opened(text, kind, about)
    },
    remove: (kind, about) => notes.remove(owner.id, kind, about),
  })
}
