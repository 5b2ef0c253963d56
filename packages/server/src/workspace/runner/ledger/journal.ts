/** Append-only file of JSON lines: written immediately, made durable in groups, read by position. */
import { closeSync, fdatasync, fstatSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { readAt } from './read-at.ts'

export type Position = { offset: number; length: number }

export class Journal {
  readonly #path: string
  #fd: number
  #size: number
  #syncing: Promise<void> | null = null
  #queued: Promise<void> | null = null

  constructor(path: string) {
    this.#path = path
    this.#fd = openSync(path, 'a+', 0o600)
    this.#size = fstatSync(this.#fd).size
    syncFolder(path)
  }

  /** Bytes. */
  get size(): number {
    return this.#size
  }

  /** Appends a line to the page cache: it survives the end of this process, but not yet a crash of the machine. */
  append(record: object): Position {
    const line = Buffer.from(`${JSON.stringify(record)}\n`)
    const position = { offset: this.#size, length: line.length }
    writeAll(this.#fd, line)
    this.#size += line.length
    return position
  }

  /** Resolves when every earlier line is on disk. Concurrent callers share one sync. */
  durable(): Promise<void> {
    if (this.#syncing === null) return (this.#syncing = this.#sync())
    // The running sync may have begun before the caller's line, so the caller waits for the next one.
    this.#queued ??= this.#syncing.then(() => {
      this.#queued = null
      return (this.#syncing = this.#sync())
    })
    return this.#queued
  }

  async #sync(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)))
    try {
      await promise
    } finally {
      if (this.#queued === null) this.#syncing = null
    }
  }

  readAt({ offset, length }: Position): unknown {
    return JSON.parse(readAt(this.#fd, offset, length).toString('utf8'))
  }

  /** Overwrites a line with spaces. The descriptor of the journal can only append, so the file is opened again. */
  blank({ offset, length }: Position): void {
    const fd = openSync(this.#path, 'r+')
    try {
      writeSync(fd, Buffer.alloc(length - 1, ' '), 0, length - 1, offset)
    } finally {
      closeSync(fd)
    }
  }

  /** Every complete line, oldest first. An incomplete last line is the rest of a write that crashed and never took effect. */
  *lines(): Generator<{ record: unknown; position: Position }> {
    let offset = 0
    let rest = Buffer.alloc(0)
    for (let at = 0; at < this.#size;) {
      const chunk = readAt(this.#fd, at, Math.min(1 << 20, this.#size - at))
      if (chunk.length === 0) return
      at += chunk.length
      rest = Buffer.concat([rest, chunk])
      let from = 0
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, from)) {
        const length = end - from + 1
        const record = tryParse(rest.subarray(from, end))
        if (record !== undefined) yield { record, position: { offset, length } }
        offset += length
        from = end + 1
      }
      rest = rest.subarray(from)
    }
  }

  /** Replaces all lines by `records`, atomically. Returns the new positions. */
  rewrite(records: Iterable<object>): Position[] {
    const fresh = `${this.#path}.new`
    const fd = openSync(fresh, 'w+', 0o600)
    const positions: Position[] = []
    let size = 0
    for (const record of records) {
      const line = Buffer.from(`${JSON.stringify(record)}\n`)
      positions.push({ offset: size, length: line.length })
      writeAll(fd, line)
      size += line.length
    }
    fsyncSync(fd)
    closeSync(fd)
    renameSync(fresh, this.#path)
    syncFolder(this.#path)
    const old = this.#fd
    this.#fd = openSync(this.#path, 'a+', 0o600)
    this.#size = size
    // A sync of the old file may be in progress; its lines are in the new file, which is on disk already.
    void (this.#queued ?? this.#syncing ?? Promise.resolve()).catch(() => undefined).then(() => closeSync(old))
    return positions
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written)
}

function tryParse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    // A line that a crash left incomplete, or that was blanked; complete lines may follow it.
    return undefined
  }
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
