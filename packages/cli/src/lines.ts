/** Typed lines from a terminal or a pipe. */
import { createInterface, type Interface } from 'node:readline'
import type { Io } from './io.ts'

/** Queue of input lines in order; null marks the end of the input. */
export class Lines implements Disposable {
  readonly #interface: Interface
  readonly #isTerminal: boolean
  readonly #io: Io
  readonly #waiting: (string | null)[] = []
  #wake: (() => void) | null = null
  #isAsking = false

  /** `onInterrupt` is called for Ctrl-C, because a terminal in line mode sends no signal for it. */
  constructor(io: Io, onInterrupt: () => void) {
    this.#io = io
    this.#isTerminal = io.stdin.isTTY === true && io.stdout.isTTY === true
    this.#interface = createInterface({
      input: io.stdin,
      ...(this.#isTerminal ? { output: io.stdout, terminal: true, prompt: '> ' } : { terminal: false }),
    })
    this.#interface.on('line', (line) => {
      this.#isAsking = false
      this.#push(line)
    })
    this.#interface.on('close', () => this.#push(null))
    this.#interface.on('SIGINT', onInterrupt)
  }

  get isTerminal(): boolean {
    return this.#isTerminal
  }

  /** Shows the prompt on a terminal; does nothing in a pipe. */
  ask(): void {
    if (!this.#isTerminal) return
    this.#isAsking = true
    this.#interface.prompt(true)
  }

  /** Prints text instead of the prompt line, if there is one. */
  print(text: string): void {
    if (this.#isAsking) this.#io.stdout.write('\r\u001b[K')
    this.#isAsking = false
    this.#io.stdout.write(text)
  }

  /** Returns the next line without waiting; undefined when there is none yet. */
  take(): string | null | undefined {
    return this.#waiting.shift()
  }

  /** Resolves when `take` has a line. */
  arrival(): Promise<void> {
    if (this.#waiting.length > 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #push(line: string | null): void {
    this.#waiting.push(line)
    this.#wake?.()
    this.#wake = null
  }

  [Symbol.dispose](): void {
    // The following output, such as the prompt of a shell, begins on a new line.
    if (this.#isAsking) this.#io.stdout.write('\n')
    this.#interface.close()
  }
}
