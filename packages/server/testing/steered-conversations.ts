/** A server with a scripted model, and its conversations. */
import { canary } from './canaries/values.ts'
import { startScriptedModel, type ModelRequest, type ScriptedAnswer, type ScriptedModel } from './scripted-model.ts'
import type { CompositionOverrides } from '../src/index.ts'
import { startServerProcess, type ServerProcess } from './server-process.ts'
import { tempDir, type TempDir } from './temp.ts'
import { startBench, type Bench } from './two-user-server.ts'
import { until } from './until.ts'

export type Json = ReturnType<typeof JSON.parse>
type Respond = (request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>

export type Talking = Bench & {
  model: ScriptedModel
  agent(llm?: object, more?: object): object
  /** Creates a conversation and returns its id. */
  open(members?: object): Promise<string>
  post(id: string, path: string, body?: object): Promise<{ status: number; body: Json }>
  info(id: string): Promise<Json>
  say(id: string, text: string): Promise<unknown>
  /** Resolves when the conversation has this status. */
  reaches(id: string, status: string): Promise<void>
  events(id: string): Promise<Json[]>
  /** All values of state updates with this key. */
  updates(id: string, key: string): Promise<Json[]>
}

export const agentOf = (model: ScriptedModel, llm: object = {}, more: object = {}) => ({
  kind: 'Agent',
  llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0, ...llm },
  tools: [{ name: 'terminal' }],
  ...more,
})

export async function startTalking(
  respond: Respond,
  env: Record<string, string> = {},
  overrides: CompositionOverrides = {},
): Promise<Talking> {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(await startScriptedModel({ respond }))
  const server = stack.use(await startBench(env, overrides))
  const owned = stack.move()
  return { ...server, ...talk(server, model), model, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** A server in its own process, which a test may kill and start again over the same data. */
export type Killable = AsyncDisposable &
  ReturnType<typeof talk> & { model: ScriptedModel; dir: TempDir; restart(how: 'kill' | 'end'): Promise<void> }

export async function startKillable(respond: Respond, env: Record<string, string> = {}): Promise<Killable> {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(await startScriptedModel({ respond }))
  const dir = stack.use(await tempDir())
  const options = { dataDir: dir.file('data'), env: { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5', ...env } }
  let server: ServerProcess = await startServerProcess(options)
  stack.defer(() => server[Symbol.asyncDispose]())
  const owned = stack.move()
  const call: ServerProcess['call'] = (...parts) => server.call(...parts)
  return {
    ...talk({ call, dir }, model),
    model,
    dir,
    async restart(how) {
      await (how === 'kill' ? server.kill() : server[Symbol.asyncDispose]())
      server = await startServerProcess(options)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function talk({ call, dir }: { call: ServerProcess['call']; dir: TempDir }, model: ScriptedModel) {
  const one = (id: string, rest = '') => `/api/conversations/${id}${rest}`
  const agent = (llm: object = {}, more: object = {}) => agentOf(model, llm, more)
  const info = async (id: string): Promise<Json> => (await call('GET', one(id))).body
  const events = async (id: string): Promise<Json[]> => (await call('GET', one(id, '/events/search'))).body.items
  return {
    agent,
    info,
    events,
    async open(members: object = {}): Promise<string> {
      const body = { workspace: { working_dir: dir.file('work') }, agent: agent(), autotitle: false, ...members }
      const answer = await call('POST', '/api/conversations', body)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer))
      return answer.body.id
    },
    post: (id: string, path: string, body: object = {}) => call('POST', one(id, path), body),
    say: (id: string, text: string) =>
      call('POST', one(id, '/events'), { content: [{ type: 'text', text }], run: true }),
    reaches: (id: string, status: string) => until(async () => (await info(id)).execution_status === status),
    async updates(id: string, key: string): Promise<Json[]> {
      const updates = (await events(id)).filter(
        (event) => event.kind === 'ConversationStateUpdateEvent' && event.key === key,
      )
      return updates.map(({ value }) => value)
    },
  }
}
