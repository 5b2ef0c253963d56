/** A server in a process of its own, which tests can kill. */
import { withoutSandbox } from './sandbox-setting.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { startBalanced } from './balanced-nodes.ts'
import { canary } from './canaries/values.ts'
import { outputScanner } from './canaries/watch.ts'
import { SERVER_PROGRAM } from './server-program.ts'
import { storeSettings } from './store-choice.ts'

export const TEST_KEY = canary('session_key')

export type ServerProcess = AsyncDisposable & {
  readonly url: string
  readonly process: ChildProcess
  /** Milliseconds from spawn to the line that reports the address. */
  readonly readyMs: number
  /** Standard error so far. */
  stderr(): string
  /** Sends SIGKILL and waits for the end of the process. */
  kill(): Promise<void>
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<void>
  /** A JSON call with the test's key. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>
}

export type ServerProcessOptions = {
  dataDir: string
  /** Default: a free port. */
  port?: number
  env?: Record<string, string>
  /** The process kills itself right before or after the n-th commit (from 1), or the first one with an event of a kind. */
  crash?: { at: number | string; when: 'before' | 'after' }
  /** Program to run instead of the sources. */
  argv?: readonly string[]
}

/**
 * Starts a server and waits until it listens. Where tests run on several nodes (`balanced-nodes.ts`), the others share the fate of the first
 * one, whose process `process` is.
 * @throws when its process ends before
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const store = await storeSettings(options.dataDir, options.env)
  const balanced = await startBalanced(options, (dataDir, port) => startProcess({ ...options, dataDir, port }, store))
  const { url, nodes } = balanced
  // A kill at a commit of one node is a kill of all: the machine is lost.
  if (options.crash !== undefined && nodes.length > 1)
    void Promise.race(nodes.map(({ exited }) => exited)).then(() => Promise.all(nodes.map((node) => node.kill())))
  const all = (act: (node: NodeProcess) => Promise<void>) => Promise.all(nodes.map(act)).then(() => undefined)
  return {
    url,
    process: nodes[0]!.process,
    readyMs: Math.max(...nodes.map(({ readyMs }) => readyMs)),
    stderr: () => nodes.map((node) => node.stderr()).join(''),
    exited: all(({ exited }) => exited),
    async kill() {
      await all((node) => node.kill())
      await balanced[Symbol.asyncDispose]()
    },
    async call(method, path, body) {
      const response = await fetch(url + path, {
        method,
        headers: { 'X-Session-API-Key': TEST_KEY, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    },
    [Symbol.asyncDispose]: () => balanced[Symbol.asyncDispose](),
  }
}

type NodeProcess = Omit<ServerProcess, 'call'>

async function startProcess(
  options: ServerProcessOptions & { port: number },
  store: Readonly<Record<string, string>>,
): Promise<NodeProcess> {
  const from = performance.now()
  const argv = options.argv ?? [SERVER_PROGRAM.entry]
  const crash = options.crash === undefined ? {} : { PARLEY_TEST_CRASH: `${options.crash.when}:${options.crash.at}` }
  const child = spawn(
    process.execPath,
    [...argv, 'serve', '--port', String(options.port), '--data-dir', options.dataDir],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        TZ: 'UTC',
        // A bundle has its own.
        ...(options.argv === undefined ? { NODE_COMPILE_CACHE: SERVER_PROGRAM.cache } : {}),
        PARLEY_SESSION_API_KEYS: TEST_KEY,
        PARLEY_ALLOW_ROOT: 'true',
        PARLEY_LOG_LEVEL: 'warn',
        // Servers of tests are on loopback.
        PARLEY_USER_EGRESS: 'any',
        ...withoutSandbox(options.env),
        ...store,
        ...crash,
        ...options.env,
      },
    },
  )
  let errors = ''
  child.stderr.on('data', outputScanner('standard error of a server'))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-64 * 1024)
  })
  const exited = once(child, 'exit').then(() => undefined)
  const url = await Promise.race([
    listening(child),
    exited.then(() => Promise.reject(new Error(`the server ended: ${errors}`))),
  ])
  return {
    url,
    process: child,
    readyMs: performance.now() - from,
    stderr: () => errors,
    exited,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await exited
      clearTimeout(late)
    },
  }
}

async function listening(child: ChildProcess): Promise<string> {
  child.stdout!.on('data', outputScanner('standard output of a server'))
  for await (const line of createInterface({ input: child.stdout! })) {
    const found = /listening on (http:\S+)/.exec(line)
    if (found !== null) {
      child.stdout!.resume()
      return found[1]!
    }
  }
  return new Promise(() => undefined)
}
