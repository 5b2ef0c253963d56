/** Requests of the server for its users: every place where a user names an address obeys the setting `user_egress`. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as protocol from '@parley/protocol'
import { openKeys, readConfig } from '../../packages/server/src/index.ts'
import { startBench, type Bench } from '../../packages/server/testing/two-user-server.ts'
import { jsonRoutes } from '../../packages/server/testing/worst-bodies.ts'
import { until } from '../../packages/server/testing/until.ts'
import { OWN_PARTS, type LlmPlan, type Plan } from './credentials/plans.ts'
import { CRITIC, play } from './credentials/play.ts'
import { chosenDatabase } from '../../packages/server/testing/store-choice.ts'

const TOKEN = 'build-token=abc123'
const PAGE = `<html>internal page: ${TOKEN}</html>`

type Listener = AsyncDisposable & { port: number; connections: number }

async function listen(answer: RequestListener): Promise<Listener> {
  const server = createServer(answer)
  const listener: Listener = {
    port: 0,
    connections: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  server.on('connection', () => (listener.connections += 1))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(listener, { port: (server.address() as AddressInfo).port })
}

const PRIVATE = 'http://10.1.2.3:8000/v1'

/** A schema with every schema that it refers to, as text. */
function textWithReferences(document: { components: { schemas: Record<string, unknown> } }, schema: unknown): string {
  const texts = new Map<string, string>([['', JSON.stringify(schema)]])
  for (const text of texts.values())
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      if (!texts.has(name)) texts.set(name, JSON.stringify(document.components.schemas[name]))
  return [...texts.values()].join('\n')
}

const llm: LlmPlan = {
  model: 'openai/x',
  key: 'own',
  address: 'versioned',
  ollama: false,
  mode: 'chat',
  header: 'none',
  prompted: false,
}
const others = { ...llm, model: 'anthropic/x', ollama: true }
const WAYS = ['agent', 'settings', 'agent profile', 'switch_llm', 'gateway'] as const
/** Every place of a request in which a user names an address, over all ways to a model. */
const PLANS: Plan[] = [
  ...WAYS.map((way) => ({ way, parts: OWN_PARTS, llm, other: others })),
  { way: 'agent', parts: ['remote'], llm, other: others },
]

/** Carries all plans out at `address`, each as a user of its own. */
async function playAll(server: Bench, address: string, plans = PLANS): Promise<void> {
  CRITIC.url = address
  await using keys = await openKeys({
    dataDir: server.dir.file('data'),
    databaseUrl: await chosenDatabase(server.dir.file('data')),
    sessionApiKeys: [],
    mode: 'shared',
  })
  await Promise.all(
    plans.map(async (plan, index) => {
      const user = `user-${new URL(address).host}-${index}`
      const made = await keys.createKey({ user, role: 'user', label: null, expires_at: null })
      const call = (method: string, path: string, body?: unknown) =>
        server.call(method, path, body, { 'X-Session-API-Key': made.key })
      const at = { users: address, operators: 'http://127.0.0.1:9/v1' }
      await play({ call, plan, at, workingDir: server.dir.file(`work-${user}`) })
    }),
  )
}

/** The texts of the errors of a conversation with a model at `base_url`, as its user sees them. */
async function errorsAt(server: Bench, base_url: string): Promise<string> {
  const asBob = (method: string, path: string, body?: unknown) => server.call(method, path, body, server.bob)
  const { body } = await asBob('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    agent: { kind: 'Agent', tools: [], llm: { model: 'openai/x', base_url, api_key: 'k', num_retries: 0 } },
    autotitle: false,
    initial_message: { content: [{ type: 'text', text: 'hello' }] },
  })
  const path = `/api/conversations/${body.id}`
  await until(async () => (await asBob('GET', path)).body.execution_status === 'error')
  return JSON.stringify((await asBob('GET', `${path}/events/search?limit=100`)).body)
}

test('by default, a shared server allows public addresses, and a personal one all but sensitive ones', () => {
  const configOf = (env: Record<string, string>) => readConfig({ flags: {}, env, cwd: '/', home: '/' }).config
  expect(configOf({}).userEgress).toEqual(['any'])
  expect(configOf({ PARLEY_MODE: 'shared' }).userEgress).toEqual(['public'])
  expect(configOf({ PARLEY_USER_EGRESS: 'Public, 10.0.0.0/8' }).userEgress).toEqual(['public', '10.0.0.0/8'])
  expect(() => configOf({ PARLEY_USER_EGRESS: 'https://example.org' })).toThrow(
    'PARLEY_USER_EGRESS must be public, any, hosts',
  )
})

