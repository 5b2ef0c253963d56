/** The real edge over everything real below it, joined as `compose.ts` joins it, with limits of its own and a scripted model. */
import { once } from 'node:events'
import { createLocks } from '../../packages/server/src/tools/index.ts'
import { createNativeAgent } from '../../packages/server/src/agent/index.ts'
import {
  fromAgentServer,
  fromSeed,
  openHeart,
  type Actor,
  type Heart,
} from '../../packages/server/src/conversation/index.ts'
import { createApp, type AppDeps } from '../../packages/server/src/http/index.ts'
import { openLlm } from '../../packages/server/src/llm/index.ts'
import { openLog } from '../../packages/server/src/observability/index.ts'
import { openCipher } from '../../packages/server/src/secrets/index.ts'
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { openLocalWorkspaces } from '../../packages/server/src/workspace/index.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { WebSocket } from 'ws'

export const KEYS = { ann: 'key-of-ann', bob: 'key-of-bob', reader: 'key-that-reads' } as const
const ACTORS: Record<string, Actor> = {
  [KEYS.ann]: { user: 'ann', role: 'user', keyId: 'k1' },
  [KEYS.bob]: { user: 'bob', role: 'user', keyId: 'k2' },
  [KEYS.reader]: { user: 'ann', role: 'read-only', keyId: 'k3' },
}

export type EdgeOptions = {
  /** What the model says, one after the other. */
  answers?: readonly ScriptedAnswer[]
  respond?: Parameters<typeof startScriptedModel>[0] extends infer O
    ? O extends { respond?: infer R }
      ? R
      : never
    : never
  limits?: AppDeps['limits']
  bodyLimitBytes?: number
  /** Parts that only some tests look at. */
  more?: (heart: Heart, agent: Edge['agent']) => Partial<AppDeps>
  /** Run without keys. */
  open?: boolean
}

/** What came over the wire; a test looks into it freely. */
export type Loose = ReturnType<typeof JSON.parse>

export type Answered = { status: number; headers: Headers; text: string; json: Loose }

export type Edge = AsyncDisposable & {
  url: string
  heart: Heart
  /** The agent of a request, whose model is the scripted one. */
  agent: Record<string, unknown>
  /** As ann, unless `key` says otherwise; null: without any key. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string | null; headers?: Record<string, string> },
  ): Promise<Answered>
  /** A new conversation of ann's; its info. */
  start(members?: Record<string, unknown>): Promise<Loose>
  say(id: string, text: string, run?: boolean): Promise<Answered>
  socket(path: string, headers?: Record<string, string>): Socket
  close(): Promise<void>
}

export async function startEdge(options: EdgeOptions = {}): Promise<Edge> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const model = stack.use(
    await startScriptedModel({ answers: options.answers ?? [], ...(options.respond && { respond: options.respond }) }),
  )
  const storage = stack.use(await openSqlite({ path: dir.file('parley.db') }))
  const log = openLog('silent')
  const locks = createLocks()
  const workspaces = stack.use(openLocalWorkspaces({ dataDir: dir.path, orphanExitMs: 10_000, log }))
  const heart = openHeart({
    storage,
    cipher: await openCipher({ keyFile: dir.file('secret-key') }),
    workspaces,
    log,
    openAgent: async ({ id, record, epoch }, signal) => {
      if (record.agent.kind !== 'Agent') throw new Error('only native agents here')
      const spec = { conversationId: id, workingDir: record.workspace.working_dir, epoch }
      const workspace = await workspaces.open(spec, signal)
      return createNativeAgent(record.agent, { openLlm, workspace, dataDir: dir.path, conversationId: id, locks, log })
    },
    phases: [],
    mask: (drafts) => drafts,
    now: () => new Date(),
    dataDir: dir.path,
    idleUnloadMs: 60_000,
    maxConcurrentRuns: 10,
  })
  stack.defer(() => heart.close())
  const agent = {
    kind: 'Agent',
    llm: {
      model: 'openai/scripted',
      base_url: `${model.url}/v1`,
      api_key: canary('llm_key'),
      num_retries: 0,
      stream: true,
    },
    tools: [],
  }
  const app = createApp({
    conversations: heart,
    authenticate: async (key) => ACTORS[key] ?? null,
    startFromSeed: (body, actor) => heart.start(fromSeed(body, { llm: agent.llm }), actor),
    startFromAgentServer: (body, actor) => heart.start(fromAgentServer(body), actor),
    corsOrigins: [],
    bodyLimitBytes: options.bodyLimitBytes ?? 1024 * 1024,
    log,
    ...(options.limits && { limits: options.limits }),
    ...options.more?.(heart, agent),
    ...(options.open && { noKeys: ACTORS[KEYS.ann]! }),
  })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= app.close())
  stack.defer(close)
  const { port } = await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${port}`

  const call: Edge['call'] = async (method, path, body, { key = KEYS.ann, headers = {} } = {}) => {
    const answer = await fetch(url + path, {
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
    url,
    heart,
    agent,
    call,
    close,
    start: async (members = {}) =>
      (await call('POST', '/api/conversations', { workspace: { working_dir: dir.file('work') }, agent, ...members }))
        .json,
    say: (id, text, run = false) =>
      call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run }),
    socket: (path, headers) => openSocket(url.replace('http', 'ws') + path, headers),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export type Socket = AsyncDisposable & {
  ws: WebSocket
  /** Resolves when the handshake was taken; rejects with its status otherwise. */
  opened: Promise<void>
  closed: Promise<{ code: number; reason: string }>
  /** Every frame so far. */
  frames: Loose[]
  /** The first frame, from those to come and those not yet looked at, that `holds`; in order, each looked at once. */
  next(holds?: (frame: Loose) => boolean): Promise<Loose>
  send(value: unknown): void
}

export function openSocket(url: string, headers: Record<string, string> = {}): Socket {
  const ws = new WebSocket(url, { headers })
  const frames: Loose[] = []
  let seen = 0
  let wake = Promise.withResolvers<void>()
  ws.on('message', (data: Buffer) => {
    frames.push(JSON.parse(data.toString()))
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  const opened = new Promise<void>((resolve, reject) => {
    ws.once('open', () => resolve())
    ws.once('unexpected-response', (_request, response) => {
      reject(new Error(String(response.statusCode)))
      ws.terminate()
    })
    ws.on('error', () => {})
  })
  opened.catch(() => {})
  return {
    ws,
    opened,
    closed,
    frames,
    next: async (holds = () => true) => {
      for (;;) {
        while (seen < frames.length) {
          const frame = frames[seen++]
          if (holds(frame)) return frame
        }
        const gone = closed.then(({ code }) =>
          Promise.reject(new Error(`closed with ${code} while waiting for a frame`)),
        )
        await Promise.race([wake.promise, gone])
      }
    },
    send: (value) => ws.send(typeof value === 'string' ? value : JSON.stringify(value)),
    [Symbol.asyncDispose]: async () => {
      if (ws.readyState === WebSocket.CLOSED) return
      ws.terminate()
      await once(ws, 'close')
    },
  }
}
