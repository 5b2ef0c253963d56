/** The order in which a restart recovers conversations is not determined: here every order is forced. */
import { expect, test } from 'vitest'
import { readConfig, startServer, type CompositionOverrides } from '../../packages/server/src/index.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { KEY, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, start } from '../../packages/server/testing/conversations.ts'
import {
  childrenOf,
  finish,
  parent,
  run,
  startScripts,
  tasks,
} from '../../packages/server/testing/sub-agent-scripts.ts'
import { storeSettings } from '../../packages/server/testing/store-choice.ts'

type Storage = Parameters<NonNullable<CompositionOverrides['wrapStorage']>>[0]

const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }

/** Loads a child only after the interrupt of its parent has begun to look up the children. */
const LATE = [[], ['asking'], ['slow'], ['asking', 'slow']] as const

test('an interrupt reaches sub-agents that a restart recovers before it, during it and after it', async () => {
  await using dir = await tempDir()
  await using model = await startScripts({
    parent: [tasks(['[asking] x', { subagent_type: 'careful' }], ['[slow] x']), finish('never said')],
    asking: [run('true'), finish('never said')],
    slow: [run('sleep 120'), finish('never said')],
  })
  const first = await startServerProcess({ dataDir: dir.file('data'), port: await freePort() })
  const request = parent(model, dir.file('work'), { agent_definitions: [careful] })
  const before = await Promise.all(LATE.map(() => start(first, request)))
  const families: { id: string; late: string[] }[] = []
  for (const [at, it] of before.entries()) {
    await it.is('waiting_for_confirmation')
    const { asking, slow } = await atWork(first, it.id)
    families.push({ id: it.id, late: LATE[at]!.map((name) => (name === 'asking' ? asking : slow)) })
  }
  await first.kill()

  const late = families.flatMap((family) => family.late)
  const gates = new Map(late.map((id) => [id, Promise.withResolvers<void>()]))
  await using second = await restarted(dir, holding(gates, families))
  const ends = families.map(async ({ id }) => {
    const it = conversation(second, id)
    expect((await it.post('interrupt')).status).toBe(200)
    const children = await childrenOf(second, id)
    expect(children.map(({ now }) => now.execution_status).toSorted()).toEqual(['idle', 'paused'])
    expect((await it.info()).execution_status).toBe('paused')
    return [...children, it]
  })
  const all = (await Promise.all(ends)).flat()
  expect(model.requests, 'no sub-agent worked again').toHaveLength(3 * LATE.length)
  for (const { id } of all) await second.call('DELETE', `/api/conversations/${id}`)
}, 120_000)

/** The two sub-agents, when one asks and the other's command is recorded. */
async function atWork(server: ServerProcess, id: string): Promise<{ asking: string; slow: string }> {
  const found = new Map<string, string>()
  await until(async () => {
    for (const child of await childrenOf(server, id)) {
      const isAsking = child.now.execution_status === 'waiting_for_confirmation'
      const [command] = await child.kinds('ActionEvent')
      if (command !== undefined) found.set(isAsking ? 'asking' : 'slow', child.id)
    }
    return found.size === 2
  })
  return { asking: found.get('asking')!, slow: found.get('slow')! }
}

/** Lets a server recover these children only after the children of their parent have been requested. */
function holding(gates: Map<string, PromiseWithResolvers<void>>, families: readonly { id: string; late: string[] }[]) {
  return (storage: Storage): Storage => {
    const { conversations } = storage
    const own: typeof conversations.own = async (id, by) => {
      await gates.get(id)?.promise
      return conversations.own(id, by)
    }
    const children: typeof conversations.children = async (id) => {
      const found = await conversations.children(id)
      for (const child of families.find((family) => family.id === id)?.late ?? []) gates.get(child)!.resolve()
      return found
    }
    const joined: Record<string | symbol, unknown> = { own, children }
    const held = new Proxy(conversations, { get: (target, name) => joined[name] ?? bound(target, name) })
    return new Proxy(storage, { get: (target, name) => (name === 'conversations' ? held : bound(target, name)) })
  }
}

function bound(target: object, name: string | symbol): unknown {
  const member = Reflect.get(target, name) as unknown
  return typeof member === 'function' ? member.bind(target) : member
}

/** The next server on a data directory, in this process. */
async function restarted(
  dir: TempDir,
  wrapStorage: CompositionOverrides['wrapStorage'],
): Promise<Pick<TestServer, 'call'> & AsyncDisposable> {
  const { config } = readConfig({
    flags: { 'data-dir': dir.file('data'), port: '0' },
    env: {
      PARLEY_ALLOW_ROOT: 'true',
      PARLEY_SESSION_API_KEYS: KEY,
      PARLEY_LOG_LEVEL: 'silent',
      PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
      ...(await storeSettings(dir.file('data'))),
    },
    cwd: dir.path,
    home: dir.path,
  })
  const server = await startServer(config, { wrapStorage: wrapStorage! })
  return {
    async call(method, path, body) {
      const response = await fetch(server.url + path, {
        method,
        headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
