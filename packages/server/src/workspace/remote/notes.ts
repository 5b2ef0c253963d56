/**
 * What this side remembers of the calls it has sent to another server.
 *
 * Invariants
 *   N1. A call is noted durably before anything of it is sent: without a note it was never sent.
 *   N2. A note names the folder that the call went to; in another folder of the same name nothing is known of it.
 */
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

export type Note = {
  call: string
  /** Whose output the call shows. */
  job: string
  /** First byte that it shows. */
  from: number
  /** `start`: the call is what the job runs. `look`: it reads, or types into, one that runs. */
  kind: 'start' | 'look'
  token: string
  /** ISO 8601. */
  at: string
}

/** How far a job has been shown. `told`: also how it ended. */
export type Mark = { job: string; upTo: number; told: boolean }

export class Notes {
  readonly #path: string
  #loaded: Promise<{ notes: Map<string, Note>; marks: Map<string, Mark> }> | null = null

  /** The file is made when the first note is written. */
  constructor(path: string) {
    this.#path = path
  }

  async of(call: string): Promise<Note | null> {
    return (await this.#load()).notes.get(call) ?? null
  }

  async markOf(job: string): Promise<Mark | null> {
    return (await this.#load()).marks.get(job) ?? null
  }

  /** Durable when it resolves (N1). */
  async add(note: Note): Promise<void> {
    ;(await this.#load()).notes.set(note.call, note)
    await this.#append(note, true)
  }

  /** A lost mark shows something twice, so it is not waited for on disk. */
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
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    for (const line of text.split('\n')) {
      const entry = parsed(line)
      if (entry === null) continue
      if ('call' in entry) notes.set(entry.call, entry)
      else marks.set(entry.job, entry)
    }
    return { notes, marks }
  }

  async #append(entry: Note | Mark, isDurable: boolean): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await using file = await open(this.#path, 'a', 0o600)
    await file.write(`\n${JSON.stringify(entry)}\n`)
    if (isDurable) await file.sync()
  }
}

/** The last line may be half of one, when the process was killed while it wrote. */
function parsed(line: string): Note | Mark | null {
  if (line === '') return null
  try {
    return JSON.parse(line) as Note | Mark
  } catch {
    return null
  }
}
