/** For tests: `parley` as a process, and a temporary folder. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ParleyClient } from '@parley/client'

/** The cache that the tests of the server use, too. */
const COMPILE_CACHE = join(import.meta.dirname, '../../../../node_modules/.cache/parley-tests')
const MAIN = join(import.meta.dirname, '..', 'main.ts')

/** Shorter than the time limit of a test, so that a failing test still cleans up. */
const PATIENCE_MS = 15_000

/** `cwd`: default: the data directory. */
export type Options = { dataDir: string; env?: Record<string, string>; cwd?: string }

/** A running command line with its output. Disposing ends the process. */
export class Parley implements AsyncDisposable {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''
  readonly #exited: Promise<unknown>
  #wake: (() => void)[] = []

  constructor(argv: readonly string[], { dataDir, env = {}, cwd = dataDir }: Options) {
    mkdirSync(dataDir, { recursive: true })
    // The environment of the test run must not configure the command.
    const clean = {
      PATH: process.env['PATH'] ?? '',
      HOME: dataDir,
      TZ: 'UTC',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PARLEY_DATA_DIR: dataDir,
      PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '2',
      PARLEY_ALLOW_ROOT: 'true',
      ...env,
    }
    this.process = spawn(process.execPath, [MAIN, ...argv], { env: clean, cwd, stdio: 'pipe' })
    this.#exited = once(this.process, 'close').then(() => this.#woken())
    this.process.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#woken()
    })
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#woken()
    })
  }

  /** Resolves to the match as soon as the output contains it. Rejects when the command ends or `PATIENCE_MS` passes without it. */
  async prints(pattern: RegExp): Promise<RegExpMatchArray> {
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      this.#woken()
    }, PATIENCE_MS)
    try {
      return await this.#match(pattern, () => isLate)
    } finally {
      clearTimeout(late)
    }
  }

  async #match(pattern: RegExp, isLate: () => boolean): Promise<RegExpMatchArray> {
    for (;;) {
      const match = this.stdout.match(pattern)
      if (match !== null) return match
      const hasEnded = this.process.exitCode !== null || this.process.signalCode !== null
      if (hasEnded || isLate()) {
        const how = hasEnded ? 'ended without printing' : 'did not print in time'
        throw new Error(`${how} ${pattern}:\n${this.stdout}\n${this.stderr}`)
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
  }

  type(text: string): void {
    this.process.stdin!.write(text)
  }

  /** Resolves to the exit code, or to the signal that ended the process. */
  async exit(): Promise<number | string> {
    await this.#exited
    return this.process.exitCode ?? this.process.signalCode ?? 'unknown'
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL')
    await this.#exited
  }

  #woken(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

/** Runs a command to its end. */
export async function run(
  argv: readonly string[],
  options: Options,
  input = '',
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  await using parley = new Parley(argv, options)
  parley.process.stdin!.end(input)
  const code = await parley.exit()
  return { code, stdout: parley.stdout, stderr: parley.stderr }
}

/** Starts a server process; resolves when it is ready. */
export async function startServer(options: Options, argv: readonly string[] = ['--port', '0']) {
  const parley = new Parley(['serve', ...argv], options)
  const [, url] = await parley.prints(/^parley is listening on (\S+)$/m)
  return { parley, url: url! }
}

export const clientOf = (baseUrl: string, apiKey: string): ParleyClient => new ParleyClient({ baseUrl, apiKey })

/** Creates a folder directly under the system's temporary folder, because socket paths must be short. */
export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'parley-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

/** Returns the processes whose command line or environment names the folder. Linux only. */
export async function processesOf(folder: string): Promise<number[]> {
  const { readdir, readFile } = await import('node:fs/promises')
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const named = await Promise.all(
    pids.map(async (pid) => {
      const texts = await Promise.all(
        ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
      )
      return texts.some((text) => text.includes(folder)) ? Number(pid) : null
    }),
  )
  return named.filter((pid) => pid !== null)
}
