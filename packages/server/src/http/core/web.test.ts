import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ParleyError } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import { createCors } from './cors.ts'
import type { ConnectionLimits } from './request-limits.ts'
import { createWeb, type RawRequest, type Route, type Web } from './web.ts'

const ann: Actor = { user: 'ann', role: 'user', keyId: 'k' }
const LIMIT = 1000
const logged: object[] = []
const echo = async ({ path, query, body, actor, contentType }: RawRequest) => ({
  status: 200,
  body: { path, query, body: body?.toString() ?? null, user: actor?.user ?? null, type: contentType ?? null },
})
const routes: Route[] = [
  { method: 'GET', path: '/open', isOpen: true, answer: echo },
  { method: 'GET', path: '/api/things/search', isOpen: false, answer: echo },
  { method: 'GET', path: '/api/things/{thing_id}', isOpen: false, answer: echo },
  { method: 'POST', path: '/api/things/{thing_id}/run', isOpen: false, answer: echo },
  {
    method: 'GET',
    path: '/fails',
    isOpen: true,
    answer: async () => {
      throw new TypeError('the password is hunter2')
    },
  },
  {
    method: 'GET',
    path: '/refuses',
    isOpen: true,
    answer: async () => {
      throw new ParleyError('conflict', 'already running', { details: { retryable: true } })
    },
  },
]

let web: Web
let base: string
let port: number
beforeAll(async () => {
  web = createWeb(routes, {
    auth: { authenticate: async (key) => (key === 'good' ? ann : null) },
    cors: createCors([]),
    isSuspended: () => false,
    expectAddresses: () => undefined,
    bodyLimitBytes: LIMIT,
    log: { debug() {}, info() {}, warn() {}, error: (fields) => void logged.push(fields) },
    upgrade: async (_request, socket) => void socket.destroy(),
  })
  ;({ port } = await web.listen({ host: '127.0.0.1', port: 0 }))
  base = `http://127.0.0.1:${port}`
})
afterAll(() => web.close(new AbortController().signal))

const key = { 'x-session-api-key': 'good' }
const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(base + path, { redirect: 'manual', ...init })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
  }
}

describe('routing', () => {
  test('a fixed path takes precedence over a variable one, and path parameters are decoded', async () => {
    expect((await ask('/api/things/search?a=1&a=2', { headers: key })).json()).toMatchObject({
      path: {},
      query: { a: ['1', '2'] },
    })
    expect((await ask('/api/things/a%20b', { headers: key })).json()).toMatchObject({
      path: { thing_id: 'a b' },
      user: 'ann',
    })
  })

  test('an unknown path is answered with 404 without a key', async () => {
    const { status, text } = await ask('/api/other', { method: 'POST', body: '{' })
    expect([status, text]).toEqual([404, '{"detail":"Not Found"}'])
  })

  test('a wrong method is answered with 405 and the allowed methods', async () => {
    const { status, text, headers } = await ask('/api/things/x/run')
    expect([status, text, headers.get('allow')]).toEqual([405, '{"detail":"Method Not Allowed"}', 'POST'])
    expect((await ask('/open', { method: 'HEAD' })).status).toBe(405)
  })

  test('a path with a superfluous last slash is redirected with its query', async () => {
    const { status, headers } = await ask('/api/things/x/run/?a=1', { method: 'POST' })
    expect([status, headers.get('location')]).toEqual([307, '/api/things/x/run?a=1'])
  })

  test('a path that cannot be decoded, or is too long, is answered with 404', async () => {
    expect((await ask('/api/things/%ff', { headers: key })).status).toBe(404)
    expect((await ask(`/api/things/${'x'.repeat(600)}`, { headers: key })).status).toBe(404)
  })
})

