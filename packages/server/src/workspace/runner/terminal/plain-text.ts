/**
 * Turns terminal output into plain text: escape sequences are removed, a line that is overwritten (progress bars) keeps its
 * last state, invalid UTF-8 becomes U+FFFD. Chunks may be cut anywhere.
 */
import { LineWriter } from './line-writer.ts'

const ESC = 0x1b
const BEL = 0x07
const CAN = 0x18
const SUB = 0x1a
const NEWLINE = 0x0a

/** Bytes after which an unfinished operating-system command (title, link) or device string is dropped. */
const MAX_STRING_BYTES = 16 * 1024

type State = 'ground' | 'escape' | 'intermediate' | 'csi' | 'osc' | 'string'

export class PlainText {
  readonly #line: LineWriter
  readonly #onCommand: (payload: string) => void
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #state: State = 'ground'
  #payload: number[] = []

  /** `onText` gets finished text; `onCommand` the payload of each operating-system command, after the text before it. */
  constructor(onText: (text: string) => void, onCommand: (payload: string) => void) {
    this.#line = new LineWriter(onText)
    this.#onCommand = onCommand
  }

  write(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#state === 'ground') {
        const escape = chunk.indexOf(ESC, at)
        const end = escape === -1 ? chunk.length : escape
        if (end > at) this.#line.write(this.#decoder.decode(chunk.subarray(at, end), { stream: true }))
        if (escape !== -1) this.#enter('escape')
        at = end + 1
        continue
      }
      this.#step(chunk[at] ?? 0)
      at += 1
    }
  }

  /** Passes on the unfinished line; later output starts a new one. */
  flush(): void {
    this.#line.write(this.#decoder.decode())
    this.#line.flush()
  }

  #enter(state: State): void {
    // A character that an escape sequence cuts in two is invalid.
    if (this.#state === 'ground') this.#line.write(this.#decoder.decode())
    this.#state = state
    this.#payload = []
  }

  #step(byte: number): void {
    // These bytes end any open sequence, so that invalid output cannot swallow the report of a command.
    if (byte === ESC) return this.#escapeInside()
    if (byte === CAN || byte === SUB) return this.#enter('ground')
    switch (this.#state) {
      case 'escape':
        if (byte === 0x5b) return this.#enter('csi')
        if (byte === 0x5d) return this.#enter('osc')
        if (byte === 0x50 || byte === 0x58 || byte === 0x5e || byte === 0x5f) return this.#enter('string')
        return this.#enter(byte >= 0x20 && byte <= 0x2f ? 'intermediate' : 'ground')
      case 'intermediate':
        if (byte < 0x20 || byte > 0x2f) this.#enter('ground')
        return
      case 'csi':
        return this.#csi(byte)
      case 'osc':
        if (byte === BEL) return this.#endCommand()
        this.#payload.push(byte)
        if (this.#payload.length > MAX_STRING_BYTES || (byte === NEWLINE && this.#payload[0] !== 0x37))
          this.#enter('ground')
        return
      case 'string':
        this.#payload.push(byte)
        if (byte === BEL || this.#payload.length > MAX_STRING_BYTES) this.#enter('ground')
        return
      case 'ground':
        return
      default:
        this.#state satisfies never
    }
  }

  /** ESC \ ends a string; any other ESC starts a new sequence. Both go through `escape`, where `\` is a no-op. */
  #escapeInside(): void {
    if (this.#state === 'osc') this.#endCommand()
    this.#enter('escape')
  }

  #csi(byte: number): void {
    if (byte >= 0x40 && byte <= 0x7e) {
      const parameters = String.fromCharCode(...this.#payload)
      this.#enter('ground')
      this.#line.control(String.fromCharCode(byte), parameters)
      return
    }
    if (byte === NEWLINE || byte > 0x7e || this.#payload.length > 256) {
      this.#enter('ground')
      if (byte === NEWLINE) this.#line.write('\n')
      return
    }
    this.#payload.push(byte)
  }

  #endCommand(): void {
    const payload = Buffer.from(this.#payload).toString('utf8')
    this.#enter('ground')
    this.#onCommand(payload)
  }
}