describe('where public addresses are allowed, and one relay', () => {
  let secret: Listener
  let relay: Listener
  let server: Bench
  beforeAll(async () => {
    secret = await listen((_, response) => response.end(PAGE))
    relay = await listen((request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${secret.port}${request.url}` }).end(),
    )
    server = await startBench({
      PARLEY_USER_EGRESS: `public,127.0.0.1:${relay.port}`,
      PARLEY_START_DEADLINES: '{"workspace":2}',
    })
  })
  afterAll(async () => {
    for (const each of [server, relay, secret]) await each[Symbol.asyncDispose]()
  })

  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1'])(
    'no place of a request leads to this machine under the name %s',
    async (host) => {
      await playAll(server, `http://${host}:${secret.port}`)
      expect(secret.connections).toBe(0)
    },
  )

  test('no place of a request follows a redirect of an allowed server to this machine', async () => {
    // A condensation on request answers with 503 when its model failed, which `play` takes for a fault.
    const plans = PLANS.map((plan) => ({ ...plan, parts: plan.parts.filter((part) => part !== 'condenser') }))
    await playAll(server, `http://127.0.0.1:${relay.port}`, plans)
    expect(relay.connections).toBeGreaterThan(0)
    expect(secret.connections).toBe(0)
  })

  test.each<[string, string, object, string[]]>([
    [
      'POST',
      '/api/conversations',
      { agent: { kind: 'Agent', llm: { model: 'openai/x', base_url: PRIVATE } } },
      ['agent', 'llm', 'base_url'],
    ],
    [
      'POST',
      '/api/conversations',
      { initial_user_msg: 'hi', mcp_config: { sse_servers: [{ url: PRIVATE }] } },
      ['mcp_config', 'sse_servers', '0', 'url'],
    ],
    [
      'POST',
      '/api/conversations',
      {
        agent: { kind: 'Agent', llm: { model: 'openai/x' } },
        workspace: { kind: 'RemoteWorkspace', working_dir: '/w', host: PRIVATE },
      },
      ['workspace', 'host'],
    ],
    ['POST', '/api/settings', { llm_base_url: PRIVATE }, ['llm_base_url']],
    [
      'PATCH',
      '/api/settings',
      { agent_settings_diff: { verification: { critic_server_url: PRIVATE } } },
      ['agent_settings_diff', 'verification', 'critic_server_url'],
    ],
    ['POST', '/api/settings/mcp/files', { url: PRIVATE }, ['url']],
    ['POST', '/api/mcp/test', { server: { type: 'http', url: PRIVATE } }, ['server', 'url']],
    ['POST', '/api/mcp/oauth/start', { server: { type: 'sse', url: PRIVATE } }, ['server', 'url']],
    ['POST', '/api/profiles/mine', { llm: { model: 'openai/x', base_url: PRIVATE } }, ['llm', 'base_url']],
    [
      'POST',
      '/api/llm/provider-connections',
      { display_name: 'mine', provider: 'openai', api_key: 'k', base_url: PRIVATE },
      ['base_url'],
    ],
  ])('%s %s refuses a private address in %j', async (method, path, members, place) => {
    const isStart = path === '/api/conversations' && !('initial_user_msg' in members)
    const start = isStart ? { workspace: { working_dir: server.dir.file('work') } } : {}
    const { status, body } = await server.call(method, path, { ...start, ...members }, server.bob)
    expect([status, body.detail[0].loc.map(String)]).toEqual([422, ['body', ...place]])
    expect(body.detail[0].msg).toMatch(
      new RegExp(`${place.at(-1)} leads to an address of a private network .*user_egress`),
    )
  })

  test('every row whose body has a member for an address checks it before anything is stored', async () => {
    const { body: document } = await server.call('GET', '/openapi.json')
    const naming = jsonRoutes(document, 0).flatMap(({ route, schema }) =>
      /"(?:\w+_)?(?:base_url|server_url|api_url)":|"url":/.test(textWithReferences(document, schema)) ? [route] : [],
    )
    const rows = (Object.values(protocol) as unknown[]).filter(
      (row): row is protocol.Endpoint => 'operationId' in Object(row),
    )
    const checking = rows.flatMap(({ method, path, namesAddresses }) => (namesAddresses ? [`${method} ${path}`] : []))
    // Reports of other servers, and secrets, whose addresses are those of the operator's list.
    const others = ['POST /api/v1/webhooks/conversations', 'POST /api/conversations/{conversation_id}/secrets']
    // Members that the document does not describe.
    expect(new Set([...naming, 'PATCH /api/settings'])).toEqual(new Set([...checking, ...others]))
  })

  test('the error names the member, the class of the address and the setting', async () => {
    const text = await errorsAt(server, `http://localhost:${secret.port}/v1`)
    expect(text).toMatch(/base_url leads to an address of the machine of this server \(loopback\).*user_egress/)
    expect(secret.connections).toBe(0)
  })

  test('a secret is not looked up on this machine', async () => {
    const body = { name: 'X', value: { kind: 'LookupSecret', url: `http://127.0.0.1:${secret.port}/` } }
    const made = { workspace: { working_dir: server.dir.file('work') }, secrets: { X: body.value } }
    expect((await server.call('POST', '/api/conversations', made, server.bob)).status).toBe(422)
    expect(secret.connections).toBe(0)
  })
})

test('in the mode shared without further settings, a model on this machine is not requested', async () => {
  await using secret = await listen((_, response) => response.end(PAGE))
  await using server = await startBench({ PARLEY_MODE: 'shared', PARLEY_USER_EGRESS: '' })
  expect(await errorsAt(server, `http://localhost:${secret.port}/v1`)).toContain('(loopback)')
  expect(secret.connections).toBe(0)
})

describe('where all addresses are allowed', () => {
  test('a model on this machine is reached, and its error contains no page of another service', async () => {
    const answers = [
      { status: 200, type: 'text/html', text: PAGE },
      { status: 403, type: 'text/plain', text: `Forbidden: ${TOKEN}` },
      { status: 500, type: 'application/json', text: JSON.stringify({ token: TOKEN }) },
    ]
    let requests = 0
    await using page = await listen((request, response) => {
      requests += 1
      const { status, type, text } = answers[Number(request.url?.[1])]!
      response.writeHead(status, { 'content-type': type }).end(text)
    })
    await using server = await startBench({ PARLEY_USER_EGRESS: '' })
    for (const index of answers.keys()) {
      expect(await errorsAt(server, `http://localhost:${page.port}/${index}/v1`)).not.toContain('abc123')
      expect(requests).toBeGreaterThan(index)
    }
  })
})
