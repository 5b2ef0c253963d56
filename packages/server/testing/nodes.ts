/** Several nodes on one database, each a process with a data directory of its own, and a scripted model. */
import { hashKey } from '../src/secrets/index.ts'
import { openStore } from '../src/storage/open-store.ts'
import { canary } from './canaries/values.ts'
import { testDatabase, type TestDatabase } from './postgres.ts'
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from './server-process.ts'
import { openSocket, type Socket } from './socket.ts'
import { NODES_SECRET_KEY } from './store-choice.ts'
import { tempDir, type TempDir } from './temp.ts'

/** Keys of two users. */
export const NODE_KEYS = { ann: 'key-of-ann', bob: 'key-of-bob' } as const

/** Parsed JSON of an answer, without a type, so that tests can read any member. */
type Loose = ReturnType<typeof JSON.parse>

export type NodeAnswer = { status: number; headers: Headers; body: Loose }

export type TestNode = {
  server: ServerProcess
  /** As ann, unless `key` names another one. */
  call(
    method: string,
    path: string,
    body?: unknown,
    options?: { key?: string; headers?: Record<string, string> },
  ): Promise<NodeAnswer>
  socket(path: string, key?: string | null): Socket
}

export type TestNodes = AsyncDisposable & {
  nodes: readonly TestNode[]
  database: TestDatabase
  model: ScriptedModel
  dir: TempDir
  /** The agent of a request, with the scripted model. */
  agent: Record<string, unknown>
  /** Starts one more node. */
  add(): Promise<TestNode>
  /** A new conversation of ann on a node, in a directory of that machine, after its start; its id. */
  create(node: TestNode, members?: Record<string, unknown>): Promise<string>
  /** Number of the node that the store names as the owner. */
  ownerOf(id: string): Promise<number | null>
}

export type TestNodesOptions = {
  count?: number
  respond: NonNullable<ScriptedModelOptions['respond']>
  env?: Record<string, string>
  /** Program to run instead of the bundle of the tests. */
  argv?: readonly string[]
}

export async function startNodes({ count = 2, respond, env = {}, argv }: TestNodesOptions): Promise<TestNodes> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const database = stack.use(await testDatabase())
  const model = stack.use(await startScriptedModel({ respond }))
  await storeKeys(database.url)
  const nodes: TestNode[] = []
  const servers = stack.use(new AsyncDisposableStack())
  const add = async () => {
    const server = servers.use(
      await startServerProcess({
        dataDir: dir.file(`node-${nodes.length + 1}`),
        ...(argv && { argv }),
        env: {
          PARLEY_DATABASE_URL: database.url,
          PARLEY_SECRET_KEY: NODES_SECRET_KEY,
          PARLEY_LEASE_SECONDS: '3',
          PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
          HOME: dir.path,
          ...env,
        },
      }),
    )
    const node = nodeOf(server)
    nodes.push(node)
    return node
  }
  while (nodes.length < count) await add()
  const llm = { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 }
  const agent = { kind: 'Agent', llm: { ...llm, stream: true }, tools: [{ name: 'terminal' }] }
  let created = 0
  const owned = stack.move()
  return {
    nodes,
    database,
    model,
    dir,
    agent,
    add,
    async create(node, members = {}) {
      const workspace = { working_dir: dir.file('work', String((created += 1))) }
      const body = { workspace, agent, autotitle: false, ...members }
      const answer = await node.call('POST', '/api/conversations', body)
      if (answer.status !== 201) throw new Error(`the start was answered with ${answer.status}: ${answer.body}`)
      return answer.body.id
    },
    async ownerOf(id) {
      const [row] = await database.query<{ node: number | null }>(
        'SELECT node FROM parley.conversations WHERE id = $1',
        id,
      )
      return row?.node ?? null
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const nodeOf = (server: ServerProcess): TestNode => ({
  server,
  async call(method, path, body, { key = NODE_KEYS.ann, headers = {} } = {}) {
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        'x-session-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
  },
  socket: (path, key = NODE_KEYS.ann) =>
    openSocket(server.url.replace('http', 'ws') + path, key === null ? {} : { 'x-session-api-key': key }),
})

/** The key of an administrator, which every server of tests has. */
export const ADMIN_KEY = TEST_KEY

async function storeKeys(databaseUrl: string): Promise<void> {
  await using storage = await openStore({ path: '', databaseUrl })
  const common = { label: null, expires_at: null, role: 'user' as const }
  await storage.keys.create({ ...common, id: 'k1', user: 'ann', hash: hashKey(NODE_KEYS.ann) })
  await storage.keys.create({ ...common, id: 'k2', user: 'bob', hash: hashKey(NODE_KEYS.bob) })
}
