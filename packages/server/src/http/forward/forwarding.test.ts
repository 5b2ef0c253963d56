/** Three listeners, and a table of owners that stands for their store. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { asConversationId, type ConversationId } from '@parley/protocol'
import { until } from '../../../testing/until.ts'
import { OpenCount } from '../../quotas/index.ts'
import { createAddressOf } from '../core/client-address.ts'
import { createCors } from '../core/cors.ts'
import { createWeb, type RawRequest, type Route, type Web } from '../core/web.ts'
import { RequestBudgets } from '../core/rate-limits.ts'
import { Connections } from '../live/connections.ts'
import { Forwarding } from './forwarding.ts'
import { HOP_HEADER, Hops } from './hop.ts'

const ID = asConversationId('6f1c2f0e-8f0c-4c52-9d3c-000000000001')
const OTHER = asConversationId('6f1c2f0e-8f0c-4c52-9d3c-000000000002')
const KEY = new Uint8Array(32).fill(7)
const log = { debug() {}, info() {}, warn() {}, error() {} }

/** Owner by conversation, and addresses of the nodes that are alive. */
const owners = new Map<ConversationId, number>()
const urls = new Map<number, string>()
let claims: number[] = []
/** What single nodes read in place of the table. */
const views = new Map<number, number>()
let onClaim: (node: number) => void = () => undefined

type Node = {
  n: number
  url: string
  web: Web
  served: string[]
  forwarding: Forwarding
  waiting: Set<() => void>
  closed: number
  received: number
}

async function startNode(n: number): Promise<Node> {
  const served: string[] = []
  const waiting = new Set<() => void>()
  const coordination = {
    node: n,
    isShared: true,
    async claim(id: ConversationId) {
      claims.push(n)
      onClaim(n)
      const owner = views.get(n) ?? owners.get(id)
      if (owner !== undefined && owner !== n && urls.has(owner))
        return { kind: 'elsewhere' as const, node: owner, url: urls.get(owner)! }
      owners.set(id, n)
      return { kind: 'here' as const }
    },
    nodes: async () =>
      [...urls].map(([node, url]) => ({ n: node, url, version: '', places: [], startedAt: '', drainingAt: null })),
  }
  const forwarding = new Forwarding({
    coordination,
    isLoaded: () => false,
    nodes: () => 3,
    userOf: async (id) => (id === ID ? 'ann' : 'bob'),
    onForward: () => undefined,
    demoOf: async () => null,
    cipher: { keyFor: () => KEY },
    addressOf: createAddressOf([]),
    log,
  })
  const seen = ({ headers, body, actor }: RawRequest) => {
    served.push(String(headers['x-name'] ?? ''))
    return { node: n, user: actor?.user, bytes: body?.length ?? 0, address: forwarding.addressOf({ headers }) ?? null }
  }
  const node = { n, url: '', served, forwarding, waiting, closed: 0, received: 0 } as Node
  const one = '/api/conversations/{conversation_id}'
  const routes: Route[] = [
    { method: 'POST', path: `${one}/run`, isOpen: false, answer: async (raw) => ({ status: 200, body: seen(raw) }) },
    { method: 'GET', path: `${one}/other`, isOpen: false, answer: async (raw) => ({ status: 200, body: seen(raw) }) },
    {
      method: 'POST',
      path: `${one}/wait`,
      isOpen: false,
      answer: async (raw) => {
        seen(raw)
        await new Promise<void>((resolve) => waiting.add(resolve))
        return { status: 200, body: 'done' }
      },
    },
    {
      method: 'GET',
      path: `${one}/events/stream`,
      isOpen: false,
      answer: async (raw) => ({
        stream(response, headers) {
          response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
          response.write(`data: ${JSON.stringify(seen(raw))}\n\n`)
          waiting.add(() => response.end())
          response.once('close', () => (node.closed += 1))
        },
      }),
    },
    {
      method: 'POST',
      path: '/api/file/upload',
      isOpen: false,
      streamsBody: true,
      answer: async (raw) => {
        for await (const piece of raw.stream!) node.received += (piece as Buffer).length
        return { status: 200, body: { ...seen(raw), bytes: node.received } }
      },
    },
  ]
  const web = (node.web = createWeb(routes, {
    auth: {
      authenticate: async (key) => (key === 'ann' || key === 'bob' ? { user: key, role: 'user', keyId: key } : null),
      addressOf: forwarding.addressOf,
    },
    cors: createCors([]),
    isSuspended: () => false,
    expectAddresses: () => undefined,
    bodyLimitBytes: null,
    log,
    budgets: new RequestBudgets(6000, { refusalOf: () => null } as never, () => 1),
    nodes: { forwarding, connections: new Connections(new OpenCount('sockets', () => ({ sockets: 10 }) as never)) },
    upgrade: async (_request, socket) => void socket.destroy(),
  }))
  const { port } = await web.listen({ host: '127.0.0.1', port: 0 })
  urls.set(n, (node.url = `http://127.0.0.1:${port}`))
  return node
}

