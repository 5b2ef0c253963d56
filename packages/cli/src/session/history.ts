/** Messages that were typed, across sessions: a file that only its user can read. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Io } from '../io.ts'

/** Newest messages that are kept. */
const KEPT = 200

export class History {
  readonly #path: string
  readonly #messages: string[]

  /** The folder is that of XDG_STATE_HOME; a file that cannot be read counts as empty. */
  constructor({ env, home }: Pick<Io, 'env' | 'home'>) {
    this.#path = join(env['XDG_STATE_HOME'] || join(home, '.local', 'state'), 'parley', 'history.json')
    this.#messages = read(this.#path)
  }

  /** Oldest first. */
  get messages(): readonly string[] {
    return this.#messages
  }

  /** A failure to write, as on a full disk, costs the history and nothing else. */
  add(message: string): void {
    if (this.#messages.at(-1) === message) return
    // Another session may have added its own meanwhile.
    this.#messages.splice(0, this.#messages.length, ...[...read(this.#path), message].slice(-KEPT))
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      writeFileSync(this.#path, JSON.stringify(this.#messages), { mode: 0o600 })
    } catch {
      // The next message tries again.
    }
  }
}

function read(path: string): string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string').slice(-KEPT) : []
  } catch {
    return []
  }
}
