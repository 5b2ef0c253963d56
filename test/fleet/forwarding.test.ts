/** Two nodes on one database. Conversations are in a directory of the first node, which therefore owns them. */
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as protocol from '@parley/protocol'
import { ADMIN_KEY, NODE_KEYS, startNodes, type TestNode, type TestNodes } from '../../packages/server/testing/nodes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { servedAt } from '../../packages/server/src/http/forward/served-at.ts'

type Loose = ReturnType<typeof JSON.parse>

/** Turns whose message contains this word wait until the test ends. */
const WAITING = 'wait-for-the-end'
const ended = Promise.withResolvers<void>()
let all: TestNodes
let owner: TestNode
let other: TestNode
beforeAll(async () => {
  all = await startNodes({
    respond: async ({ text }) => {
      if (text.includes(WAITING)) await ended.promise
      return { text: 'Hello to you, and to everybody who listens.' }
    },
  })
  owner = all.nodes[0]!
  other = all.nodes[1]!
}, 120_000)
afterAll(async () => {
  ended.resolve()
  await all[Symbol.asyncDispose]()
})

const message = (text: string, run = true) => ({ role: 'user', content: [{ type: 'text', text }], run })
const WAIT = { headers: { prefer: 'wait=50' } }

type Step = readonly [method: string, path: string, body?: (event: string) => unknown]
const C = '/api/conversations/{conversation_id}'
/** One request for every route that changes a conversation, in an order in which most of them succeed. */
const STEPS: readonly Step[] = [
  ['POST', `${C}/events`, () => message('first', false)],
  ['PATCH', C, () => ({ title: 'A title' })],
  ['POST', `${C}/run`, () => ({})],
  ['POST', `${C}/pause`],
  ['POST', `${C}/interrupt`],
  ['POST', `${C}/confirmation_policy`, () => ({ policy: { kind: 'NeverConfirm' } })],
  ['POST', `${C}/security_analyzer`, () => ({ security_analyzer: null })],
  ['POST', `${C}/secrets`, () => ({ secrets: { A_NAME: 'a value of some length' } })],
  ['POST', `${C}/navigate`, (event) => ({ event_id: event })],
  ['POST', `${C}/fork`, () => ({})],
  ['POST', `${C}/ask_agent`, () => ({ question: 'What?' })],
  ['POST', `${C}/condense`],
  ['POST', `${C}/goal`, () => ({ objective: 'Say hello', max_iterations: 1 })],
  ['POST', `${C}/goal/stop`],
  ['POST', `${C}/goal/resume`],
  ['POST', `${C}/events/respond_to_confirmation`, () => ({ accept: true })],
  ['POST', `${C}/events/{event_id}/result`, () => ({ content: 'none' })],
  ['POST', `${C}/load_plugin`, () => ({ plugin_ref: 'x' })],
  ['POST', `${C}/switch_llm`, () => ({ llm: { model: 'openai/scripted', usage_id: 'x' } })],
  ['POST', `${C}/switch_profile`, () => ({ profile_name: 'none' })],
  ['POST', `${C}/switch_acp_model`, () => ({ model: 'none' })],
  ['PUT', `${C}/credential-bindings/{secret_name}`, () => ({ url: 'https://example.com/' })],
  ['POST', `${C}/stop`],
  ['POST', `${C}/start`],
  ['DELETE', C],
]

/** Statuses of the steps at a node; the conversation is that of the first one. */
async function play(node: TestNode): Promise<string[]> {
  const id = await all.create(owner)
  const results: string[] = []
  for (const [method, path, body] of STEPS) {
    const { items } = (await owner.call('GET', `/api/conversations/${id}/events/search`)).body
    const event: string = items?.find(({ kind }: Loose) => kind === 'MessageEvent')?.id ?? randomUUID()
    const url = path.replace('{conversation_id}', id).replace('{event_id}', event).replace('{secret_name}', 'A_NAME')
    const { status } = await node.call(method, url, body?.(event))
    results.push(`${method} ${path}: ${status}`)
    await until(async () => {
      const answer = await owner.call('GET', `/api/conversations/${id}`)
      return answer.status === 404 || answer.body.execution_status !== 'running'
    })
  }
  return results
}

test('every route that changes a conversation answers at another node as at its owner', async () => {
  const known = (Object.values(protocol) as unknown[]).filter(
    (row): row is protocol.Endpoint => 'operationId' in Object(row),
  )
  const writes = known.filter(
    (row) => servedAt(row) === 'owner' && row.method !== 'GET' && row.path.startsWith('/api/'),
  )
  expect(STEPS.map(([method, path]) => `${method} ${path}`).toSorted()).toEqual(
    writes.map(({ method, path }) => `${method} ${path}`).toSorted(),
  )
  const direct = await play(owner)
  expect(await play(other)).toEqual(direct)
  expect(direct.filter((step) => step.endsWith(': 200')).length).toBeGreaterThan(14)
}, 120_000)