let one: Node
let two: Node
let three: Node
beforeAll(async () => {
  one = await startNode(1)
  two = await startNode(2)
  three = await startNode(3)
})
afterAll(async () => {
  const impatient = AbortSignal.abort()
  for (const node of [one, two, three]) {
    for (const end of node.waiting) end()
    node.forwarding[Symbol.dispose]()
    await node.web.close(impatient)
  }
})
afterEach(() => {
  owners.clear()
  views.clear()
  claims = []
  onClaim = () => undefined
  for (const node of [one, two, three]) {
    node.served.length = 0
    for (const end of node.waiting) end()
    node.waiting.clear()
    node.closed = 0
    node.received = 0
    urls.set(node.n, node.url)
    node.forwarding.forget(ID)
  }
})

const call = (node: Node, path: string, init: RequestInit = {}, key = 'ann') =>
  fetch(node.url + path, { method: 'POST', ...init, headers: { 'x-session-api-key': key, ...init.headers } })
const run = `/api/conversations/${ID}/run`

test('a request at another node is answered by the owner, and its body arrives unchanged', async () => {
  owners.set(ID, 1)
  const answer = await call(two, run, { body: '{"a":1}', headers: { 'content-type': 'application/json' } })
  expect(await answer.json()).toEqual({ node: 1, user: 'ann', bytes: 7, address: '127.0.0.1' })
  expect(two.served).toEqual([])
})

test('a conversation without an owner is served where the request arrives', async () => {
  expect(await (await call(two, run)).json()).toMatchObject({ node: 2 })
  expect(owners.get(ID)).toBe(2)
})

test('the owner that a node remembers is not looked up again', async () => {
  owners.set(ID, 1)
  await call(two, run)
  claims = []
  await call(two, run)
  expect(claims).toEqual([1])
})

test('a node that lost a conversation answers 421 to a forwarded request, which then reaches the new owner', async () => {
  owners.set(ID, 1)
  await call(two, run)
  owners.set(ID, 3)
  expect(await (await call(two, run, { body: 'x' })).json()).toMatchObject({ node: 3, bytes: 1 })
  expect(one.served).toEqual([''])
})

test('nodes that disagree about an owner end in 503 with Retry-After, not in a loop', async () => {
  owners.set(ID, 1)
  await call(two, run)
  one.served.length = 0
  views.set(1, 3).set(2, 1)
  const answer = await call(two, run)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  expect([...one.served, ...two.served, ...three.served]).toEqual([])
  // The first request of the test is claimed by the owner alone.
  expect(claims.filter((node) => node === 2)).toHaveLength(4)
})

test('a plain read is served by every node', async () => {
  owners.set(ID, 1)
  const answer = await call(two, `/api/conversations/${ID}/other`, { method: 'GET' })
  expect(await answer.json()).toMatchObject({ node: 2 })
})

test("another user's conversation is neither claimed nor forwarded", async () => {
  owners.set(ID, 1)
  expect(await (await call(two, run, {}, 'bob')).json()).toMatchObject({ node: 2, user: 'bob' })
  expect(claims).toEqual([])
})

test('a forwarded request is counted by the node that the client reaches, and not by the owner', async () => {
  owners.set(ID, 1)
  for (let count = 0; count < 150; count += 1) await call(two, run)
  // A budget of 200, to which time adds and from which requests take.
  expect(Number((await call(one, run)).headers.get('ratelimit-remaining'))).toBeGreaterThan(150)
})

test('a wrong key does not reach the owner', async () => {
  owners.set(ID, 1)
  expect((await call(two, run, {}, 'wrong')).status).toBe(401)
  expect(one.served).toEqual([])
})

