/**
 * Append-only file of JSON lines: written immediately, made durable in groups, read by position.
 *
 * Invariants
 *   J1. A line is readable only if it is complete: it ends with the checksum of its text. Lines of version 0.1.0 have none.
 *   J2. A failed write leaves nothing behind, so the next line does not continue a fragment.
 *   J3. After a failed sync, `durable` refuses until `rewrite` has written every line again: the system may have dropped the
 *       unwritten pages and report success the next time.
 */
import {
  closeSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { readAt } from './read-at.ts'

export type Position = { offset: number; length: number }

/** `record` is undefined for a line that is damaged or incomplete. */
export type JournalLine = { record: unknown; position: Position }

export class Journal {
  readonly #path: string
  #fd: number
  #size: number
  #syncing: Promise<void> | null = null
  #queued: Promise<void> | null = null
  /** Bytes of a failed write may follow the last line (J2). */
  #hasRest = false
  #hasFailedSync = false

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

  /** True after a failed sync: lines may be missing on disk although they can be read here (J3). */
  get mustRewrite(): boolean {
    return this.#hasFailedSync
  }

  /**
   * Appends a line to the page cache: it survives the end of this process, but not yet a crash of the machine.
   * @throws the system's error, without a change to the file, when the line cannot be written (J2).
   */
  append(record: object): Position {
    this.#removeRest()
    const line = lineOf(record)
    const position = { offset: this.#size, length: line.length }
    try {
      writeAll(this.#fd, line)
    } catch (error) {
      this.#hasRest = true
      this.#removeRest()
      throw error
    }
    this.#size += line.length
    return position
  }

  #removeRest(): void {
    if (!this.#hasRest) return
    ftruncateSync(this.#fd, this.#size)
    this.#hasRest = false
  }

  /** Resolves when every earlier line is on disk. Concurrent callers share one sync. */
  durable(): Promise<void> {
    if (this.#syncing === null) return (this.#syncing = this.#sync())
    // The running sync may have begun before the caller's line, so the caller waits for the next one.
    this.#queued ??= this.#syncing
      .catch(() => undefined)
      .then(() => {
        this.#queued = null
        return (this.#syncing = this.#sync())
      })
    return this.#queued
  }

  async #sync(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const fd = this.#fd
    if (this.#hasFailedSync) reject(new Error('an earlier sync of the journal failed'))
    else fdatasync(fd, (error) => (error === null ? resolve() : reject(error)))
    try {
      await promise
    } catch (error) {
      this.#hasFailedSync ||= fd === this.#fd
      throw error
    } finally {
      if (this.#queued === null) this.#syncing = null
    }
  }

  readAt({ offset, length }: Position): unknown {
    const line = readAt(this.#fd, offset, length)
    const record = parsed(line.subarray(0, -1))
    if (record === undefined) throw new Error(`the line at ${offset} of the journal is damaged`)
    return record
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

  /** Every line, oldest first. */
  lines(): Generator<JournalLine> {
    return linesOf(this.#fd, 0, this.#size)
  }

  /**
   * Replaces all lines by `records`, atomically. Returns the new positions.
   * @throws the system's error, without a change, when they cannot be written.
   */
  rewrite(records: Iterable<object>): Position[] {
    const { positions, size } = this.#writeFresh(records)
    syncFolder(this.#path)
    const old = this.#fd
    this.#fd = openSync(this.#path, 'a+', 0o600)
    this.#size = size
    this.#hasRest = false
    this.#hasFailedSync = false
    // A sync of the old file may be in progress; its lines are in the new file, which is on disk already.
    void (this.#queued ?? this.#syncing ?? Promise.resolve()).catch(() => undefined).then(() => closeSync(old))
    return positions
  }

  #writeFresh(records: Iterable<object>): { positions: Position[]; size: number } {
    const fresh = `${this.#path}.new`
    const fd = openSync(fresh, 'w+', 0o600)
    try {
      const positions: Position[] = []
      let size = 0
      for (const record of records) {
        const line = lineOf(record)
        positions.push({ offset: size, length: line.length })
        writeAll(fd, line)
        size += line.length
      }
      fsyncSync(fd)
      renameSync(fresh, this.#path)
      return { positions, size }
    } catch (error) {
      rmSync(fresh, { force: true })
      throw error
    } finally {
      closeSync(fd)
    }
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written)
}

const CHECKSUM = /,"crc":"([0-9a-f]{8})"\}$/
const CHECKSUM_CHARS = ',"crc":"00000000"}'.length

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** The checksum is the last member, so that an earlier version can read the line. */
function lineOf(record: object): Buffer {
  const text = JSON.stringify(record)
  return Buffer.from(`${text.slice(0, -1)},"crc":"${checksum(text)}"}\n`)
}

const hasChecksum = (line: Buffer): boolean => CHECKSUM.test(line.subarray(-CHECKSUM_CHARS).toString('latin1'))

/** The record of a line; undefined when it is damaged or incomplete (J1). */
function parsed(line: Buffer): unknown {
  const text = line.toString('utf8')
  const sum = CHECKSUM.exec(text.slice(-CHECKSUM_CHARS))?.[1]
  if (sum !== undefined && sum !== checksum(`${text.slice(0, -CHECKSUM_CHARS)}}`)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The lines of a file between two offsets, oldest first, where those without a checksum come first. Blanked lines are left out. */
export function* linesOf(fd: number, from: number, to: number): Generator<JournalLine> {
  let offset = from
  let rest = Buffer.alloc(0)
  let hasChecksums = false
  for (let at = from; at < to;) {
    const chunk = readAt(fd, at, Math.min(1 << 20, to - at))
    if (chunk.length === 0) break
    at += chunk.length
    rest = Buffer.concat([rest, chunk])
    let start = 0
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, start)) {
      const length = end - start + 1
      const line = rest.subarray(start, end)
      hasChecksums ||= hasChecksum(line)
      const isComplete = !hasChecksums || hasChecksum(line)
      if (!isBlank(line)) yield { record: isComplete ? parsed(line) : undefined, position: { offset, length } }
      offset += length
      start = end + 1
    }
    rest = rest.subarray(start)
  }
  if (rest.length > 0) yield { record: undefined, position: { offset, length: rest.length } }
}

/** The first line of the journal at `path`; undefined when it is damaged, null when there is no file. */
export function firstLine(path: string): unknown {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const start = readAt(fd, 0, 4096)
    const end = start.indexOf(10)
    return end === -1 ? undefined : parsed(start.subarray(0, end))
  } finally {
    closeSync(fd)
  }
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 32)
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
