/** The parts of the process that a command may use; a parameter, so that tests can run commands. */
import { homedir } from 'node:os'
import type { Readable, Writable } from 'node:stream'

export type Io = {
  stdin: Readable & { isTTY?: boolean }
  stdout: Writable & { isTTY?: boolean; columns?: number }
  stderr: Writable & { isTTY?: boolean }
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  home: string
  /** Calls back for each SIGINT and SIGTERM until the returned function is called. */
  onSignal(listener: (signal: 'SIGINT' | 'SIGTERM') => void): () => void
  /** Ends the process at once, without clean-up. */
  exitNow(code: number): void
}

/** Returns the parts of the real process. Only this function of the package reads `process.env`. */
export function processIo(): Io {
  // A reader such as `head` may close the pipe early. That is no failure, and a server stays.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (process.argv[2] !== 'serve') process.exit(0)
  })
  return {
    // Opened on first use: only few commands read it.
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    onSignal(listener) {
      const signals = ['SIGINT', 'SIGTERM'] as const
      for (const signal of signals) process.on(signal, listener)
      return () => {
        for (const signal of signals) process.off(signal, listener)
      }
    },
    exitNow: (code) => process.exit(code),
  }
}

export function printLine(io: Pick<Io, 'stdout'>, line = ''): void {
  io.stdout.write(`${line}\n`)
}

/** True when output may be coloured: NO_COLOR (https://no-color.org) and FORCE_COLOR override the terminal. */
export function wantsColour({ stdout, env }: Pick<Io, 'stdout' | 'env'>): boolean {
  if (isSet(env['NO_COLOR'])) return false
  return isSet(env['FORCE_COLOR']) || (stdout.isTTY === true && env['TERM'] !== 'dumb')
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