test.each([
  ['without a signature', () => 'e30'],
  ['with a wrong signature', () => `${Buffer.from('[1,9e15,null,null]').toString('base64url')}.AAAA`],
  [
    'of another request',
    () => new Hops(KEY).sign({ from: 1, address: '10.0.0.1', host: null }, { method: 'GET', url: '/' }),
  ],
  [
    'with another secret key',
    () => new Hops(new Uint8Array(32)).sign({ from: 1, address: null, host: null }, { method: 'POST', url: run }),
  ],
  [
    'that has expired',
    () =>
      new Hops(KEY, () => Date.now() - 400_000).sign(
        { from: 1, address: null, host: null },
        { method: 'POST', url: run },
      ),
  ],
])('a hop header %s is refused', async (_, header) => {
  const answer = await call(one, run, { headers: { [HOP_HEADER]: header() } })
  expect(answer.status).toBe(400)
  expect(one.served).toEqual([])
})

test('a request that was passed on is counted under the address of its client', async () => {
  const hop = new Hops(KEY).sign(
    { from: 2, address: '203.0.113.9', host: 'parley.example' },
    { method: 'POST', url: run },
  )
  const answer = await call(one, run, { headers: { [HOP_HEADER]: hop } })
  expect(await answer.json()).toMatchObject({ address: '203.0.113.9' })
})

test('an upload of 100 MB passes through another node as it arrives', async () => {
  owners.set(ID, 1)
  const piece = Buffer.alloc(1024 * 1024, 1)
  const pieces = async function* () {
    for (let left = 100; left > 0; left -= 1) {
      // Before the second half is sent, the owner has some of the first.
      if (left === 50) await until(() => one.received > 0)
      yield piece
    }
  }
  const answer = await call(two, `/api/file/upload?conversation_id=${ID}&path=/x`, {
    body: Readable.toWeb(Readable.from(pieces())) as never,
    duplex: 'half',
    headers: { 'content-type': 'application/octet-stream' },
  } as RequestInit)
  expect(await answer.json()).toMatchObject({ node: 1, bytes: 100 * 1024 * 1024 })
})

test('a long body is sent to the new owner when the first one refuses it', async () => {
  owners.set(ID, 1)
  await call(two, run)
  owners.set(ID, 3)
  const answer = await call(two, run, {
    body: Buffer.alloc(1_000_000, 32),
    headers: { 'content-type': 'application/json' },
  })
  expect(await answer.json()).toMatchObject({ node: 3, bytes: 1_000_000 })
})

test('a body that was read for another node is served here when that node is gone', async () => {
  owners.set(ID, 1)
  // Nothing listens at its address.
  urls.set(1, 'http://127.0.0.1:1')
  onClaim = () => claims.length === 2 && urls.delete(1)
  expect(await (await call(two, run, { body: 'abc' })).json()).toMatchObject({ node: 2, bytes: 3 })
})

test('a request on a machine has to name a conversation, and one of another user is unknown', async () => {
  const missing = await call(two, '/api/file/upload?path=/x')
  expect([missing.status, await missing.json()]).toMatchObject([409, { reason: 'machine_not_named' }])
  expect((await call(two, `/api/file/upload?conversation_id=${OTHER}`)).status).toBe(404)
})

test('a waiting request ends with 503 when its owner is no longer alive', async () => {
  owners.set(ID, 1)
  const answer = call(two, `/api/conversations/${ID}/wait`)
  await until(() => one.served.length === 1)
  urls.delete(1)
  expect((await answer).status).toBe(503)
})

test('an event stream passes through another node as it arrives, and ends when its owner is no longer alive', async () => {
  owners.set(ID, 1)
  const answer = await call(two, `/api/conversations/${ID}/events/stream`, { method: 'GET' })
  const reader = answer.body!.getReader()
  expect(Buffer.from((await reader.read()).value!).toString()).toContain('"node":1')
  urls.delete(1)
  expect((await reader.read()).done).toBe(true)
  await until(() => one.closed === 1)
})

test('a client that goes away ends the request at the owner', async () => {
  owners.set(ID, 1)
  const gone = new AbortController()
  const answer = await call(two, `/api/conversations/${ID}/events/stream`, { method: 'GET', signal: gone.signal })
  await answer.body!.getReader().read()
  expect(one.closed).toBe(0)
  gone.abort()
  await until(() => one.closed === 1)
})

test('a body that is announced is asked for by the node that a client reaches', async () => {
  owners.set(ID, 1)
  const request = httpRequest(two.url + run, {
    method: 'POST',
    headers: { 'x-session-api-key': 'ann', expect: '100-continue', 'content-length': '3' },
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('abc')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(JSON.parse(await text(response))).toMatchObject({ node: 1, bytes: 3 })
})