describe('limits of connections', () => {
  const limits: ConnectionLimits = {
    maxConnections: 1000,
    headersMs: 150,
    idleMs: 60_000,
    silentMs: 150,
    refusedBodyMs: 150,
    requestMs: 60_000,
    checkMs: 20,
  }
  const warned: string[] = []
  const serve = async (limits: ConnectionLimits) => {
    const slow: Route = {
      method: 'GET',
      path: '/slow',
      isOpen: true,
      answer: () => new Promise((resolve) => setTimeout(resolve, 600, { status: 200 })),
    }
    const web = createWeb([...routes, slow], {
      auth: { authenticate: async (key) => (key === 'good' ? ann : null) },
      cors: createCors([]),
      isSuspended: () => false,
      expectAddresses: () => undefined,
      bodyLimitBytes: LIMIT,
      limits,
      log: { debug() {}, info() {}, warn: (_, text) => void warned.push(text), error() {} },
      upgrade: async (_request, socket) => void socket.destroy(),
    })
    const { port: at } = await web.listen({ host: '127.0.0.1', port: 0 })
    return { web, at }
  }
  let strict: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => void (strict = await serve(limits)))
  afterAll(() => strict.web.close(AbortSignal.abort()))

  /** A connection that has sent `text`, and what it received until it ended. */
  const open = (text: string, { at } = strict) => {
    const socket = connect(at, '127.0.0.1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => {})
    if (text !== '') socket.write(text)
    const ended = new Promise<string>((resolve) =>
      socket.once('close', () => resolve(Buffer.concat(chunks).toString())),
    )
    return { socket, ended, opened: new Promise((resolve) => socket.once('connect', resolve)) }
  }

  test('a connection that sends nothing, or headers without an end, is closed', async () => {
    await Promise.all([open('').ended, open('GET /open HTTP/1.1\r\nHost: x\r\n').ended])
  })

  test('a connection whose body stops arriving is closed', async () => {
    await open('POST /api/things/x/run HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: good\r\nContent-Length: 9\r\n\r\nab')
      .ended
  })

  test('a refused request has a limited time for the rest of its body, however it trickles', async () => {
    const { socket, ended } = open('POST /api/things/x/run HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n')
    const trickle = setInterval(() => socket.write('a'), 10)
    expect(await ended).toMatch(/^HTTP\/1\.1 401 /)
    clearInterval(trickle)
  })

  test('an answer that takes long is not cut off', async () => {
    expect((await fetch(`http://127.0.0.1:${strict.at}/slow`)).status).toBe(200)
  })

  test('connections beyond the limit are closed at once, and the log says so', async () => {
    const small = await serve({ ...limits, headersMs: 60_000, maxConnections: 3 })
    const first = Array.from({ length: 3 }, () => open('', small))
    await Promise.all(first.map(({ opened }) => opened))
    expect(await open('GET /open HTTP/1.1\r\nHost: x\r\n\r\n', small).ended).toBe('')
    expect(warned).toContain('connection refused: too many are open')
    for (const { socket } of first) socket.destroy()
    await small.web.close(AbortSignal.abort())
  })
})

describe('admission', () => {
  test('open routes need no key, and all others do', async () => {
    expect((await ask('/open')).json()).toMatchObject({ user: null })
    const { status, text, headers } = await ask('/api/things/x')
    expect([status, text, headers.get('www-authenticate')]).toEqual([401, '{"detail":"Unauthorized"}', null])
  })

  test('a request without a valid key is refused before its body is read', async () => {
    const answered = Promise.withResolvers<number>()
    const request = httpRequest(
      `${base}/api/things/x/run`,
      { method: 'POST', headers: { 'content-length': 500 } },
      (response) => answered.resolve(response.statusCode ?? 0),
    )
    request.on('error', answered.reject)
    request.flushHeaders()
    expect(await answered.promise).toBe(401)
    request.destroy()
  })
})

