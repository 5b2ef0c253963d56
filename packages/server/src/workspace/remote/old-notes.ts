/** Notes that version 0.1.0 kept in a file. They are only read: docs/operations.md, The data directory. */
import { readFile } from 'node:fs/promises'
import type { Mark, Note } from './note.ts'

type Content = { notes: Map<string, Note>; marks: Map<string, Mark>; areComplete: boolean }

export class OldNotes {
  readonly #path: string
  #loaded: Promise<Content> | null = null

  constructor(path: string) {
    this.#path = path
  }

  async of(call: string): Promise<Note | null> {
    return (await this.#load()).notes.get(call) ?? null
  }

  async markOf(job: string): Promise<Mark | null> {
    return (await this.#load()).marks.get(job) ?? null
  }

  /** False when a line is unreadable. */
  async areComplete(): Promise<boolean> {
    return (await this.#load()).areComplete
  }

  /** Reads the file again. */
  forget(): void {
    this.#loaded = null
  }

  #load(): Promise<Content> {
    this.#loaded ??= read(this.#path)
    return this.#loaded
  }
}

async function read(path: string): Promise<Content> {
  const notes = new Map<string, Note>()
  const marks = new Map<string, Mark>()
  let areComplete = true
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
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

/** Null for an incomplete or damaged line. */
function parsed(line: string): Note | Mark | null {
  try {
    return JSON.parse(line) as Note | Mark
  } catch {
    return null
  }
}
