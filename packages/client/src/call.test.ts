import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asEventId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { call, type Server } from './call.ts'
import { ParleyClient } from './client.ts'
import { newConversationId } from './conversation-id.ts'
import { deleteConversation, getConversation, searchConversations, sendMessage } from './routes.gen.ts'
import { backOffMs, retryAfterMs } from './wait.ts'

type Asked = { method: string; url: string; headers: IncomingMessage['headers']; body: unknown }
type Answer = { status: number; body?: string; headers?: Record<string, string> } | 'hang up'

/** A server that answers the n-th request with the n-th answer, and all later requests with the last one. */
async function serverWith(...answers: Answer[]) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      const answer = answers[Math.min(asked.length, answers.length - 1)]!
      const { method, url, headers } = request
      asked.push({ method: method!, url: url!, headers, body: text === '' ? undefined : JSON.parse(text) })
      if (answer === 'hang up') request.socket.destroy()
      else response.writeHead(answer.status, answer.headers).end(answer.body ?? '{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    asked,
    at: { baseUrl, apiKey: 'the-key', backOff: { firstMs: 1, maxMs: 2 } },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const id = newConversationId()
const path = { conversation_id: id }

test('a call sends path, query, key and body of its route', async () => {
  await using server = await serverWith({ status: 200, body: '{"success":true}' })
  const at = { ...server.at, baseUrl: `${server.at.baseUrl}/` }
  expect(await call(at, sendMessage, { path, body: { content: [{ type: 'text', text: 'hi' }] } })).toEqual({
    success: true,
  })
  await call(at, searchConversations, { query: { limit: 5, status: 'idle' } })
  expect(server.asked).toMatchObject([
    {
      method: 'POST',
      url: `/api/conversations/${id}/events`,
      headers: { 'x-session-api-key': 'the-key', 'content-type': 'application/json' },
      body: { content: [{ type: 'text', text: 'hi' }] },
    },
    { method: 'GET', url: '/api/conversations/search?limit=5&status=idle', body: undefined },
  ])
})

test('the client lists conversations without sending ids', async () => {
  await using server = await serverWith({ status: 200, body: '{"results":[],"next_page_id":null}' })
  const query = { limit: 2, selected_repository: 'acme/shop' }
  expect(await new ParleyClient(server.at).list(query)).toEqual({ results: [], next_page_id: null })
  expect(server.asked).toMatchObject([{ url: '/api/conversations?limit=2&selected_repository=acme%2Fshop' }])
})

test('a refusal carries status and detail, and its message names both', async () => {
  const detail = [{ type: 'missing', loc: ['body', 'workspace'], msg: 'Field required' }]
  await using server = await serverWith({ status: 422, body: JSON.stringify({ detail }) })
  await expect(call(server.at, sendMessage, { path, body: {} })).rejects.toMatchObject({
    name: 'CallError',
    status: 422,
    detail,
    message: 'POST /api/conversations/{conversation_id}/events was refused with 422: body.workspace: Field required',
  })
})

test('an error answer that is not JSON, such as that of a proxy, is a refusal', async () => {
  await using server = await serverWith({ status: 404, body: '<h1>nothing here</h1>' })
  await expect(call(server.at, getConversation, { path })).rejects.toMatchObject({
    status: 404,
    detail: '<h1>nothing here</h1>',
  })
})

test('a safe request is repeated while the server is unreachable', async () => {
  await using server = await serverWith(
    'hang up',
    { status: 503 },
    { status: 429, headers: { 'retry-after': '0' } },
    { status: 200, body: '7' },
  )
  expect(await call(server.at, getConversation, { path })).toBe(7)
  expect(server.asked.length).toBe(4)
})

test('a request that changes something is not repeated by the client', async () => {
  await using server = await serverWith('hang up')
  await expect(call(server.at, deleteConversation, { path })).rejects.toMatchObject({ name: 'CallError', status: null })
  expect(server.asked.length).toBe(1)
})

test.each([400, 401, 404, 409, 422])('a request refused with %d is not repeated', async (status) => {
  await using server = await serverWith({ status, body: '{"detail":"no"}' })
  await expect(call(server.at, getConversation, { path })).rejects.toMatchObject({ status, detail: 'no' })
  expect(server.asked.length).toBe(1)
})

test('the client stops repeating a request after its last retry and reports the reason', async () => {
  await using server = await serverWith({ status: 503, body: '{"detail":"starting"}' })
  await expect(call({ ...server.at, retries: 2 }, getConversation, { path })).rejects.toThrow(/503: starting/)
  expect(server.asked.length).toBe(3)
})

test('a start is repeated under one id, so that it never creates two conversations', async () => {
  await using server = await serverWith('hang up', { status: 200, body: '{}' })
  await new ParleyClient(server.at).startFromSettings({ initial_user_msg: 'hi' })
  expect(server.asked.length).toBe(2)
  const [first, second] = server.asked.map(({ body }) => (body as { conversation_id: string }).conversation_id)
  expect(first).toMatch(/^[0-9a-f-]{36}$/)
  expect(second).toBe(first)
})

test('the error for an unreachable server names its address and the reason', async () => {
  const server = await serverWith({ status: 200 })
  await server[Symbol.asyncDispose]()
  const failure = call({ ...server.at, retries: 0 }, getConversation, { path })
  await expect(failure).rejects.toThrow(/^no answer from http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)
})

test('an abort ends a call with its reason, between two attempts too', async () => {
  await using server = await serverWith({ status: 503 })
  const controller = new AbortController()
  const at = { ...server.at, backOff: { firstMs: 60_000, maxMs: 60_000 } }
  const result = call(at, getConversation, { path }, controller.signal)
  await expect.poll(() => server.asked.length).toBe(1)
  controller.abort(new Error('enough'))
  await expect(result).rejects.toThrow('enough')
})

test('pauses between retries grow to their limit and are spread at random', () => {
  for (let n = 1; n < 40; n++) {
    const whole = Math.min(1000, 100 * 2 ** (n - 1))
    const ms = backOffMs({ firstMs: 100, maxMs: 1000 }, n)
    expect(ms).toBeGreaterThanOrEqual(whole / 2)
    expect(ms).toBeLessThanOrEqual(whole)
  }
})

test.each<[string | null, number | null]>([
  ['3', 3000],
  ['Sat, 21 Nov 2026 10:00:05 GMT', 5000],
  ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
  ['soon', null],
  [null, null],
])('Retry-After %s is %s ms', (value, ms) => {
  const headers = new Headers(value === null ? {} : { 'retry-after': value })
  expect(retryAfterMs(headers, Date.parse('2026-11-21T10:00:00Z'))).toBe(ms)
})

test('a request with an Idempotency-Key is repeated with it until it has an answer', async () => {
  const atWork = { status: 409, headers: { 'retry-after': '0' }, body: '{"detail":"at work"}' }
  await using server = await serverWith('hang up', { status: 503 }, atWork, { status: 200, body: '{"success":true}' })
  expect(await call(server.at, sendMessage, { path, body: {}, idempotencyKey: 'mine' })).toEqual({ success: true })
  expect(server.asked.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine', 'mine', 'mine'])
})

test.each([400, 409, 422, 500, 504])(
  'a request with an Idempotency-Key that was answered with %d is not repeated',
  async (status) => {
    await using server = await serverWith({ status, body: '{"detail":"no"}' })
    await expect(call(server.at, sendMessage, { path, body: {}, idempotencyKey: 'k' })).rejects.toMatchObject({
      status,
    })
    expect(server.asked.length).toBe(1)
  },
)

test('the calls of a conversation that change something are repeated under one key each', async () => {
  const conversation = (at: Server) => new ParleyClient(at).conversation(id)
  const calls: ((of: ReturnType<typeof conversation>) => Promise<unknown>)[] = [
    (it) => it.run(),
    (it) => it.interrupt(),
    (it) => it.respond({ accept: true }),
    (it) => it.ask('What?'),
    (it) => it.condense(),
    (it) => it.fork(),
    (it) => it.navigate(null),
    (it) => it.postResult(asEventId(id), { content: 'done' }),
  ]
  const keys = new Set<unknown>()
  for (const one of calls) {
    await using server = await serverWith('hang up', { status: 200, body: '{}' })
    await one(conversation(server.at))
    const [first, second, ...more] = server.asked.map(({ headers }) => headers['idempotency-key'])
    expect([typeof first, second, more]).toEqual(['string', first, []])
    keys.add(first)
  }
  expect(keys.size).toBe(calls.length)
})

test('a redirect is a refusal, so the key goes to no other address', async () => {
  await using other = await serverWith({ status: 200 })
  for (const status of [301, 302, 303, 307, 308]) {
    await using server = await serverWith({ status, headers: { location: `${other.at.baseUrl}/api` } })
    const asking = call(server.at, getConversation, { path })
    await expect(asking).rejects.toMatchObject({
      status,
      isPassing: false,
      message: expect.stringContaining('redirect'),
    })
    expect(server.asked.length).toBe(1)
  }
  expect(other.asked).toEqual([])
})
