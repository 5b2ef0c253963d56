/** A real server with its runner, on which faults are brought about while clients use it. */
import { statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { limitFiles } from '../../../packages/server/testing/file-limit.ts'
import { processesOf } from '../../../packages/server/testing/processes.ts'
import { RELEASE_KEY } from '../../../packages/server/testing/release-data.ts'
import { SERVER_PROGRAM } from '../../../packages/server/testing/server-program.ts'
import { startServerProcess, type ServerProcess } from '../../../packages/server/testing/server-process.ts'
import { LEDGER_FILE } from '../../../packages/server/src/workspace/runner/ledger/ledger.ts'
import type { Fault, FaultKind } from './plan.ts'
import { describeUnanswered } from './unanswered.ts'
import { refuseWrites } from '../../../packages/server/testing/chosen-store.ts'

const CLOCK = fileURLToPath(new URL('../../../packages/server/testing/shifted-clock.ts', import.meta.url))
const DAY_MS = 24 * 60 * 60 * 1_000
/** Longest end of a server after SIGTERM, in milliseconds, as the operations page promises. */
const END_MS = 10_000
/**
 * A request without an answer for this long is a defect: no fault lasts as long. In seconds, counted by a timer, because the machine
 * may stop this process, too.
 */
const ANSWER_SECONDS = 45
const STARTS = 3

/** What happened at which time. */
type Occurrence = { ms: number; what: string }

export type Answer = { status: number; body: any }

type Places = {
  dataDir: string
  port: number
  /** File that the shift of the server's clock is written to. */
  clock: string
}

export class FaultyServer {
  readonly #places: Places
  readonly #from = performance.now()
  readonly history: Occurrence[] = []
  /** Numbers of the faults that took place. */
  readonly counts: Partial<Record<FaultKind, number>> = {}
  slowestEndMs = 0
  #server: ServerProcess | null = null
  /** The server that this class has ended, or is ending. */
  #ended: ServerProcess | null = null
  /** The end of a server that nothing here has caused. */
  #crash: Error | null = null
  /** Ends the faults that last. */
  readonly #lasting = new Map<FaultKind, () => Promise<void>>()
  #shiftMs = 0
  #description: Promise<string[]> | null = null

  constructor(places: Places) {
    this.#places = places
  }

  get url(): string {
    return `http://127.0.0.1:${this.#places.port}`
  }

  note(what: string): void {
    this.history.push({ ms: Math.round(performance.now() - this.#from), what })
  }

  /** Starts the server. One that another fault may have prevented from starting is started again without the lasting faults. */
  async start(): Promise<void> {
    const { dataDir, port, clock } = this.#places
    await writeFile(clock, String(this.#shiftMs))
    for (let attempt = 1; ; attempt += 1) {
      const from = this.history.length
      const isHindered = () =>
        this.#lasting.size > 0 || this.history.slice(from).some(({ what }) => what.endsWith(': over'))
      try {
        this.#server = await startServerProcess({
          dataDir,
          port,
          argv: ['--inspect-port=0', '--import', CLOCK, SERVER_PROGRAM.entry],
          env: {
            NODE_COMPILE_CACHE: SERVER_PROGRAM.cache,
            PARLEY_SECRET_KEY: RELEASE_KEY,
            PARLEY_RATE_LIMIT_PER_MINUTE: '0',
            PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '30',
            PARLEY_TEST_CLOCK: clock,
            PARLEY_TEST_HEARTBEAT_MS: '1000',
          },
        })
        this.#watch(this.#server)
        return this.note(`server started, pid ${this.#server.process.pid}`)
      } catch (error) {
        this.note(`start refused: ${String(error).slice(0, 300)}`)
        if (attempt === STARTS || !isHindered()) {
          this.#crash = error as Error
          throw error
        }
        await this.lift()
      }
    }
  }

  /** Brings a fault about; one that lasts ends by itself. */
  async apply(fault: Fault): Promise<void> {
    const { kind, lastsMs } = fault
    await this.#lasting.get(kind)?.()
    if (!(await this.#apply(fault))) return
    this.note(`${kind}${lastsMs === 0 ? '' : `, for ${lastsMs} ms`}`)
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }

  /** False when there is nothing that the fault could affect. */
  async #apply({ kind, lastsMs, amount }: Fault): Promise<boolean> {
    const server = this.#server!
    switch (kind) {
      case 'server killed':
        this.#ended = server
        await server.kill()
        await this.start()
        return true
      case 'server terminated':
        await this.terminate()
        await this.start()
        return true
      case 'server frozen':
        server.process.kill('SIGSTOP')
        await sleep(lastsMs)
        server.process.kill('SIGCONT')
        return true
      case 'disk of the server full':
        return this.#fillDisk(kind, server.process.pid!, join(this.#places.dataDir, 'parley.db-wal'), amount, lastsMs)
      case 'disk of the runner full': {
        const runner = await this.runner()
        if (runner === null) return false
        return this.#fillDisk(kind, runner, join(this.#places.dataDir, 'runner', LEDGER_FILE), amount, lastsMs)
      }
      case 'store locked': {
        const refusing = await refuseWrites(this.#places.dataDir)
        this.#until(kind, lastsMs, async () => refusing[Symbol.asyncDispose]())
        return true
      }
      case 'runner killed': {
        const runner = await this.runner()
        return runner !== null && signal(runner, 'SIGKILL')
      }
      case 'runner hung': {
        const runner = await this.runner()
        if (runner === null || !signal(runner, 'SIGSTOP')) return false
        this.#until(kind, lastsMs, async () => void signal(runner, 'SIGCONT'))
        return true
      }
      case 'clock set forward':
        await this.#setClock(this.#shiftMs + far(amount))
        return true
      case 'clock set back':
        await this.#setClock(this.#shiftMs - far(amount))
        return true
      default:
        return kind satisfies never
    }
  }

  /** Ends all faults that last, and sets the clock right. */
  async lift(): Promise<void> {
    for (const end of this.#lasting.values()) await end()
    await this.#setClock(0)
  }

  /** Ends the server with SIGTERM. @throws when that takes longer than it may, or fails. */
  async terminate(): Promise<void> {
    const server = this.#server!
    this.#ended = server
    const asked = performance.now()
    server.process.kill('SIGTERM')
    const late = AbortSignal.timeout(2 * END_MS)
    await Promise.race([server.exited, new Promise((resolve) => late.addEventListener('abort', resolve))])
    const tookMs = performance.now() - asked
    this.slowestEndMs = Math.max(this.slowestEndMs, tookMs)
    const { exitCode } = server.process
    if (exitCode !== 0 || tookMs > END_MS)
      throw new Error(`SIGTERM: exit code ${exitCode} after ${Math.round(tookMs)} ms: ${server.stderr()}`)
  }

  /** The processes of the data directory and their states, for messages of failures. */
  async describe(): Promise<string[]> {
    const found = [{ pid: this.#server?.process.pid ?? 0, command: 'server' }, ...(await this.processes())]
    return Promise.all(
      found.map(async ({ pid, command }) => {
        const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => 'ended')
        const state = /State:.*/.exec(await read('status'))?.[0] ?? 'ended'
        return `  ${pid} ${state} ${await read('wchan')} ${command.slice(0, 160)}`
      }),
    )
  }

  /** Ends server and runner, whatever they do. */
  async destroy(): Promise<void> {
    await this.lift().catch(() => undefined)
    this.#ended = this.#server
    await this.#server?.kill()
    const runner = await this.runner()
    if (runner !== null) signal(runner, 'SIGTERM')
  }

  /** Processes of the data directory beside the server: the runner, and the programs of conversations and commands. */
  async processes(): Promise<{ pid: number; command: string; isRunner: boolean }[]> {
    // A shell of the runner names the runner's folder, too.
    const program = /\brunner(\.js|\/main\.ts) /
    const found = await processesOf(this.#places.dataDir, '')
    return found.map(({ pid, command }) => ({ pid, command, isRunner: program.test(command) }))
  }

  /** Process id of the runner; null when none lives. */
  async runner(): Promise<number | null> {
    return (await this.processes()).find(({ isRunner }) => isRunner)?.pid ?? null
  }

  /** Sends a request; null when the connection failed. @throws for an answer that no fault explains, and for none. */
  async call(method: string, path: string, body?: unknown): Promise<Answer | null> {
    if (this.#crash !== null) throw this.#crash
    const answered = this.#server!.call(method, path, body).catch((error: unknown) => {
      // Of fetch, when the connection cannot be made or ends early; or of a body that ends early.
      if (error instanceof TypeError || error instanceof SyntaxError) return null
      throw error
    })
    const late = Promise.withResolvers<'late'>()
    let waited = 0
    const timer = setInterval(() => {
      if (++waited >= ANSWER_SECONDS) late.resolve('late')
    }, 1_000)
    const answer = await Promise.race([answered, late.promise]).finally(() => clearInterval(timer))
    if (answer === 'late') throw await this.#unanswered(`${method} ${path}`)
    if (answer !== null && answer.status >= 500 && answer.status !== 503)
      throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer
  }

  /** The failure of a request, with what the server does instead. It is described once, for all requests that wait. */
  async #unanswered(request: string): Promise<Error> {
    this.#description ??= describeUnanswered(this.#server!, dirname(this.#places.dataDir))
    const lines = [`${request} was not answered within ${ANSWER_SECONDS} s`, ...(await this.#description)]
    return new Error(lines.join('\n'))
  }

  /** What the server wrote to standard error since its last start. */
  stderr(): string {
    return this.#server?.stderr() ?? ''
  }

  #watch(server: ServerProcess): void {
    void server.exited.then(() => {
      if (this.#ended === server) return
      const { exitCode, signalCode } = server.process
      this.#crash = new Error(`the server ended by itself, with ${exitCode ?? signalCode}: ${server.stderr()}`)
    })
  }

  async #setClock(shiftMs: number): Promise<void> {
    this.#shiftMs = shiftMs
    await writeFile(this.#places.clock, String(shiftMs))
    this.#server?.process.kill('SIGUSR2')
  }

  /** Limits the size of the files that a process writes, which gives EFBIG where a full disk gives ENOSPC. */
  async #fillDisk(kind: FaultKind, pid: number, file: string, amount: number, lastsMs: number): Promise<boolean> {
    // Half of them: nothing can be written at all. The others: a write is cut off.
    const bytes = amount < 0.5 ? 0 : sizeOf(file) + Math.round(amount * 8192)
    if (!(await limitFiles(pid, bytes))) return false
    this.#until(kind, lastsMs, async () => {
      // Programs that a runner started meanwhile have its limit.
      const others = (await this.processes()).map((found) => found.pid)
      await Promise.all([pid, ...others].map((each) => limitFiles(each, null)))
    })
    return true
  }

  #until(kind: FaultKind, lastsMs: number, end: () => Promise<void>): void {
    const timer = setTimeout(() => void ended(), lastsMs)
    const ended = async () => {
      if (this.#lasting.get(kind) !== ended) return
      this.#lasting.delete(kind)
      clearTimeout(timer)
      await end()
      this.note(`${kind}: over`)
    }
    this.#lasting.set(kind, ended)
  }
}

/** From a second to more than a year: each order of magnitude is as frequent. */
const far = (amount: number): number => Math.round(1_000 * ((400 * DAY_MS) / 1_000) ** amount)

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** False when the process has ended. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
