/**
 * Notes of planned patches, on disk before the first file changes, so that a killed server leaves no half-applied
 * patch.
 *
 * Invariants
 *   P1. A note is durable before any of its files changes; without a note no file was changed.
 *   P2. A note contains everything to be written: another process completes the patch of a dead one in the same way.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../lib/index.ts'
import type { Change, Plan, Write } from './plan.ts'

/**
 * Limit of stored notes. Notes of calls whose result is stored are not needed, and fewer patches than this run at once.
 */
const MAX_NOTES = 50

export type Note = Plan & { call_id: string }
type Stored = {
  call_id: string
  writes: { path: string; before: string | null; after: string | null; mode: number | null }[]
  changes: Record<string, Change>
  fuzz: number
}

export class PatchJournal {
  readonly #dir: string

  /** `dir` is created at the first write. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Stores the plan of a call (P1). */
  async write({ call_id, writes, changes, fuzz }: Note): Promise<void> {
    const stored: Stored = { call_id, writes: writes.map(packed), changes, fuzz }
    await writeDurably(this.#pathOf(call_id), JSON.stringify(stored))
    await this.#trim()
  }

  /** Returns the note of a call; null when the call wrote nothing. */
  async read(callId: string): Promise<Note | null> {
    try {
      const { writes, ...rest } = JSON.parse(await readFile(this.#pathOf(callId), 'utf8')) as Stored
      return { ...rest, writes: writes.map(unpacked) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  /** A patch that was rolled back counts as never applied. */
  async forget(callId: string): Promise<void> {
    await rm(this.#pathOf(callId), { force: true })
  }

  /** The server makes call ids, but a file name must not depend on that. */
  #pathOf(callId: string): string {
    return join(this.#dir, `${callId.replaceAll(/[^\w-]/g, '_')}.json`)
  }

  async #trim(): Promise<void> {
    const names = (await readdir(this.#dir)).filter((name) => name.endsWith('.json')).toSorted()
    for (const name of names.slice(0, -MAX_NOTES)) await rm(join(this.#dir, name), { force: true })
  }
}

const packed = ({ path, before, after, mode }: Write) => ({ path, before: base64(before), after: base64(after), mode })
const unpacked = ({ path, before, after, mode }: Stored['writes'][number]): Write => ({
  path,
  before: bytes(before),
  after: bytes(after),
  mode,
})
const base64 = (data: Uint8Array | null): string | null => (data === null ? null : Buffer.from(data).toString('base64'))
const bytes = (text: string | null): Uint8Array | null => (text === null ? null : Buffer.from(text, 'base64'))
