/**
 * Record of the calls that this server has sent to another one.
 *
 * Invariants
 *   N1. A note is on disk before any part of its call is sent: a call without a note was never sent.
 *   N2. A note names the folder of its call; a different folder with the same name does not know the call.
 */
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export type Note = {
  call: string
  /** Job whose output the call shows. */
  job: string
  /** First byte of the shown output. */
  from: number
  /** `start`: the call starts the job. `look`: the call reads the output of a running job, or types into it. */
  kind: 'start' | 'look'
  token: string
  /** ISO 8601. */
  at: string
}

/** Number of bytes of a job that have been shown. `told`: its exit has been shown too. */
export type Mark = { job: string; upTo: number; told: boolean }

export class Notes {
  readonly #path: string
  #loaded: Promise<{ notes: Map<string, Note>; marks: Map<string, Mark>; areComplete: boolean }> | null = null

  /** The first note creates the file. */
  constructor(path: string) {
    this.#path = path
  }

  async of(call: string): Promise<Note | null> {
    return (await this.#load()).notes.get(call) ?? null
  }

  /** False when a line is unreadable, which may be the note of any call. */
  async areComplete(): Promise<boolean> {
    return (await this.#load()).areComplete
  }

  async markOf(job: string): Promise<Mark | null> {
    return (await this.#load()).marks.get(job) ?? null
  }

  /** Resolves when the note is on disk (N1). */
  async add(note: Note): Promise<void> {
    ;(await this.#load()).notes.set(note.call, note)
    await this.#append(note, true)
  }

  /** Does not wait for the disk, because a lost mark only shows output twice. */
  async mark(mark: Mark): Promise<void> {
    ;(await this.#load()).marks.set(mark.job, mark)
    await this.#append(mark, false)
  }

  async remove(): Promise<void> {
    this.#loaded = null
    await rm(this.#path, { force: true })
  }

  #load() {
    this.#loaded ??= this.#read()
    return this.#loaded
  }

  async #read() {
    const notes = new Map<string, Note>()
    const marks = new Map<string, Mark>()
    let areComplete = true
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    for (const line of text.split('\n')) {
      if (line === '') continue
      const entry = parsed(line)
      if (entry === null) areComplete = false
      else if ('call' in entry) notes.set(entry.call, entry)
      else marks.set(entry.job, entry)
    }
    return { notes, marks, areComplete }
  }

  async #append(entry: Note | Mark, isDurable: boolean): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await using file = await open(this.#path, 'a', 0o600)
    await file.write(`\n${JSON.stringify(entry)}\n`)
    if (isDurable) await file.sync()
  }
}

/** Null for an incomplete or damaged line. */
function parsed(line: string): Note | Mark | null {
  try {
    return JSON.parse(line) as Note | Mark
  } catch {
    return null
  }
}
