/** A real server with a scripted model, which can be restarted on the same data directory. */
import { withoutSandbox } from './sandbox-setting.ts'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig, startServer } from '../src/index.ts'
import { startBalanced } from './balanced-nodes.ts'
import { canary } from './canaries/values.ts'
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'
import { startServerProcess, type ServerProcess } from './server-process.ts'
import { storeSettings } from './store-choice.ts'
import { tempDir } from './temp.ts'
import { wholeLog } from './whole-log.ts'

const KEY = 'key-of-the-guard-tests'
/** Characters of the log that are kept of processes that have ended. */
const LOG_CHARS = 16 * 1024

/** Parsed JSON of an answer, without a type, so that tests can read any member. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Loose = any

export type Answered = { status: number; body: Loose; text: string }

export type Running = AsyncDisposable & {
  readonly model: ScriptedModel
  /** Process id of the server. */
  pid(): number
  /** The end of the log, also of processes that were killed; empty for a server in the process of the test. */
  log(): string
  /** Path in the directory that is removed with the server. */
  file(...parts: string[]): string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** Uploads a text as a file; returns the status. */
  upload(path: string, text: string): Promise<number>
  /** Starts a conversation in its own directory; returns its id. */
  start(members?: Record<string, unknown>): Promise<string>
  say(id: string, text: string): Promise<Answered>
  /** Waits until the conversation has one of these statuses; returns its info. */
  until(id: string, ...statuses: string[]): Promise<Loose>
  /** All events but the phases of the start, oldest first. */
  events(id: string): Promise<Loose[]>
  /** All events, oldest first. */
  wholeLog(id: string): Promise<Loose[]>
  /** Folder of a conversation's workspace. */
  work(id: string): string
  /** @param meanwhile runs while no server uses the data directory */
  restart(meanwhile?: () => unknown): Promise<void>
  /** Restarts after a SIGKILL; only for a server in a process of its own. */
  kill(meanwhile?: () => void | Promise<void>): Promise<void>
}

/** A server in the process of the test has an address only. */
type Opened = AsyncDisposable & { url: string } & Partial<Pick<ServerProcess, 'kill' | 'process' | 'stderr'>>

export async function startRunning(
  respond: NonNullable<ScriptedModelOptions['respond']>,
  /** Settings; a function is called at each start. */
  env: Record<string, string> | (() => Record<string, string>) = {},
  /** `inside`: in the process of the test; `process`: in a process that can be killed. */
  where: 'inside' | 'process' = 'inside',
  /** `isEntered`: other accounts of the machine may enter the directory, as they may enter /var/lib. */
  { isEntered = false, ...options }: Pick<ScriptedModelOptions, 'forgets'> & { isEntered?: boolean } = {},
): Promise<Running> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  if (isEntered) chmodSync(dir.path, 0o711)
  const model = stack.use(await startScriptedModel({ ...options, respond }))
  const open = async (): Promise<Opened> => {
    const settings = typeof env === 'function' ? env() : env
    const own = {
      PARLEY_SESSION_API_KEYS: KEY,
      PARLEY_LOG_LEVEL: 'silent',
      PARLEY_ALLOW_ROOT: 'true',
      PARLEY_USER_EGRESS: 'any',
      PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
      ...withoutSandbox(settings),
      ...(await storeSettings(dir.file('data'), settings)),
      ...settings,
    }
    if (where === 'process') return startServerProcess({ dataDir: dir.file('data'), env: own })
    const at = { env: own, cwd: dir.path, home: dir.path }
    return startBalanced({ dataDir: dir.file('data'), env: settings }, (nodeDir) =>
      startServer(readConfig({ ...at, flags: { 'data-dir': nodeDir, port: '0' } }).config),
    )
  }
  let server = await open()
  let logBefore = ''
  const log = (): string => logBefore + (server.stderr?.() ?? '')
  const openAgain = async (): Promise<void> => {
    const before = log().slice(-LOG_CHARS)
    server = await open()
    logBefore = before
  }
  stack.defer(() => server[Symbol.asyncDispose]())
  // Thousands of calls are made, and this is cheaper than fetch.
  const agent = new Agent({ keepAlive: true })
  stack.defer(() => agent.destroy())
  const places = new Map<string, string>()
  let started = 0

  async function call(
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answered> {
    const headers = { 'x-session-api-key': KEY, 'content-type': 'application/json', ...more }
    const sent = request(server.url + path, { method, headers, agent })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const piece of response.setEncoding('utf8')) text += piece
    const isJson = response.headers['content-type']?.includes('json') === true
    return { status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : text, text }
  }
  const owned = stack.move()
  return {
    model,
    pid: () => server.process?.pid ?? process.pid,
    log,
    file: (...parts) => dir.file(...parts),
    call,
    async upload(path, text) {
      const form = new FormData()
      form.append('file', new Blob([text]))
      const to = `${server.url}/api/file/upload?path=${encodeURIComponent(path)}`
      return (await fetch(to, { method: 'POST', headers: { 'X-Session-API-Key': KEY }, body: form })).status
    },
    async start(members = {}) {
      const working_dir = dir.file('work', String(started++))
      const llm = { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 }
      const { status, body, text } = await call('POST', '/api/conversations', {
        workspace: { working_dir },
        agent: { kind: 'Agent', llm, tools: [{ name: 'terminal' }, { name: 'file_editor' }] },
        ...members,
      })
      if (status !== 201) throw new Error(`the start was refused with ${status}: ${text}`)
      places.set(body.id, working_dir)
      return body.id as string
    },
    say: (id, text) =>
      call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run: true }),
    async until(id, ...statuses) {
      for (;;) {
        const { status, body, text } = await call('GET', `/api/conversations/${id}`)
        if (status === 429) throw new Error(`${id} exceeds the rate limit: ${text}`)
        if (statuses.includes(body.execution_status)) return body
        await sleep(5)
      }
    },
    async events(id) {
      const all: Loose[] = []
      for (let page: string | null = ''; page !== null;) {
        const query: string = `limit=100${page === '' ? '' : `&page_id=${page}`}`
        const { status, body, text } = await call('GET', `/api/conversations/${id}/events/search?${query}`)
        if (status !== 200) throw new Error(`the events of ${id} (${query}) are answered with ${status}: ${text}`)
        all.push(...body.items)
        page = body.next_page_id
      }
      return all
    },
    wholeLog: (id) => wholeLog(server.url, id, KEY),
    work: (id) => places.get(id)!,
    async restart(meanwhile) {
      await server[Symbol.asyncDispose]()
      await meanwhile?.()
      await openAgain()
    },
    async kill(meanwhile) {
      await server.kill!()
      await meanwhile?.()
      await openAgain()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Risks of the actions in the newest confirmation request, by action id. */
export function asked(events: readonly Loose[]): Record<string, string> {
  const request = events.findLast((event) => event.key === 'confirmation_request')
  return Object.fromEntries((request?.value.actions ?? []).map((each: Loose) => [each.action_id, each.risk]))
}

export const ofKind = (events: readonly Loose[], kind: string): Loose[] => events.filter((event) => event.kind === kind)
