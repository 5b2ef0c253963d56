/**
 * Several nodes on one PostgreSQL server, behind a load balancer, with a scripted model and a server whose workspaces their conversations use. Each
 * command appends a line to a file there, so its executions are counted where they happen.
 */
import { existsSync, readFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { FleetNode, callAt, type FleetNodeOptions } from './fleet-node.ts'
import { startFleetProxy, type FleetProxy } from './fleet-proxy.ts'
import { startFleetStore, type FleetStore } from './fleet-store.ts'
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from './scripted-model.ts'
import { startServerProcess, type ServerProcess } from './server-process.ts'
import { tempDir, type TempDir } from './temp.ts'
import { until } from './until.ts'

export type FleetOptions = {
  nodes?: number
  /** Default 3, the shortest one. */
  leaseSeconds?: number
  env?: Record<string, string>
  respond?: ScriptedModelOptions['respond']
  /** Program of the nodes and of the executor; default: the bundle of this run of tests. */
  argv?: readonly string[]
  /** The store survives a loss of power, as an operator would have it. Default: false. */
  isDurable?: boolean
  /** Seconds that each command of a turn takes. */
  commandSeconds?: number
}

/** Commands of a turn. */
export const COMMANDS = 5
export const EXECUTOR_KEY = 'key-of-the-server-with-workspaces'

export interface Fleet extends AsyncDisposable {
  readonly dir: TempDir
  readonly store: FleetStore
  readonly nodes: readonly FleetNode[]
  readonly proxy: FleetProxy
  readonly model: ScriptedModel
  readonly executor: ServerProcess
  /** Another node, which is not started. */
  addNode(options?: Partial<FleetNodeOptions>): Promise<FleetNode>
  /** A JSON call over the load balancer. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>
  /** Creates an idle conversation whose workspace is on the executor. `host`: another address of the executor. */
  create(host?: string): Promise<string>
  /** Sends a message that starts a turn of `COMMANDS` commands. */
  say(id: string, turn: number): Promise<void>
  /** The node that the store names as the owner of a conversation; undefined: none that runs. */
  ownerOf(id: string): Promise<FleetNode | undefined>
  status(id: string): Promise<string>
  /** Lines that the commands of all conversations have written, in any order. */
  executed(): string[]
}

/** The line that a command of a turn writes. */
export const lineOf = (id: string, turn: number, command: number): string => `${id} turn ${turn} command ${command}`

export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const { nodes: count = 3, leaseSeconds = 3, env = {}, commandSeconds = 0.1, isDurable = false } = options
  const program = options.argv === undefined ? {} : { argv: options.argv }
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const trace = dir.file('executed')
  const respond: ScriptedModelOptions['respond'] = ({ view, text }) => {
    // The newest message names conversation and turn; the answers since then count the commands.
    const marks = [...text.matchAll(/run ([0-9a-f-]{36}) turn (\d+)/g)]
    const [, id = '', turn = '0'] = marks.at(-1) ?? []
    const command = view.assistantTurns - Number(turn) * (COMMANDS + 1)
    if (command >= COMMANDS) return { text: 'done' }
    const line = lineOf(id, Number(turn), command)
    return {
      toolCalls: [{ name: 'terminal', arguments: { command: `echo ${line} >> ${trace}; sleep ${commandSeconds}` } }],
    }
  }
  const model = stack.use(await startScriptedModel({ respond: options.respond ?? respond, forgets: true }))
  const executor = stack.use(
    await startServerProcess({
      dataDir: dir.file('executor'),
      ...program,
      env: { PARLEY_SESSION_API_KEYS: EXECUTOR_KEY, HOME: dir.path },
    }),
  )
  const store = stack.use(await startFleetStore({ isDurable }))
  const nodes: FleetNode[] = []
  const running = stack.use(new AsyncDisposableStack())
  const addNode = async (changes: Partial<FleetNodeOptions> = {}) => {
    const name = `node-${nodes.length}`
    const node = await FleetNode.make({
      name,
      dataDir: dir.file(name),
      storeUrl: () => store.url,
      leaseSeconds,
      env,
      ...program,
      ...changes,
    })
    running.use(node)
    nodes.push(node)
    return node
  }
  for (let at = 0; at < count; at += 1) await (await addNode()).start()
  const proxy = stack.use(
    await startFleetProxy(() => nodes.flatMap(({ url, state }) => (state === 'ended' ? [] : [url]))),
  )
  if (count > 0) await until(async () => (await fetch(`${proxy.url}/ready`)).ok)
  const agent = {
    kind: 'Agent',
    llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: 'key-of-the-model' },
    tools: [{ name: 'terminal' }],
  }
  const call: Fleet['call'] = (...args) => callAt(proxy.url, ...args)
  /** Repeats a request, which is done once however often it is repeated, until a server has answered it. */
  const insist = async (method: string, path: string, body: object): Promise<any> => {
    let refusal: unknown = null
    await until(async () => {
      const answer = await call(method, path, body).catch(() => null)
      if (answer === null || answer.status >= 500 || answer.status === 421) return false
      if (answer.status >= 400 && answer.status !== 409) refusal = new Error(`${path}: ${JSON.stringify(answer)}`)
      return true
    }, 90_000)
    if (refusal !== null) throw refusal
  }
  const fleet: Fleet = {
    dir,
    store,
    nodes,
    proxy,
    model,
    executor,
    addNode,
    call,
    async create(host = executor.url) {
      const id = randomUUID()
      const workspace = {
        kind: 'RemoteWorkspace',
        working_dir: dir.file('work', id),
        host,
        api_key: EXECUTOR_KEY,
      }
      await insist('POST', '/api/conversations', { conversation_id: id, workspace, agent })
      return id
    },
    async say(id, turn) {
      const content = [{ type: 'text', text: `run ${id} turn ${turn}` }]
      // The id of the message makes its repetition harmless.
      const event_id = `${id.slice(0, 24)}${String(turn).padStart(12, '0')}`
      await insist('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true, event_id })
    },
    async ownerOf(id) {
      const text = `SELECT n.url FROM parley.conversations c JOIN parley.nodes n ON n.n = c.node WHERE c.id = $1`
      const [row] = await store.query<{ url: string }>(text, id)
      return nodes.find(({ peerRelay }) => peerRelay.url === row?.url)
    },
    status: async (id) => {
      const [row] = await store.query<{ status: string }>('SELECT status FROM parley.conversations WHERE id = $1', id)
      return row?.status ?? 'absent'
    },
    executed: () => (existsSync(trace) ? readFileSync(trace, 'utf8').trim().split('\n') : []),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  const owned = stack.move()
  return fleet
}