describe('bodies', () => {
  test.each([
    [undefined, 'application/json', ''],
    ['{}', 'application/json', '{}'],
    ['{"a":', 'application/json', '{"a":'],
    ['x', 'not a type', 'x'],
    ['x', 'text/plain', 'x'],
  ])('the bytes %j of type %s reach the route as they are', async (body, type, seen) => {
    const answer = await ask('/api/things/x/run', {
      method: 'POST',
      headers: { ...key, 'content-type': type },
      ...(body !== undefined && { body }),
    })
    expect(answer.json()).toMatchObject({ body: seen, type })
  })

  test('a GET request may have a body', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const request = httpRequest(
      `${base}/api/things/x`,
      { method: 'GET', headers: { ...key, 'content-length': 4 } },
      (response) => {
        response.setEncoding('utf8').on('data', resolve)
      },
    )
    request.end('["a"')
    expect(JSON.parse(await promise)).toMatchObject({ body: '["a"' })
  })

  test('a body over the limit is refused by its declared length before it is sent', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const request = httpRequest(
      `${base}/api/things/x/run`,
      { method: 'POST', headers: { ...key, 'content-length': LIMIT + 1 } },
      (response) => resolve(response.statusCode ?? 0),
    )
    request.on('error', () => {})
    request.flushHeaders()
    expect(await promise).toBe(413)
    request.destroy()
  })

  test('a body of unknown length is refused when it exceeds the limit', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const request = httpRequest(`${base}/api/things/x/run`, { method: 'POST', headers: key }, (response) =>
      resolve(response.statusCode ?? 0),
    )
    request.on('error', () => {})
    request.write('x'.repeat(LIMIT + 1))
    expect(await promise).toBe(413)
    request.destroy()
  })
})

describe('answers', () => {
  test('a JSON answer is compact, without charset, and not cacheable', async () => {
    const { headers, text } = await ask('/open')
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(text.startsWith('{"path":{},')).toBe(true)
  })

  test('an error answer contains its details', async () => {
    const { status, text } = await ask('/refuses')
    expect([status, text]).toEqual([409, '{"detail":"already running","retryable":true}'])
  })

  test('an unexpected error is answered without its text and logged with it', async () => {
    const { status, json } = await ask('/fails')
    expect(status).toBe(500)
    expect(json()).toEqual({
      detail: 'Internal Server Error',
      exception: 'TypeError',
      error_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(logged.at(-1)).toMatchObject({ error_id: json()['error_id'], err: new TypeError('the password is hunter2') })
  })
})

describe('browsers', () => {
  test('a preflight is answered for any path without a key', async () => {
    const headers = {
      origin: 'http://localhost:5173',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-session-api-key',
    }
    const good = await ask('/api/things/x/run', { method: 'OPTIONS', headers })
    expect([good.status, good.text, good.headers.get('access-control-allow-headers')]).toEqual([
      200,
      'OK',
      'x-session-api-key',
    ])
    const bad = await ask('/api/things/x/run', {
      method: 'OPTIONS',
      headers: { ...headers, origin: 'https://evil.example' },
    })
    expect([bad.status, bad.text]).toEqual([400, 'Disallowed CORS origin'])
  })

  test('allowed pages may read error answers', async () => {
    for (const path of ['/api/things/x', '/nowhere', '/fails'])
      expect(
        (await ask(path, { headers: { origin: 'http://localhost:1' } })).headers.get('access-control-allow-origin'),
      ).toBe('http://localhost:1')
  })
})

test('bytes that are not HTTP are answered with 400', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(port, '127.0.0.1', () => socket.write('garbage\r\n\r\n'))
  socket.on('data', (data) => resolve(data.toString()))
  expect(await promise).toMatch(/^HTTP\/1\.1 400 /)
  socket.destroy()
})

test('a client that offers HTTP/2 gets an answer in HTTP/1.1', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  httpRequest(`${base}/open`, { headers: { connection: 'Upgrade', upgrade: 'h2c' } }, (response) =>
    resolve(response.statusCode ?? 0),
  ).end()
  expect(await promise).toBe(200)
})
