/** Number of the newest note of a call, in a file of the data directory: shows that the store was replaced by an older one. */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Digits of the largest safe integer. */
const DIGITS = 16

/**
 * Number in the file; null without a file. Infinity for an unreadable one, which proves nothing.
 * @throws the system's error
 */
export function witnessed(path: string): number | null {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return /^\d{1,16}$/.test(text) ? Number(text) : Infinity
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes the file. It need not survive a power cut: after one the server starts with this store, which changes the mark of the
 * directory, so that an older store is noticed by that.
 */
export class NoteWitness implements Disposable {
  #fd: number
  #value: number

  /** Sets the number, also to a lower one. @throws the system's error */
  constructor(path: string, value: number) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
    this.#value = value
    this.#write()
    ftruncateSync(this.#fd, DIGITS)
  }

  /** Call before the effect that a note announces. @throws the system's error, also after disposal */
  raise(value: number): void {
    if (value <= this.#value) return
    this.#value = value
    this.#write()
  }

  /** One write of a fixed length: a killed process leaves it done or not done. */
  #write(): void {
    writeSync(this.#fd, String(this.#value).padStart(DIGITS), 0)
  }

  [Symbol.dispose](): void {
    const fd = this.#fd
    // The system gives the number of a closed file to the next one.
    this.#fd = -1
    closeSync(fd)
  }
}
