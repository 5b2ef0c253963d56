/** The server of a command: one that runs, or one that the command starts and ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ParleyClient } from '@parley/client'
import { type ConnectFlags, findTarget, NoServerError } from './connect.ts'
import type { Io } from './io.ts'

/** Milliseconds that a server has for an orderly end. */
const END_MS = 10_000
/** Characters of the log that are kept for the message of a failed start. */
const KEPT_LOG = 4000

export type OwnServer = AsyncDisposable & {
  client: ParleyClient
  /** True when it ends with the command. */
  isOwn: boolean
}

/**
 * Connects to the server that flags, environment or data directory name. Without one, starts a server on a free port of this machine,
 * which ends when the result is disposed of, or when this process ends in any way.
 * @throws Error when a server is named that cannot be used, or a server cannot be started
 */
export async function connectOrStart(flags: ConnectFlags, io: Io, onStart: () => void): Promise<OwnServer> {
  try {
    return { client: new ParleyClient(await findTarget(flags, io)), isOwn: false, async [Symbol.asyncDispose]() {} }
  } catch (error) {
    if (!(error instanceof NoServerError)) throw error
  }
  onStart()
  const end = await startServer(flags, io)
  try {
    const client = new ParleyClient(await findTarget(flags, io))
    return { client, isOwn: true, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Starts a server process; resolves when it listens, to a function that ends it. */
async function startServer(flags: ConnectFlags, io: Io): Promise<() => Promise<void>> {
  const places = (['data-dir', 'config'] as const).flatMap((name) =>
    flags[name] === undefined ? [] : [`--${name}`, flags[name]],
  )
  // In a process group of its own: a Ctrl-C in the terminal is meant for the command.
  const server = spawn(
    process.execPath,
    [...process.execArgv, process.argv[1]!, 'serve', '--port', '0', '--until-stdin-ends', ...places],
    { env: { ...io.env }, cwd: io.cwd, detached: true, stdio: 'pipe' },
  )
  const exited = once(server, 'close')
  let log = ''
  const listens = new Promise<void>((resolve) => {
    let out = ''
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      out = `${out}${text}`.slice(-KEPT_LOG)
      if (/^parley is listening on /m.test(out)) resolve()
    })
  })
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = `${log}${text}`.slice(-KEPT_LOG)
  })
  const hasStarted = await Promise.race([listens.then(() => true), exited.then(() => false)])
  if (!hasStarted) throw new Error(`the server did not start: ${reasonIn(log)}`)
  return async () => {
    server.stdin.end()
    const late = setTimeout(() => server.kill('SIGKILL'), END_MS)
    await exited
    clearTimeout(late)
  }
}

/** The sentence for people at the end of a log. */
function reasonIn(log: string): string {
  const sentences = log.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{'))
  return sentences.join('; ').replace('parley serve: ', '') || 'it printed no reason'
}
