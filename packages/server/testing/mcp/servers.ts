/** Helpers for tests of MCP: paths of servers, a toolbox over a real workspace, and listening servers. */
import { testFetch } from '../requests.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer, request } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { asConversationId, MCPServers, type Action } from '../../../protocol/src/index.ts'
import { openMcpPool, openToolbox, type Tool, type ToolContext } from '../../src/tools/index.ts'
import { openLocalWorkspaces } from '../../src/workspace/index.ts'
import { tempDir } from '../temp.ts'
import { until } from '../until.ts'
import { startBridge, type Program } from './transport-bridge.ts'
import { OWNER, testRoots } from '../roots.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const require = createRequire(import.meta.url)
export const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
export const FILESYSTEM = require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js')
export const MEMORY = require.resolve('@modelcontextprotocol/server-memory/dist/index.js')

/** A server that runs in this Node. */
export const stdio = (...args: string[]) => ({ command: process.execPath, args })
/** The faulty server. */
export const faultyServer = (way = 'fine', ...more: string[]) => stdio(at('faulty-server.ts'), way, ...more)

/** Transports of MCP servers. */
export const TRANSPORTS = ['stdio', 'sse', 'streamableHttp'] as const
type Transport = (typeof TRANSPORTS)[number]

/** Makes a program reachable over a transport; returns its configuration. */
export async function startReachable(transport: Transport, program: Program) {
  if (transport === 'stdio') return { config: program, [Symbol.asyncDispose]: () => Promise.resolve() }
  const bridge = await startBridge(transport, program)
  return { config: { url: bridge.url }, [Symbol.asyncDispose]: () => bridge[Symbol.asyncDispose]() }
}

export const never = new AbortController().signal

/** Process ids that the faulty servers recorded at their start. */
export const startsIn = async (journal: string): Promise<number[]> =>
  [...(await readFile(journal, 'utf8').catch(() => '')).matchAll(/started (\d+)/g)].map(([, pid]) => Number(pid))

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

type Options = {
  connectMs?: number
  idleMs?: number
  secrets?: Record<string, string>
  isTrusted?: boolean
  isLetThrough?: (name: string) => boolean
}

/** Toolboxes over one pool and one real runner, as in the server. */
export async function startToolboxes({ connectMs = 30_000, idleMs = 240_000, ...options }: Options = {}) {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const workspaces = stack.use(
    openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')), idleExitMs: 500 }),
  )
  const pool = stack.use(openMcpPool(testFetch, { connectMs, idleMs }))
  const workingDir = dir.file('work')
  const secretsFor = (text: string) => {
    const named = Object.entries(options.secrets ?? {}).filter(([name]) => text.split(/\W+/).includes(name))
    return Promise.resolve(Object.fromEntries(named))
  }
  const idOf = (name: string) => asConversationId(`mcp-${name}`)
  const open = (name: string, signal: AbortSignal) =>
    workspaces.open({ conversationId: idOf(name), owner: OWNER, workingDir, epoch: 1 }, signal)
  const context = async (signal: AbortSignal): Promise<ToolContext> => ({
    conversationId: asConversationId('c'),
    callId: 'a1',
    workspace: await open('caller', signal),
    dataDir: dir.file('own'),
    secretsFor,
    signal,
  })
  const owned = stack.move()
  return {
    dir,
    workingDir,
    /** The tools of one conversation with these servers. */
    async box(servers: Record<string, object>, taken: readonly string[] = []) {
      const source = openToolbox({
        servers: MCPServers.parse(servers),
        pool,
        home: { key: 'home', open, leave: (name) => workspaces.release(idOf(name)) },
        secretsFor,
        isTrusted: () => options.isTrusted ?? false,
        isLetThrough: options.isLetThrough ?? (() => true),
        log: { warn: () => undefined },
      })
      owned.use(source)
      await source.prepare(never)
      const tools = (): ReadonlyMap<string, Tool> =>
        new Map(source.tools(new Set(taken)).map((tool) => [tool.name, tool]))
      return {
        source,
        tools,
        names: () => [...tools().keys()],
        async call(name: string, args: Record<string, unknown> = {}, signal: AbortSignal = never) {
          const tool = tools().get(name)
          if (tool === undefined)
            throw new Error(`no tool ${name}: ${JSON.stringify([[...tools().keys()], source.takeNotices()])}`)
          const action: Action = tool.parse(args)
          const observation = await tool.execute(action, await context(signal))
          const texts = observation.content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`))
          return { observation, texts, text: texts.slice(1).join('\n'), isError: observation.is_error }
        },
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/**
 * Starts the server `everything` as a listener and returns its address. With `port` it can be restarted at the same
 * address.
 */
export async function startListening(transport: 'sse' | 'streamableHttp', port?: number) {
  const chosen = port ?? (await freePort())
  const env = { PATH: process.env['PATH'], PORT: String(chosen) }
  const child = spawn(process.execPath, [EVERYTHING, transport], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (data: Buffer) => (said += data.toString()))
  await until(() => Promise.resolve(/on port \d+/.test(said) || child.exitCode !== null), 30_000)
  if (child.exitCode !== null) throw new Error(`the server did not start: ${said}`)
  return {
    port: chosen,
    url: `http://127.0.0.1:${chosen}/${transport === 'sse' ? 'sse' : 'mcp'}`,
    /** The number of messages the server received, from its output. */
    received: () => [...said.matchAll(/Received MCP POST|Client Message/g)].length,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** A proxy in front of a listening server that refuses requests without this key. */
export async function startGate(port: number, key: string) {
  let passed = 0
  const server = createHttpServer((incoming, outgoing) => {
    if (incoming.headers.authorization !== `Bearer ${key}`) return void outgoing.writeHead(401).end()
    passed += 1
    const { method, url, headers } = incoming
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get passed() {
      return passed
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
