/** Output of any length in bounded space: its first and last part, in a file once it is longer than a few kilobytes. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readAt } from './read-at.ts'

/** Bytes kept in memory, and in the line of the ledger, before a file is created. */
const INLINE_BYTES = 8 * 1024

/**
 * A finished output in the ledger. `half`: size of the head, and of the ring that follows it. `lost`: bytes at the end that the
 * disk refused.
 */
export type Sealed =
  | { kind: 'inline'; data: string; chars: number; lost?: number }
  | { kind: 'file'; name: string; half: number; total: number; chars: number; lost?: number }

export type Content = {
  head: Buffer
  tail: Buffer
  /** Bytes missing between head and tail. */
  dropped: number
}

let nextFile = 0

export class BoundedOutput {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #half: number
  #inline: Buffer[] = []
  #file: { fd: number; name: string } | null = null
  #total = 0
  /** Bytes that could not be written, at the end of the output. Once there are any, nothing more is kept. */
  #lost = 0
  /** UTF-16 units appended through `appendText`. */
  #chars = 0

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    this.#half = Math.max(1, maxBytes >> 1)
  }

  get isEmpty(): boolean {
    return this.#total + this.#lost === 0
  }

  appendText(text: string): void {
    this.#chars += text.length
    this.append(Buffer.from(text, 'utf8'))
  }

  /**
   * Never throws: what the disk refuses is counted as lost, because the program that wrote it continues.
   * @param data is kept, so it must not change afterwards
   */
  append(data: Buffer): void {
    if (data.length === 0) return
    const before = this.#total
    try {
      if (this.#lost === 0) this.#keep(data)
    } catch {
      // A full or failed disk; the count below is what remains.
    }
    this.#lost += data.length - (this.#total - before)
  }

  #keep(data: Buffer): void {
    if (this.#file === null) {
      if (this.#total + data.length <= Math.min(INLINE_BYTES, this.#maxBytes)) {
        this.#inline.push(data)
        this.#total += data.length
        return
      }
      this.#spill()
    }
    this.#write(data)
  }

  #spill(): void {
    const name = `${process.pid}-${Date.now().toString(36)}-${nextFile++}.out`
    const held = Buffer.concat(this.#inline)
    this.#file = { fd: openSync(join(this.#folder, name), 'wx+', 0o600), name }
    this.#total = 0
    try {
      this.#write(held)
      this.#inline = []
    } catch (error) {
      this.discard()
      this.#total = held.length
      throw error
    }
  }

  /** Writes the head first, then into a ring of the same size, where newer bytes overwrite older ones. */
  #write(data: Buffer): void {
    if (this.#file === null) return
    let from = 0
    const free = this.#half - this.#total
    if (free > 0) {
      from = Math.min(free, data.length)
      writeAllAt(this.#file.fd, data.subarray(0, from), this.#total)
      this.#total += from
    }
    const skipped = Math.max(0, data.length - from - this.#half)
    from += skipped
    this.#total += skipped
    while (from < data.length) {
      const at = (this.#total - this.#half) % this.#half
      const length = Math.min(data.length - from, this.#half - at)
      writeAllAt(this.#file.fd, data.subarray(from, from + length), this.#half + at)
      from += length
      this.#total += length
    }
  }

  read(): Content {
    const kept =
      this.#file === null
        ? inlineContent(Buffer.concat(this.#inline))
        : readRing(this.#file.fd, this.#half, this.#total)
    return withLost(kept, this.#lost)
  }

  get chars(): number {
    return this.#chars
  }

  /** Ends the output; its file, if there is one, stays for `readSealed`. */
  seal(): Sealed {
    const rest = { chars: this.#chars, ...(this.#lost === 0 ? {} : { lost: this.#lost }) }
    if (this.#file === null) return { kind: 'inline', data: Buffer.concat(this.#inline).toString('base64'), ...rest }
    closeSync(this.#file.fd)
    return { kind: 'file', name: this.#file.name, half: this.#half, total: this.#total, ...rest }
  }

  /** Ends the output and removes its file. */
  discard(): void {
    if (this.#file === null) return
    closeSync(this.#file.fd)
    rmSync(join(this.#folder, this.#file.name), { force: true })
    this.#file = null
  }
}

/** Reads a sealed output. When its file was removed, everything counts as dropped. */
export function readSealed(folder: string, sealed: Sealed): Content {
  const { lost = 0 } = sealed
  if (sealed.kind === 'inline') return withLost(inlineContent(Buffer.from(sealed.data, 'base64')), lost)
  const fd = tryOpen(join(folder, sealed.name))
  if (fd === null) return { head: Buffer.alloc(0), tail: Buffer.alloc(0), dropped: sealed.total + lost }
  try {
    return withLost(readRing(fd, sealed.half, sealed.total), lost)
  } finally {
    closeSync(fd)
  }
}

export function discardSealed(folder: string, sealed: Sealed): void {
  if (sealed.kind === 'file') rmSync(join(folder, sealed.name), { force: true })
}

const inlineContent = (head: Buffer): Content => ({ head, tail: Buffer.alloc(0), dropped: 0 })

/** The lost end of an output counts as dropped. */
function withLost({ head, tail, dropped }: Content, lost: number): Content {
  if (lost === 0) return { head, tail, dropped }
  const isWhole = dropped === 0
  const kept = isWhole ? { head: Buffer.concat([head, tail]), tail: Buffer.alloc(0) } : { head, tail }
  return { ...kept, dropped: dropped + lost }
}

function writeAllAt(fd: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length;)
    written += writeSync(fd, bytes, written, bytes.length - written, position + written)
}

function readRing(fd: number, half: number, total: number): Content {
  const head = readAt(fd, 0, Math.min(total, half))
  const behind = Math.max(0, total - half)
  if (behind <= half) return { head, tail: readAt(fd, half, behind), dropped: 0 }
  const at = behind % half
  const tail = Buffer.concat([readAt(fd, half + at, half - at), readAt(fd, half, at)])
  return { head, tail, dropped: behind - half }
}

function tryOpen(path: string): number | null {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Content as text, without the character that the cut between head and tail splits. */
export function contentText({ head, tail, dropped }: Content): { head: string; tail: string } {
  if (dropped === 0) return { head: Buffer.concat([head, tail]).toString('utf8'), tail: '' }
  return { head: withoutSplitEnd(head).toString('utf8'), tail: withoutSplitStart(tail).toString('utf8') }
}

function withoutSplitStart(bytes: Buffer): Buffer {
  let from = 0
  while (from < 3 && from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1
  return bytes.subarray(from)
}

function withoutSplitEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
