/** One bash in a pseudo-terminal: runs one command at a time and reports its output and exit. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, constants, fchownSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../account/account.ts'
import { letEnter } from '../../account/folders.ts'
import { asAccount, type StartedProgram } from '../as-account.ts'
import { isExecutable } from '../executable.ts'
import { reservedPtyFds, reservePtyFd } from './pty-fds.ts'
import { PlainText } from './plain-text.ts'
import { Refusal } from '../ipc/protocol.ts'
import type { ProcessGroup } from '../groups/process-groups.ts'
import type { NotStarted, Program } from '../program.ts'
import { INSIDE } from '../sandbox/mounts.ts'
import {
  bashArguments,
  commandLine,
  parseBegin,
  parseReport,
  reportLine,
  setupLine,
  sourceLine,
  type Report,
} from './shell-lines.ts'

const COLUMNS = 256
const ROWS = 200
const START_MS = 10_000
/** Milliseconds until a command must have begun; reading one megabyte takes about fifty. */
const BEGIN_MS = 10_000
/** Milliseconds after a command's begin until its program has the terminal. */
const SETTLE_MS = 40

type Pty = Awaited<ReturnType<typeof openPty>>

export type ShellEvents = {
  onText: (text: string) => void
  /** The command has ended and the shell waits for the next one. */
  onReport: (report: Report) => void
  /** The shell itself has ended. */
  onExit: (exitCode: number) => void
}

type Command = {
  /** Nonces of its two sequences. */
  begin: string
  nonce: string
  /** The line that asks for the report. */
  report: string
  /** Input that arrived before the program can read it. */
  typed: string[]
  isSettled: boolean
  timer: NodeJS.Timeout | null
}

type StartedShell = { pty: Pty; tty: string; setup: string | null }

export type ShellSpec = {
  home: string
  cwd: string
  env: Record<string, string>
  group: ProcessGroup
  /** The account that the shell is started as; null: that of this process. */
  account: Account | null
  /** A file that the shell reads first; null: none. */
  setup: string | null
  /** Wraps the shell and its pipe into a sandbox. */
  wrap: (program: Program, pipe: string) => Promise<Program | NotStarted>
}

export class Shell {
  readonly #pty: Pty
  readonly #pipe: Socket
  readonly #events: ShellEvents
  readonly #text: PlainText
  readonly #tty: string
  /** The running command; null while the shell waits for one. */
  #current: Command | null = null

