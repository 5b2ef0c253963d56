/** The real server inside the test's process, with a scripted model and keys of two users, for tests of HTTP and sockets. */
import { withoutSandbox } from './sandbox-setting.ts'
import { mkdir } from 'node:fs/promises'
import { readConfig, startServer, type CompositionOverrides } from '../src/index.ts'
import { hashKey } from '../src/secrets/index.ts'
import { startBalanced } from './balanced-nodes.ts'
import { canary } from './canaries/values.ts'
import { startScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'
import { openSocket, type Socket } from './socket.ts'
import { openChosenStore, storeSettings } from './store-choice.ts'
import { tempDir } from './temp.ts'

/** Keys of two users; `reader` may only read what belongs to ann. */
export const KEYS = { ann: 'key-of-ann', bob: 'key-of-bob', reader: 'key-that-reads' } as const

export type KeyedServerOptions = Pick<ScriptedModelOptions, 'answers' | 'respond'> & {
  env?: Record<string, string>
  overrides?: CompositionOverrides
}

/** Parsed JSON of an answer, without a type, so that tests can read any member. */
export type Loose = ReturnType<typeof JSON.parse>

export type Answered = { status: number; headers: Headers; text: string; json: Loose }

export type KeyedServer = AsyncDisposable & {
  url: string
  /** The agent of a request, with the scripted model. */
  agent: Record<string, unknown>
  /** As ann, unless `key` names another one; null: without a key. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string | null; headers?: Record<string, string> },
  ): Promise<Answered>
  /** A new conversation of ann, after its start; its info. */
  start(members?: Record<string, unknown>): Promise<Loose>
  say(id: string, text: string, run?: boolean): Promise<Answered>
  socket(path: string, headers?: Record<string, string>): Socket
  /** Stops the server; its data directory stays until disposal. */
  close(): Promise<void>
}

export async function startKeyedServer({
  env = {},
  overrides = {},
  ...script
}: KeyedServerOptions = {}): Promise<KeyedServer> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const model = stack.use(await startScriptedModel(script))
  const dataDir = dir.file('data')
  const settings = {
    PARLEY_ALLOW_ROOT: 'true',
    PARLEY_LOG_LEVEL: 'silent',
    PARLEY_USER_EGRESS: 'any',
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
    ...withoutSandbox(env),
    ...(await storeSettings(dataDir, env)),
    ...env,
  }
  await storeKeys(dataDir)
  const at = { env: settings, cwd: dir.path, home: dir.path }
  const server = await startBalanced({ dataDir, env }, (nodeDir) =>
    startServer(readConfig({ ...at, flags: { 'data-dir': nodeDir, port: '0' } }).config, overrides),
  )
  let closing: Promise<void> | undefined
  const close = () => (closing ??= Promise.resolve(server[Symbol.asyncDispose]()))
  stack.defer(close)
  const llm = { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 }
  const agent = { kind: 'Agent', llm: { ...llm, stream: true }, tools: [] }

  const call: KeyedServer['call'] = async (method, path, body, { key = KEYS.ann, headers = {} } = {}) => {
    const answer = await fetch(server.url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== null && { 'x-session-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }
  const owned = stack.move()
  return {
    url: server.url,
    agent,
    call,
    close,
    start: async (members = {}) => {
      const body = { workspace: { working_dir: dir.file('work') }, agent, autotitle: false, ...members }
      return (await call('POST', '/api/conversations', body)).json
    },
    say: (id, text, run = false) =>
      call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run }),
    socket: (path, headers) => openSocket(server.url.replace('http', 'ws') + path, headers),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Stores the keys as the server does, with values that tests can name before it starts. */
async function storeKeys(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await using storage = await openChosenStore(dataDir)
  const common = { label: null, expires_at: null }
  await storage.keys.create({ ...common, id: 'k1', user: 'ann', role: 'user', hash: hashKey(KEYS.ann) })
  await storage.keys.create({ ...common, id: 'k2', user: 'bob', role: 'user', hash: hashKey(KEYS.bob) })
  await storage.keys.create({ ...common, id: 'k3', user: 'ann', role: 'read-only', hash: hashKey(KEYS.reader) })
}