test('a message at another node is answered there after the run at the owner, and both nodes read the same', async () => {
  const id = await all.create(owner)
  expect((await other.call('POST', `/api/conversations/${id}/events`, message('hi'), WAIT)).status).toBe(200)
  for (const path of ['', '/events/search', '/events/count', '/agent_final_response', '/status', '/trajectory']) {
    const [here, there] = await Promise.all(
      [owner, other].map((node) => node.call('GET', `/api/conversations/${id}${path}`)),
    )
    expect(there!.body).toEqual(here!.body)
  }
  expect((await other.call('GET', `/api/conversations/${id}`)).body.execution_status).toBe('finished')
})

test.each(['header', 'first frame'])(
  'a socket at another node gets deltas before the answer, with its key in the %s',
  async (where) => {
    const id = await all.create(owner)
    await using socket = other.socket(`/sockets/session/${id}?after_seq=0`, where === 'header' ? NODE_KEYS.ann : null)
    await socket.opened
    if (where === 'first frame') socket.send({ type: 'auth', session_api_key: NODE_KEYS.ann })
    await socket.next(({ type }) => type === 'snapshot')
    socket.send({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
    await socket.next(({ type }) => type === 'delta')
    await socket.next((frame) => frame.type === 'snapshot' && frame.state.execution_status === 'finished')
    const seqs = socket.frames.flatMap((frame) => (frame.type === 'event' ? [frame.seq] : []))
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  },
)

test('an event stream at another node passes live events', async () => {
  const id = await all.create(owner)
  const answer = await fetch(`${other.server.url}/api/conversations/${id}/events/stream`, {
    headers: { 'x-session-api-key': NODE_KEYS.ann },
  })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  await other.call('POST', `/api/conversations/${id}/events`, message('over the hop', false))
  let text = ''
  while (!text.includes('over the hop')) text += (await reader.read()).value
  await reader.cancel()
})

test("another user's conversation is unknown at every node, with the same answer", async () => {
  const id = await all.create(owner)
  for (const [method, path] of [
    ['POST', `/api/conversations/${id}/events`],
    ['POST', `/api/conversations/${id}/run`],
    ['GET', `/api/conversations/${id}/events/stream`],
    ['GET', `/api/conversations/${id}/workspace/x`],
    ['GET', `/api/conversations/${id}/files/text?path=x`],
  ] as const) {
    const ask = (node: TestNode, of: string) =>
      node.call(method, path.replace(id, of), method === 'POST' ? message('x') : undefined, { key: NODE_KEYS.bob })
    const unknown = randomUUID()
    for (const node of [owner, other]) {
      const [foreign, absent] = [await ask(node, id), await ask(node, unknown)]
      expect(foreign.status).toBe(404)
      expect(JSON.stringify(foreign.body).replace(id, unknown)).toBe(JSON.stringify(absent.body))
    }
  }
  for (const node of [owner, other]) {
    await using socket = node.socket(`/sockets/session/${id}?after_seq=0`, NODE_KEYS.bob)
    expect((await socket.closed).code).toBe(4004)
  }
})

test('a conversation that was created with an id is found at another node, and its children are created at its owner', async () => {
  const id = randomUUID()
  const working_dir = all.dir.file('work', 'named')
  const body = { conversation_id: id, workspace: { working_dir }, agent: all.agent, autotitle: false }
  const statuses = [
    await owner.call('POST', '/api/conversations', body),
    await other.call('POST', '/api/conversations', body),
  ]
  expect(statuses.map(({ status }) => status)).toEqual([201, 200])
  const { conversation_id: _, ...child } = { ...body, parent_conversation_id: id }
  const made = await other.call('POST', '/api/conversations', child)
  expect(made.status).toBe(201)
  expect(await all.ownerOf(made.body.id)).toBe(await all.ownerOf(id))
  // A conversation without a relation to another one belongs to the node that creates it.
  const apart = await all.create(other)
  expect(await all.ownerOf(apart)).not.toBe(await all.ownerOf(id))
})

test('a request sent again with its Idempotency-Key to the other node gets the first answer', async () => {
  const id = await all.create(owner)
  const options = { headers: { 'idempotency-key': randomUUID() } }
  const path = `/api/conversations/${id}/events`
  const first = await other.call('POST', path, message('once', false), options)
  const second = await owner.call('POST', path, message('once', false), options)
  expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, 'true'])
  const { items } = (await owner.call('GET', `${path}/search?kind=MessageEvent`)).body
  expect(items).toHaveLength(1)
})

test('a forwarded request has one entry in the audit log', async () => {
  const id = await all.create(owner)
  await other.call('PATCH', `/api/conversations/${id}`, { title: 'A' })
  const entries = async () => {
    const { body } = await owner.call('GET', '/api/audit?limit=100', undefined, { key: ADMIN_KEY })
    return body.items.filter((entry: Loose) => entry.conversation_id === id && entry.action.startsWith('PATCH'))
  }
  await until(async () => (await entries()).length > 0)
  expect(await entries()).toMatchObject([{ user: 'ann', status: 200 }])
})

