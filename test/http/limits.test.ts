/** Limits before a request is authenticated and before its body is parsed. Sources: docs/errors.md, Size of a body; docs/security.md, Limits. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { KEYS, startKeyedServer, type KeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { openSocket, type Socket } from '../../packages/server/testing/socket.ts'

const MIB = 1024 * 1024

let server: KeyedServer
beforeAll(async () => {
  server = await startKeyedServer({
    env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' },
    overrides: { liveLimits: { authMs: 3000 } },
  })
})
afterAll(() => server[Symbol.asyncDispose]())

describe('bodies', () => {
  const large = (bytes: number) => JSON.stringify({ name: 'LARGE', value: 'x'.repeat(bytes) })

  test('a body above 2 MiB is refused with 413 that names the limit, before its schema is read', async () => {
    const { status, json } = await server.call('POST', '/api/secrets', large(2 * MIB))
    expect([status, json]).toEqual([413, { detail: 'Request body is larger than 2097152 bytes' }])
    expect((await server.call('POST', '/api/secrets', large(1 * MIB))).status).toBe(422)
  })

  test('a route that takes images accepts up to 10 MiB', async () => {
    const { id } = await server.start()
    const message = (bytes: number) => ({ content: [{ type: 'image', image_urls: [`data:,${'A'.repeat(bytes)}`] }] })
    const path = `/api/conversations/${id}/events`
    expect((await server.call('POST', path, message(3 * MIB))).status).toBe(200)
    const { status, json } = await server.call('POST', path, message(10 * MIB))
    expect([status, json]).toEqual([413, { detail: 'Request body is larger than 10485760 bytes' }])
  })

  test('a body with more than 100,000 values is refused with 413', async () => {
    const { status, json } = await server.call('POST', '/api/secrets', `[${'0,'.repeat(100_000)}0]`)
    expect([status, json]).toEqual([413, { detail: 'Request body has more than 100000 JSON values' }])
  })

  test('the API description shows the limit of each body', async () => {
    const { json } = await server.call('GET', '/openapi.json')
    const limitOf = (path: string) => json.paths[path].post.requestBody['x-max-bytes']
    expect([limitOf('/api/secrets'), limitOf('/api/conversations')]).toEqual([2 * MIB, 10 * MIB])
    expect(json.paths['/api/secrets'].post.responses['413']).toBeDefined()
  })

  test('a configured limit replaces that of every route, and the API description shows it', async () => {
    await using other = await startKeyedServer({ env: { PARLEY_BODY_LIMIT_BYTES: String(3 * MIB) } })
    expect((await other.call('POST', '/api/secrets', large(2 * MIB))).status).toBe(422)
    const { status, json } = await other.call('POST', '/api/conversations', large(3 * MIB))
    expect([status, json.detail]).toEqual([413, 'Request body is larger than 3145728 bytes'])
    const { paths } = (await other.call('GET', '/openapi.json')).json
    expect(paths['/api/conversations'].post.requestBody['x-max-bytes']).toBe(3 * MIB)
  })
})

describe('sockets without a key', () => {
  const PATH = '/sockets/events/11111111-2222-4333-8444-555555555555'
  const auth = (key: string) => JSON.stringify({ type: 'auth', session_api_key: key })
  const from = (address: string) => ({ 'x-forwarded-for': address })

  /** Resolves when all were answered: the sockets that are open, and the answers to the others. */
  async function openMany(count: number, headersOf: (at: number) => Record<string, string>) {
    const url = server.url.replace('http', 'ws') + PATH
    const answers: { status: number; retryAfter: string | undefined; detail: string }[] = []
    const sockets: WebSocket[] = []
    await Promise.all(
      Array.from({ length: count }, (_, at) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const ws = new WebSocket(url, { headers: headersOf(at) })
        ws.on('error', () => {})
        ws.once('open', () => {
          sockets.push(ws)
          resolve()
        })
        ws.once('unexpected-response', (_request, response) => {
          response.setEncoding('utf8').once('data', (body: string) => {
            const { statusCode = 0, headers } = response
            answers.push({ status: statusCode, retryAfter: headers['retry-after'], detail: JSON.parse(body).detail })
            resolve()
          })
        })
        return promise
      }),
    )
    return { sockets, answers }
  }
  const closeOf = (ws: WebSocket) => new Promise<number>((resolve) => ws.once('close', resolve))

  test('of 200 sockets from one address 8 are opened, the others get 429, and the 8 are closed when no key comes', async () => {
    const { sockets, answers } = await openMany(200, () => from('192.0.2.1'))
    const closes = sockets.map(closeOf)
    expect([sockets.length, answers.length]).toEqual([8, 192])
    for (const answer of answers) expect(answer).toMatchObject({ status: 429, retryAfter: '10' })
    expect(answers[0]?.detail).toBe(
      'Too many sockets without a key from this address. Send the key in a header, or try again later.',
    )
    expect(await Promise.all(closes)).toEqual(Array<number>(8).fill(4001))
  })

  test('of 200 sockets from many addresses 64 are opened, the others get 503, and places become free again', async () => {
    const { sockets, answers } = await openMany(200, (at) => from(`198.51.100.${at}`))
    expect([sockets.length, answers.length]).toEqual([64, 136])
    for (const answer of answers) expect(answer).toMatchObject({ status: 503, retryAfter: '10' })
    // A key in the handshake needs no place.
    await using keyed = server.socket(PATH, { 'x-session-api-key': KEYS.ann })
    await keyed.opened
    const closes = sockets.map(closeOf)
    for (const ws of sockets) ws.close()
    await Promise.all(closes)
    const again = await openMany(8, () => from('192.0.2.2'))
    expect(again.sockets.length).toBe(8)
    for (const ws of again.sockets) ws.terminate()
  })

  test('a socket whose key is known needs no place any more', async () => {
    const { id } = await server.start()
    const open: Socket[] = []
    try {
      for (let at = 0; at < 20; at++) {
        const socket = openSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}`, from('192.0.2.3'))
        open.push(socket)
        await socket.opened
        socket.ws.send(auth(KEYS.ann))
        await socket.next()
      }
    } finally {
      for (const { ws } of open) ws.terminate()
    }
  })

  test('a first frame above 8 KiB is refused with 1009, whether it is sent in one piece or announced', async () => {
    await using whole = server.socket(PATH, from('192.0.2.4'))
    await whole.opened
    whole.ws.send(auth('k'.repeat(8 * 1024)))
    expect(await whole.closed).toMatchObject({ code: 1009 })
    await using parts = server.socket(PATH, from('192.0.2.4'))
    await parts.opened
    for (let at = 0; at < 3; at++) parts.ws.send('x'.repeat(3000), { fin: false })
    expect(await parts.closed).toMatchObject({ code: 1009 })
  })

  test('a first frame of up to 8 KiB is read, and the next frame may follow at once and be larger', async () => {
    const { id } = await server.start()
    await using socket = server.socket(`/sockets/events/${id}`, from('192.0.2.5'))
    await socket.opened
    socket.ws.send(auth(KEYS.ann) + ' '.repeat(8000))
    socket.send({ role: 'user', content: [{ type: 'text', text: 'y'.repeat(300_000) }] })
    const { llm_message } = await socket.next(({ kind }) => kind === 'MessageEvent')
    expect(llm_message.content[0].text.length).toBe(300_000)
  })

  test('what a refused client sends after its first frame is dropped', async () => {
    await using socket = server.socket(PATH, from('192.0.2.6'))
    await socket.opened
    socket.ws.send(auth('wrong'))
    socket.ws.send('y'.repeat(4 * MIB))
    expect(await socket.closed).toEqual({ code: 4001, reason: 'Authentication failed' })
  })

  test.each<[string, (ws: WebSocket) => void, number]>([
    ['no JSON', (ws) => ws.send('nothing'), 4001],
    ['nested', (ws) => ws.send('['.repeat(8000)), 4001],
    ['of another kind', (ws) => ws.send('{"type":"hello"}'), 4001],
    ['binary', (ws) => ws.send(Buffer.from(auth(KEYS.bob))), 4001],
    ['without a key', (ws) => ws.send(auth('')), 4001],
    ['too large', (ws) => ws.send('x'.repeat(9000)), 1009],
  ])('a first frame that is %s counts like a wrong key', async (_name, send, code) => {
    const headers = from(`203.0.113.${++tried}`)
    // More than the limit of a minute, because an attempt is forgotten every second.
    for (let round = 0; round < 12; round++) {
      const { sockets } = await openMany(8, () => headers)
      const closes = sockets.map(closeOf)
      for (const ws of sockets) send(ws)
      expect(await Promise.all(closes)).toEqual(Array<number>(8).fill(code))
    }
    const { status } = await server.call('GET', '/api/conversations/count', undefined, { key: 'wrong', headers })
    expect(status).toBe(429)
  })
  let tried = 0
})

test('frames of a socket obey the limits of depth, values and lengths, and the socket stays open', async () => {
  const { id } = await server.start()
  await using socket = server.socket(`/sockets/events/${id}`, { 'x-session-api-key': KEYS.ann })
  await socket.opened
  const refusal = async (frame: string) => {
    socket.ws.send(frame)
    const { code, detail } = await socket.next(({ kind }) => kind === 'ServerErrorEvent')
    return [code, detail]
  }
  const parts = `{"role":"user","content":[${'0,'.repeat(1000)}0]}`
  expect(await refusal('['.repeat(1_000_000))).toEqual([
    'JSONDecodeError',
    'not text, or nested deeper than 200 levels',
  ])
  expect(await refusal(`[${'0,'.repeat(100_000)}0]`)).toEqual(['JSONDecodeError', 'more than 100000 JSON values'])
  expect(await refusal(parts)).toEqual([
    'ValidationError',
    'content: List should have at most 1000 items after validation, not 1001',
  ])
  socket.send({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
  await socket.next(({ kind }) => kind === 'MessageEvent')
})

test('a frame of the bash socket obeys the same limits, and has at most 2 MiB', async () => {
  await using socket = server.socket('/sockets/bash-events', { 'x-session-api-key': KEYS.ann })
  await socket.opened
  socket.ws.send(`[${'0,'.repeat(100_000)}0]`)
  expect(await socket.next()).toMatchObject({ code: 'JSONDecodeError', detail: 'more than 100000 JSON values' })
  socket.ws.send('x'.repeat(2 * MIB + 1))
  expect(await socket.closed).toMatchObject({ code: 1009 })
})
