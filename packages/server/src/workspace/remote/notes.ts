/**
 * Record of the calls that this server has sent to another one.
 *
 * Invariants
 *   R1. A note is durable before any part of its call is sent: a call without a note was never sent.
 *   R2. A note names the folder of its call; a different folder with the same name does not know the call.
 */
import { rm } from 'node:fs/promises'
import { UnreadableNote, type CallNotes } from '../call-notes.ts'
import type { Mark, Note } from './note.ts'
import { OldNotes } from './old-notes.ts'

/** Name of the one mark of a conversation: that of the newest job of its terminal. */
const NEWEST_JOB = 'newest'

export class Notes {
  readonly #notes: CallNotes
  readonly #oldFile: string
  readonly #old: OldNotes

  /** @param oldFile file in which version 0.1.0 kept the notes of this conversation */
  constructor(notes: CallNotes, oldFile: string) {
    this.#notes = notes
    this.#oldFile = oldFile
    this.#old = new OldNotes(oldFile)
  }

  /** @throws UnreadableNote */
  async of(call: string): Promise<Note | null> {
    const text = await this.#notes.read('remote_call', call)
    return text === null ? this.#old.of(call) : (JSON.parse(text) as Note)
  }

  /** False when a line of the old file is unreadable, which may be the note of any call. */
  areComplete(): Promise<boolean> {
    return this.#old.areComplete()
  }

  async markOf(job: string): Promise<Mark | null> {
    const text = await this.#notes.read('remote_shell', NEWEST_JOB).catch(nullIfUnreadable)
    const mark = text === null ? null : (JSON.parse(text) as Mark)
    return mark?.job === job ? mark : this.#old.markOf(job)
  }

  /** Resolves when the note is durable (R1). @throws ParleyError when this server is no longer the owner of the conversation */
  add(note: Note, signal: AbortSignal): Promise<void> {
    return this.#notes.write('remote_call', note.call, JSON.stringify(note), signal)
  }

  /** Does not wait for the disk, because a lost mark only shows output twice. */
  mark(mark: Mark): void {
    this.#notes.write('remote_shell', NEWEST_JOB, JSON.stringify(mark)).catch(() => undefined)
  }

  async remove(): Promise<void> {
    await this.#notes.remove('remote_call')
    await this.#notes.remove('remote_shell')
    this.#old.forget()
    await rm(this.#oldFile, { force: true })
  }
}

/** Without the mark, output is shown twice. */
function nullIfUnreadable(error: unknown): null {
  if (error instanceof UnreadableNote) return null
  throw error
}