test('a hop header of a client is refused at every node', async () => {
  const id = await all.create(owner)
  for (const node of [owner, other]) {
    const headers = { 'x-parley-hop': `${Buffer.from('[1,9e15,"10.0.0.1",null]').toString('base64url')}.x` }
    expect((await node.call('POST', `/api/conversations/${id}/run`, {}, { headers })).status).toBe(400)
  }
})

test('a file of 100 MB is uploaded through another node to the machine of a conversation', async () => {
  const id = await all.create(owner)
  const path = all.dir.file('work', 'upload.bin')
  const url = `/api/file/upload?path=${encodeURIComponent(path)}`
  expect((await other.call('POST', url)).body).toMatchObject({ reason: 'machine_not_named' })
  const boundary = 'a-boundary'
  const parts = function* () {
    yield `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`
    for (let left = 100; left > 0; left -= 1) yield Buffer.alloc(1024 * 1024, left)
    yield `\r\n--${boundary}--\r\n`
  }
  const answer = await fetch(`${other.server.url}${url}&conversation_id=${id}`, {
    method: 'POST',
    headers: { 'x-session-api-key': NODE_KEYS.ann, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Readable.toWeb(Readable.from(parts(), { objectMode: false })),
    duplex: 'half',
  } as never)
  expect(answer.status).toBe(200)
  expect((await stat(path)).size).toBe(100 * 1024 * 1024)
})

test('files of a workspace, and commands on its machine, are reached through another node', async () => {
  const id = await all.create(owner)
  const { workspace } = (await owner.call('GET', `/api/conversations/${id}`)).body
  const command = { command: 'echo from the machine > note.txt', cwd: workspace.working_dir, timeout: 20 }
  const ran = await other.call('POST', `/api/bash/execute_bash_command?conversation_id=${id}`, command)
  expect(ran).toMatchObject({ status: 200, body: { exit_code: 0 } })
  const file = await other.call('GET', `/api/conversations/${id}/workspace/note.txt`)
  expect([file.status, file.body]).toEqual([200, 'from the machine\n'])
  const read = await other.call('GET', `/api/conversations/${id}/files/text?path=note.txt`)
  expect([read.status, read.body.text]).toEqual([200, 'from the machine\n'])
})

test('a socket of commands has to name a machine, and works through another node', async () => {
  await using without = other.socket('/sockets/bash-events')
  expect((await without.closed).code).toBe(4009)
  const id = await all.create(owner)
  await using socket = other.socket(`/sockets/bash-events?conversation_id=${id}`)
  await socket.opened
  socket.send({ command: 'echo over the hop' })
  expect(await socket.next(({ kind }) => kind === 'BashOutput')).toMatchObject({ stdout: 'over the hop\n' })
})

test('the chat gateway continues a conversation of another node', async () => {
  const id = await all.create(owner)
  const saved = await owner.call('POST', '/api/profiles/scripted', { llm: (all.agent as Loose).llm })
  expect(saved.status).toBeLessThan(300)
  const body = { model: 'openhands_scripted', messages: [{ role: 'user', content: 'hi' }] }
  const answer = await other.call('POST', '/v1/chat/completions', body, {
    headers: { 'x-openhands-serverconversation-id': id, authorization: `Bearer ${NODE_KEYS.ann}` },
  })
  expect([answer.status, answer.body.choices?.[0].message.content]).toEqual([
    200,
    'Hello to you, and to everybody who listens.',
  ])
})

// The last tests: they end the owner.
test('a node that is stopped closes the sockets that others have forwarded to it with 1012', async () => {
  const third = await all.add()
  const id = await all.create(third)
  await using socket = other.socket(`/sockets/session/${id}?after_seq=0`)
  await socket.next()
  await third.server[Symbol.asyncDispose]()
  expect((await socket.closed).code).toBe(1012)
}, 60_000)

test('when the owner is killed, a waiting request gets 503 with Retry-After, and sockets close with 1012', async () => {
  const id = await all.create(owner)
  await using socket = other.socket(`/sockets/session/${id}?after_seq=0`)
  await socket.next()
  const waiting = other.call('POST', `/api/conversations/${id}/events`, message(WAITING), WAIT)
  await until(async () => (await other.call('GET', `/api/conversations/${id}`)).body.execution_status === 'running')
  await owner.server.kill()
  const answer = await waiting
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await socket.closed).code).toBe(1012)
  // Its files are on the machine of the node that was killed.
  const after = await other.call('POST', `/api/conversations/${id}/run`, {})
  expect(after.status).toBe(503)
  expect((await other.call('GET', `/api/conversations/${id}`)).status).toBe(200)
}, 60_000)
