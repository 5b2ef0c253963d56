/** Parts of every measurement: a server of its own, a model that answers at once, medians. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import WebSocket from 'ws'
import type { openSqlite } from '../packages/server/src/storage/index.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../packages/server/testing/temp.ts'
import { turnModel, type TurnModel } from './model.ts'

export const root = fileURLToPath(new URL('..', import.meta.url))
const bundle = process.env['PARLEY_BENCH_BUNDLE'] ?? `${root}dist/parley.js`

/** The measured bundle: that of `npm start`, or the one in `PARLEY_BENCH_BUNDLE`. @throws Error when it was not built. */
export function entry(): string[] {
  if (!existsSync(bundle)) throw new Error('there is no bundle to measure; run: npm run build')
  return [bundle]
}

/** Opens a store as the measured commit does, whose sources are in `PARLEY_BENCH_SOURCES`: it refuses the store of a newer one. */
export async function openStore(path: string): ReturnType<typeof openSqlite> {
  const sources = process.env['PARLEY_BENCH_SOURCES'] ?? root
  const storage = (await import(join(sources, 'packages/server/src/storage/index.ts'))) as {
    openSqlite: typeof openSqlite
  }
  return storage.openSqlite({ path })
}

export const serve = (dataDir: string, env: Record<string, string> = {}): Promise<ServerProcess> =>
  startServerProcess({ dataDir, argv: entry(), env: { PARLEY_LOG_LEVEL: 'error', ...env } })

export type Bench = AsyncDisposable & { dir: TempDir; server: ServerProcess; model: TurnModel }

export async function openBench(): Promise<Bench> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const model = stack.use(await turnModel())
  const server = stack.use(await serve(dir.file('data')))
  const open = stack.move()
  return { dir, server, model, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

export async function createConversation({ server, model, dir }: Bench, name: string): Promise<string> {
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: dir.file('work', name) },
    agent: agentOf(model),
    // A title would add a model call to the measured turn.
    autotitle: false,
  })
  if (status !== 201) throw new Error(`creating a conversation answered ${status}: ${JSON.stringify(body)}`)
  return body.id
}

export const agentOf = ({ url }: Pick<TurnModel, 'url'>) => ({
  kind: 'Agent',
  llm: { model: 'openai/scripted', base_url: `${url}/v1`, api_key: 'k' },
  tools: [{ name: 'terminal' }],
})

/** A socket on one conversation, and turns over it. */
export class Turns implements Disposable {
  readonly #socket: WebSocket
  readonly #server: ServerProcess
  readonly #id: string
  #ended: (() => void) | null = null

  private constructor(server: ServerProcess, id: string, socket: WebSocket) {
    this.#server = server
    this.#id = id
    this.#socket = socket
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { key?: string; value?: unknown }
      if (frame.key !== 'execution_status') return
      if (frame.value === 'finished') this.#ended?.()
      else if (frame.value === 'error') throw new Error('a measured turn ended in an error')
    })
  }

  static async open(server: ServerProcess, id: string): Promise<Turns> {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}`, {
      headers: { 'X-Session-API-Key': TEST_KEY },
    })
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    return new Turns(server, id, socket)
  }

  /** Milliseconds from sending the message to receiving the state `finished`. */
  async turn(): Promise<number> {
    const from = performance.now()
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve
    })
    const { status } = await this.#server.call('POST', `/api/conversations/${this.#id}/events`, {
      content: [{ type: 'text', text: 'go' }],
      run: true,
    })
    if (status !== 200) throw new Error(`a message answered ${status}`)
    await ended
    return performance.now() - from
  }

  [Symbol.dispose](): void {
    this.#socket.terminate()
  }
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Resident memory of a process in MB. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024
}

/** Adds figures to `artifacts/facts.json`. */
export async function writeFacts(figures: Record<string, number>): Promise<void> {
  const path = `${root}artifacts/facts.json`
  await mkdir(`${root}artifacts`, { recursive: true })
  const facts = existsSync(path) ? (JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>) : {}
  const bench = { ...(facts['bench'] as Record<string, number> | undefined), ...figures }
  await writeFile(path, `${JSON.stringify({ ...facts, bench }, null, 2)}\n`)
}
