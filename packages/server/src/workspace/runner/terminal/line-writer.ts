/** Renders the current line of a terminal: carriage returns, backspaces and erasures change it before it is passed on. */

/** UTF-16 units after which an unfinished line is passed on and can no longer be overwritten. */
const MAX_LINE = 16 * 1024
const MAX_COLUMN = 1_024

// eslint-disable-next-line no-control-regex -- the pattern matches control characters
const UNPRINTABLE = /[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f]/g
const PIECES = /[^\r\n\b]+|[\r\n\b]/g

export class LineWriter {
  readonly #onText: (text: string) => void
  #line = ''
  #column = 0

  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  write(raw: string): void {
    if (raw === '') return
    const text = raw.replaceAll('\r\n', '\n').replace(UNPRINTABLE, '')
    if (this.#column === this.#line.length && !text.includes('\r') && !text.includes('\b')) return this.#append(text)
    for (const [piece] of text.matchAll(PIECES)) {
      if (piece === '\r') this.#column = 0
      else if (piece === '\b') this.#column = Math.max(0, this.#column - 1)
      else if (piece === '\n') this.#newline()
      else this.#overwrite(piece)
    }
  }

  /** The usual case: the cursor does not move backwards. */
  #append(text: string): void {
    const all = this.#line + text
    const end = all.lastIndexOf('\n') + 1
    if (end > 0) this.#onText(all.slice(0, end))
    this.#set(all.slice(end))
  }

  #overwrite(text: string): void {
    const before = this.#line.slice(0, this.#column).padEnd(this.#column)
    const column = before.length + text.length
    this.#set(before + text + this.#line.slice(column), column)
  }

  #newline(): void {
    this.#onText(`${this.#line}\n`)
    this.#set('')
  }

  #set(line: string, column = line.length): void {
    this.#line = line
    this.#column = column
    if (line.length > MAX_LINE) this.flush()
  }

  /** A control sequence that moves within the line or erases; moves between lines become a line break. */
  control(final: string, parameters: string): void {
    const count = Number.parseInt(parameters, 10)
    const distance = Math.min(MAX_COLUMN, Number.isNaN(count) ? 1 : Math.max(1, count))
    switch (final) {
      case 'C':
        this.#column = Math.min(MAX_LINE, this.#column + distance)
        return
      case 'D':
        this.#column = Math.max(0, this.#column - distance)
        return
      case 'G':
        this.#column = distance - 1
        return
      case 'K':
        return this.#erase(Number.isNaN(count) ? 0 : count)
      case 'H':
      case 'f':
      case 'd':
      case 'B':
      case 'E':
        if (this.#line.trim() !== '') this.#newline()
        this.#set('')
        return
      default:
    }
  }

  #erase(part: number): void {
    if (part === 0) this.#line = this.#line.slice(0, this.#column)
    else if (part === 1)
      this.#line = ' '.repeat(Math.min(this.#column, this.#line.length)) + this.#line.slice(this.#column)
    else this.#line = ''
  }

  flush(): void {
    if (this.#line !== '') this.#onText(this.#line)
    this.#line = ''
    this.#column = 0
  }
}
