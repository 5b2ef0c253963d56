/**
 * Journal of edits on disk, for undo and for recovery after the server was killed.
 *
 * Invariants
 *   J1. A note is durable before its file changes; without a note the file was not changed.
 *   J2. A note has the file's hash before and after; the file's hash now shows whether the edit took place.
 *   J3. Everything is keyed by call id, so repeating a step changes nothing.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../lib/index.ts'

/** Contents kept per file. Source: agent-core.md 8.3. */
const MAX_HISTORY = 10
/**
 * Limit of stored notes. Notes of calls whose result is stored are not needed, and fewer calls than this run at once.
 */
const MAX_NOTES = 500

/** Hash of a file's bytes; null: no file. */
export type Hash = string | null
export type Note = {
  call_id: string
  path: string
  before: Hash
  after: Hash
  /** Name of the content that an undo restores. */ undoes?: string
}
/** Content of a file before one edit. */
export type Past = { name: string; bytes: Uint8Array | null }

export const hashOf = (bytes: Uint8Array | null): Hash =>
  bytes === null ? null : createHash('sha256').update(bytes).digest('hex')

export class Journal {
  readonly #dir: string

  /** `dir` is created at the first write. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Stores the plan of a call (J1). */
  async write(note: Note): Promise<void> {
    const dir = join(this.#dir, 'notes')
    await writeDurably(join(dir, `${fileName(note.call_id)}.json`), JSON.stringify(note))
    await trim(dir, MAX_NOTES)
  }

  /** Returns the note of a call; null when the call wrote nothing. */
  async read(callId: string): Promise<Note | null> {
    const text = await readIfThere(join(this.#dir, 'notes', `${fileName(callId)}.json`))
    return text === null ? null : (JSON.parse(text.toString('utf8')) as Note)
  }

  /** Stores the content before this call; null: no file. Resolves to the name for `forget`. */
  async remember(path: string, callId: string, bytes: Uint8Array | null): Promise<string> {
    const dir = this.#historyOf(path)
    await mkdir(dir, { recursive: true })
    const names = await listIfThere(dir)
    const known = names.find((name) => name.includes(`.${fileName(callId)}.`))
    const number = known?.split('.', 1)[0] ?? String(Number(names.at(-1)?.split('.', 1)[0] ?? 0) + 1).padStart(8, '0')
    const name = `${number}.${fileName(callId)}.${bytes === null ? 'absent' : 'content'}`
    const temporary = join(this.#dir, `history-${fileName(callId)}.new`)
    await writeFile(temporary, bytes ?? '', { mode: 0o600 })
    await rename(temporary, join(dir, name))
    await trim(dir, MAX_HISTORY)
    return name
  }

  /** Returns the content before the newest edit that is not undone; null when there is none. */
  async newest(path: string): Promise<Past | null> {
    const dir = this.#historyOf(path)
    const name = (await listIfThere(dir)).at(-1)
    if (name === undefined) return null
    return { name, bytes: name.endsWith('.absent') ? null : await readFile(join(dir, name)) }
  }

  /** Returns the content before one call; undefined when it is not stored (any more). */
  async before(path: string, callId: string): Promise<Uint8Array | null | undefined> {
    const dir = this.#historyOf(path)
    const name = (await listIfThere(dir)).find((candidate) => candidate.includes(`.${fileName(callId)}.`))
    if (name === undefined) return undefined
    return name.endsWith('.absent') ? null : await readFile(join(dir, name))
  }

  /** Removes a content that an undo restored, or that an edit did not replace after all. */
  async forget(path: string, name: string): Promise<void> {
    await rm(join(this.#historyOf(path), name), { force: true })
  }

  #historyOf(path: string): string {
    return join(this.#dir, 'history', createHash('sha256').update(path).digest('hex').slice(0, 32))
  }
}

/** The server makes call ids, but a file name must not depend on that. */
const fileName = (callId: string): string => callId.replaceAll(/[^\w-]/g, '_')

async function trim(dir: string, keep: number): Promise<void> {
  const names = await listIfThere(dir)
  await Promise.all(
    names.slice(0, Math.max(0, names.length - keep)).map((name) => rm(join(dir, name), { force: true })),
  )
}

async function listIfThere(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).filter((name) => !name.endsWith('.new')).toSorted()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'
