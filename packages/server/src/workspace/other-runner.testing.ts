/** Runners of another protocol than that of these sources, and a client that speaks with any of them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, type BuildOptions, type Plugin } from 'rolldown'
import { runnerBundle } from '../../../../rolldown.config.ts'
import { COMPILE_CACHE } from '../../testing/server-program.ts'
import { startRunner } from './runner-start.ts'
import { encodeFrame, FrameReader } from './runner/ipc/frames.ts'
import { connectRunner, openPlace } from './runner/ipc/place.ts'
import { isAlive, processEnd } from './workspace.testing.ts'

export type Bundled = AsyncDisposable & {
  /** Path of the program. */
  entry: string
}

/** Bundles a program. `options` replace those of the runner of these sources. */
export async function bundled(options: Partial<BuildOptions>): Promise<Bundled> {
  mkdirSync(COMPILE_CACHE, { recursive: true })
  const dir = mkdtempSync(join(COMPILE_CACHE, 'runner-'))
  const output = { ...runnerBundle.output, dir, entryFileNames: 'program.js' }
  await build({ ...runnerBundle, ...options, output })
  return {
    entry: join(dir, 'program.js'),
    async [Symbol.asyncDispose]() {
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const PROTOCOL_LINE = /export const PROTOCOL = \d+/

/** A program of these sources with another protocol number; the runner unless `input` names another file. */
export function bundledWithProtocol(protocol: number, input?: string): Promise<Bundled> {
  const plugin: Plugin = {
    name: 'another-protocol',
    transform(code, id) {
      if (!id.endsWith('/runner/ipc/protocol.ts')) return null
      if (!PROTOCOL_LINE.test(code)) throw new Error('the protocol number was not found')
      return code.replace(PROTOCOL_LINE, `export const PROTOCOL = ${protocol}`)
    },
  }
  return bundled({ plugins: [plugin], ...(input === undefined ? {} : { input }) })
}

export type RawRunner = AsyncDisposable & {
  readonly pid: number
  /** Sends a request of conversation `c1`. */
  send(request: object): void
  /** Resolves when the connection is closed; the runner then has no server. */
  leave(): Promise<void>
}

/** Starts a runner and connects to it, as the server of its version does. */
export async function startOther(
  dataDir: string,
  protocol: number,
  { entry }: { entry: string },
  { orphanExitMs = 900_000 } = {},
): Promise<RawRunner> {
  const place = openPlace(dataDir)
  await startRunner(place, { dataDir, runnerEntry: entry, idleExitMs: 60_000, orphanExitMs, account: null })
  const socket = await connectRunner(place, protocol)
  if (socket === null) throw new Error(`no runner of protocol ${protocol} was started`)
  const frames = new FrameReader()
  const greeting = Promise.withResolvers<number>()
  socket.on('data', (data: Buffer) => {
    for (const { event, pid } of frames.push(data)) if (event === 'hello') greeting.resolve(Number(pid))
  })
  socket.on('error', () => socket.destroy())
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const pid = await greeting.promise
  let id = 1
  return {
    pid,
    send: (request) => socket.write(encodeFrame({ id: id++, conversation: 'c1', epoch: 1, ...request })),
    async leave() {
      socket.destroy()
      await closed
    },
    async [Symbol.asyncDispose]() {
      socket.destroy()
      if (!isAlive(pid)) return
      process.kill(pid, 'SIGTERM')
      await processEnd(pid)
    },
  }
}
