/** `parley` in a pseudo-terminal, with a model of its screen. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn, type IPty } from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { startServer, temporaryFolder } from '../../packages/cli/src/testing/parley.ts'

const MAIN = join(import.meta.dirname, '../../packages/cli/src/main.ts')
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/parley-tests')
const PATIENCE_MS = 25_000

class TerminalClient implements AsyncDisposable {
  readonly #pty: IPty
  readonly #screen: InstanceType<typeof xterm.Terminal>
  readonly #exited: Promise<number>
  #wake: (() => void)[] = []
  #code: number | null = null
  /** Every byte that was written. */
  output = ''

  constructor(argv: readonly string[], env: Record<string, string>, cwd: string, cols = 80, rows = 40) {
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 2000, allowProposedApi: true })
    this.#pty = spawn(process.execPath, [MAIN, ...argv], { cols, rows, cwd, env, name: 'xterm-256color' })
    // Answers of the terminal to questions of the program.
    this.#screen.onData((data) => this.#pty.write(data))
    this.#pty.onData((data) => {
      this.output += data
      this.#screen.write(data, () => this.#woken())
    })
    this.#exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => {
        this.#code = exitCode
        this.#woken()
        resolve(exitCode)
      })
    })
  }

  /** Lines of the screen and of what has scrolled out of it, without spaces at their ends; empty lines at the end are left out. */
  lines(): string[] {
    const { active } = this.#screen.buffer
    const lines = Array.from(
      { length: active.length },
      (_, row) => active.getLine(row)?.translateToString(true).trimEnd() ?? '',
    )
    return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
  }

  /** The lines with what changes between runs replaced: ids, elapsed seconds, frames of the spinner. */
  shown(): string {
    return this.lines()
      .join('\n')
      .replace(/\b[0-9a-f]{8}\b/g, 'IDENTITY')
      .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*')
      .replace(/· \d+ s ·/g, '· 0 s ·')
  }

  /** Resolves when the screen matches. @throws Error with the screen when it does not in time, or when the program has ended before */
  async shows(pattern: RegExp): Promise<void> {
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      this.#woken()
    }, PATIENCE_MS)
    try {
      while (!pattern.test(this.lines().join('\n'))) {
        if (isLate || this.#code !== null)
          throw new Error(`the screen never matched ${pattern}:\n${this.lines().join('\n')}`)
        await new Promise<void>((resolve) => this.#wake.push(resolve))
      }
    } finally {
      clearTimeout(late)
    }
  }

  type(text: string): void {
    this.#pty.write(text)
  }

  /** Presses a key until the screen matches: a question ignores keys of its first moments. */
  async press(key: string, pattern: RegExp): Promise<void> {
    const again = setInterval(() => this.type(key), 700)
    try {
      await this.shows(pattern)
    } finally {
      clearInterval(again)
    }
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows)
    this.#pty.resize(cols, rows)
  }

  exit(): Promise<number> {
    return this.#exited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#code === null) this.#pty.kill('SIGKILL')
    await this.#exited
    this.#screen.dispose()
  }

  #woken(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

export const command = (text: string, line: string) => ({
  text,
  tool_calls: [{ name: 'terminal', arguments: { command: line } }],
})

export type Bench = AsyncDisposable & {
  /** Directory of the project. */
  work: string
  dataDir: string
  /** Starts a server on the data directory. */
  serve(argv?: readonly string[]): Promise<AsyncDisposable & { kill(): Promise<void> }>
  open(argv?: readonly string[], options?: { cols?: number; env?: Record<string, string> }): TerminalClient
}

/** A project whose server has a model with these answers. */
export async function startBench(answers: readonly unknown[]): Promise<Bench> {
  const folder = await temporaryFolder()
  const work = join(folder.path, 'work')
  const dataDir = join(folder.path, 'data')
  await Promise.all([work, dataDir].map((path) => mkdir(path, { mode: 0o700 })))
  const script = join(folder.path, 'script.json')
  await writeFile(script, JSON.stringify(answers))
  const model = answers.length === 0 ? {} : { LLM_MODEL: `scripted/${script}` }
  const base = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder.path,
    TERM: 'xterm-256color',
    NODE_COMPILE_CACHE: CACHE,
    PARLEY_DATA_DIR: dataDir,
    PARLEY_ALLOW_ROOT: 'true',
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '2',
    ...model,
  }
  return {
    work,
    dataDir,
    async serve(argv) {
      const { parley } = await startServer({ dataDir, env: model }, argv)
      return {
        async kill() {
          parley.process.kill('SIGKILL')
          await parley.exit()
        },
        [Symbol.asyncDispose]: () => parley[Symbol.asyncDispose](),
      }
    },
    open: (argv = [], { cols = 80, env = {} } = {}) => new TerminalClient(argv, { ...base, ...env }, work, cols),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}