  private constructor(pty: Pty, pipe: Socket, tty: string, events: ShellEvents) {
    this.#pty = pty
    this.#pipe = pipe
    this.#events = events
    this.#tty = tty
    this.#text = new PlainText(events.onText, (payload) => this.#onSequence(payload))
    const kept = reservePtyFd(Number(Reflect.get(pty, 'fd')))
    // With `encoding: null` node-pty passes buffers, which its types do not declare.
    pty.onData((data) => this.#text.write(data as unknown as Buffer))
    pty.onExit(({ exitCode, signal }) => {
      kept[Symbol.dispose]()
      if (this.#current?.timer != null) clearTimeout(this.#current.timer)
      pipe.destroy()
      this.#text.flush()
      events.onExit(signal === undefined || signal === 0 ? exitCode : 128 + signal)
    })
  }

  get pid(): number {
    return this.#pty.pid
  }

  /**
   * Starts a shell. Resolves when it waits for its first command, with the report of its start.
   * @throws Refusal when there is no bash, no such directory, or no answer in time.
   */
  static async start({ home, ...spec }: ShellSpec, events: ShellEvents): Promise<{ shell: Shell; report: Report }> {
    const { cwd, env, account } = spec
    const bash = findBash(env['PATH'] ?? '')
    if (!isDirectory(cwd)) throw new Refusal('unavailable', `the working directory ${cwd} does not exist`)
    const folder = mkdtempSync(join(home, 't-'))
    // Bash uses this name in its error messages.
    const pipePath = join(folder, 'bash')
    try {
      letEnter(folder, account)
      await promisify(execFile)('mkfifo', ['-m', '600', pipePath])
      // Opened in both directions, so that opening does not block and the shell sees no end of file while this process is alive.
      const fd = openSync(pipePath, constants.O_RDWR | constants.O_NONBLOCK)
      const pipe = new Socket({ fd, readable: false, writable: true })
      if (account !== null) fchownSync(fd, account.uid, account.gid)
      pipe.on('error', () => pipe.destroy())
      const started = await Shell.#inside({ bash, pipePath, ...spec })
      if ('reason' in started) {
        pipe.destroy()
        throw new Refusal('unavailable', started.reason)
      }
      return await Shell.#settle(started, pipe, events)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  static async #inside({
    bash,
    pipePath,
    ...spec
  }: Omit<ShellSpec, 'home'> & { bash: string; pipePath: string }): Promise<StartedShell | NotStarted> {
    const { cwd, env, group, account, setup, wrap } = spec
    const boxed = { argv: [bash, ...bashArguments(INSIDE.shell, reservedPtyFds())], cwd, env }
    const program = await wrap(boxed, pipePath)
    if ('reason' in program) return program
    const isBoxed = program.isInside === true
    const argv = isBoxed ? program.argv : [bash, ...bashArguments(pipePath, reservedPtyFds())]
    const started = asAccount({ ...program, argv }, account)
    if ('reason' in started) return started
    const pty = await openPty(started, group).catch((error: unknown) => {
      program.onEnd?.()
      throw error
    })
    pty.onExit(() => program.onEnd?.())
    const tty = terminalOf(pty)
    if (account !== null && tty !== NO_NAME) chownSync(tty, account.uid, account.gid)
    // In a sandbox other terminals are not visible, and this one is /dev/console.
    if (isBoxed) return { pty, tty: '/dev/console', setup: setup === null ? null : INSIDE.setup }
    return { pty, tty, setup }
  }

  static async #settle(
    { pty, tty, setup }: StartedShell,
    pipe: Socket,
    events: ShellEvents,
  ): Promise<{ shell: Shell; report: Report }> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>()
    let isReady = false
    const shell = new Shell(pty, pipe, tty, {
      onText: (text) => isReady && events.onText(text),
      onReport: (report) => (isReady ? events.onReport(report) : resolve(report)),
      onExit: (code) =>
        isReady ? events.onExit(code) : reject(new Refusal('unavailable', `bash ended at once with code ${code}`)),
    })
    const timer = setTimeout(() => reject(new Refusal('unavailable', 'bash did not answer in time')), START_MS)
    try {
      pipe.write(setupLine(shell.#tty) + (setup === null ? '' : sourceLine(setup)))
      pipe.write(shell.#expect({}).report)
      const report = await promise
      isReady = true
      return { shell, report }
    } catch (error) {
      shell.kill()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Starts a command; the shell must be waiting for one. `env` applies to this command only. */
  run(command: string, env: Readonly<Record<string, string>>): void {
    const current = this.#expect(env)
    this.#setTimer(current, BEGIN_MS, () => this.#rescue(current))
    this.#pipe.write(commandLine(current.begin, command, env, this.#tty) + current.report)
  }

  #expect(env: Readonly<Record<string, string>>): Command {
    const [begin, nonce] = [newNonce(), newNonce()]
    return (this.#current = { begin, nonce, report: reportLine(nonce, env), typed: [], isSettled: false, timer: null })
  }

  /** Types into the program in the foreground, once it has the terminal. */
  type(bytes: string): void {
    const current = this.#current
    if (current !== null && !current.isSettled) return void current.typed.push(bytes)
    this.#pty.write(bytes)
    // If Ctrl-C interrupts the shell while it reads the report line, that line is lost, so it is sent again. A second
    // report of the same command is ignored.
    if (bytes === '\x03' && current !== null) this.#pipe.write(`\n${current.report}`)
  }

  /** Delays input until the program has the terminal, because earlier input would go to the shell. */
  #begun(current: Command): void {
    this.#setTimer(current, SETTLE_MS, () => this.#settled(current))
  }

  #settled(current: Command): void {
    current.isSettled = true
    for (const bytes of current.typed.splice(0)) this.type(bytes)
  }

  #setTimer(current: Command, ms: number, then: () => void): void {
    if (current.timer !== null) clearTimeout(current.timer)
    current.timer = setTimeout(then, ms)
  }

  /** The command did not begin, because a late Ctrl-C cut its line. Another Ctrl-C frees the shell, which then reports the interrupt. */
  #rescue(current: Command): void {
    current.typed = ['\x03']
    this.#settled(current)
  }

  /** Passes on the unfinished line, such as a prompt that waits for input. */
  flush(): void {
    this.#text.flush()
  }

  kill(): void {
    this.#pipe.destroy()
    this.#pty.kill('SIGKILL')
  }

  #onSequence(payload: string): void {
    const current = this.#current
    if (current === null) return
    if (parseBegin(payload) === current.begin) return this.#begun(current)
    const report = parseReport(payload)
    if (report?.nonce !== current.nonce) return
    if (current.timer !== null) clearTimeout(current.timer)
    this.#current = null
    this.#text.flush()
    this.#events.onReport(report)
  }
}

const newNonce = (): string => randomBytes(18).toString('base64url')

/** Loads the library of terminals ahead of the first shell. */
export function loadTerminals(): void {
  import('@lydell/node-pty').catch(() => undefined)
}

async function openPty({ argv, cwd, env, ids }: StartedProgram, group: ProcessGroup) {
  const { spawn } = await import('@lydell/node-pty')
  const [file = '', ...args] = argv
  const options = { cols: COLUMNS, rows: ROWS, cwd, env: { ...env, TERM: 'xterm-256color' }, encoding: null, ...ids }
  return group.start(() => spawn(file, args, options))
}

/** The terminal of the process that opens it. */
const NO_NAME = '/dev/tty'

/** The name of the terminal, which some programs need. The types of node-pty do not declare it. */
function terminalOf(pty: Pty): string {
  const name: unknown = Reflect.get(pty, 'ptsName')
  return typeof name === 'string' && name.startsWith('/dev/') ? name : NO_NAME
}

function findBash(path: string): string {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, 'bash')
    if (folder !== '' && isExecutable(file)) return file
  }
  throw new Refusal('unavailable', 'there is no bash in PATH; install it, or start the server with a PATH that has it')
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
