/** Attacks by foreign pages on a server with keys: DNS rebinding, framing, sockets. */
import { once } from 'node:events'
import { request, type IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEYS, type KeyedServer, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'

let edge: KeyedServer
beforeAll(async () => {
  edge = await startKeyedServer({
    env: { PARLEY_PUBLIC_HOSTS: 'parley.example.org', PARLEY_ALLOW_CORS_ORIGINS: 'https://app.example.org' },
  })
})
afterAll(() => edge[Symbol.asyncDispose]())

/** Sends any `Host` header, which `fetch` does not. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = request(edge.url + path, { method, headers, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [
    { statusCode: number; headers: IncomingHttpHeaders } & AsyncIterable<Buffer>,
  ]
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  return { status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() }
}

describe('a foreign host name', () => {
  test.each(['/server_info', '/', '/openapi.json', '/docs', '/redoc'])(
    'under a foreign host name %s is refused without a key',
    async (path) => {
      const refused = await ask(path, { host: 'evil.example:8000' })
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('PARLEY_PUBLIC_HOSTS')])
      expect((await ask(path, { host: 'evil.example', 'x-session-api-key': 'a guess' })).status).toBe(403)
      for (const host of ['localhost:1', '127.0.0.1', '[::1]:8000', '10.1.2.3:8000', 'parley.example.org'])
        expect([host, (await ask(path, { host })).status]).toEqual([host, path === '/redoc' ? 307 : 200])
      expect((await ask(path, { host: 'evil.example', 'x-session-api-key': KEYS.ann })).status).not.toBe(403)
    },
  )

  test('under a foreign host name only the probes are answered', async () => {
    for (const path of ['/alive', '/health', '/ready'])
      expect((await ask(path, { host: 'evil.example' })).text).toMatch(/^\{"status":"(ok|ready)"\}$/)
    const guarded = await ask('/api/conversations/count', { host: 'evil.example' })
    expect([guarded.status, guarded.text]).toEqual([401, '{"detail":"Unauthorized"}'])
  })
})

test.each<[string, string, Record<string, string>, number]>([
  ['an answer', '/server_info', {}, 200],
  ['a refusal', '/api/conversations/count', {}, 401],
  ['an unknown path', '/nowhere', {}, 404],
  ['a wrong method', '/server_info', { 'x-method': 'DELETE' }, 405],
  ['a bad query', '/api/conversations/search?limit=x', { 'x-session-api-key': KEYS.ann }, 422],
])('%s cannot be framed, embedded or sniffed', async (_, path, { 'x-method': method = 'GET', ...headers }, status) => {
  const answer = await ask(path, headers, method)
  expect(answer.status).toBe(status)
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
  })
})

test('/docs may run its own script and style and cannot be framed', async () => {
  const policy = (await ask('/docs')).headers['content-security-policy']
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'$/)
})

describe('sockets', () => {
  const place = async () => `/sockets/events/${(await edge.start()).id}`
  const withKey = (headers: Record<string, string>) => ({ 'x-session-api-key': KEYS.ann, ...headers })

  test('sockets of pages that may not read answers are refused with any key', async () => {
    const path = await place()
    for (const headers of [
      withKey({ origin: 'https://evil.example' }),
      withKey({ origin: 'null' }),
      // Same-origin under a rebound name.
      withKey({ origin: 'http://evil.example', host: 'evil.example' }),
      { origin: 'https://evil.example' },
    ]) {
      await using socket = edge.socket(path, headers)
      await expect(socket.opened).rejects.toThrow('403')
    }
  })

  test('sockets of allowed pages and of programs are accepted', async () => {
    const path = await place()
    const { host } = new URL(edge.url)
    for (const headers of [
      withKey({}),
      withKey({ origin: 'http://localhost:5173' }),
      withKey({ origin: 'https://app.example.org' }),
      withKey({ origin: `http://${host}` }),
      withKey({ origin: 'https://parley.example.org', host: 'parley.example.org' }),
    ]) {
      await using socket = edge.socket(path, headers)
      await socket.opened
    }
  })

  test('sockets accept a key in the URL unless socket_key_in_url is false', async () => {
    await using open = edge.socket(`${await place()}?session_api_key=${KEYS.ann}`)
    await open.opened
    await using strict = await startKeyedServer({ env: { PARLEY_SOCKET_KEY_IN_URL: 'false' } })
    const path = `/sockets/events/${(await strict.start()).id}`
    await using refused = strict.socket(`${path}?session_api_key=${KEYS.ann}`)
    await expect(refused.opened).rejects.toThrow('403')
    await using fine = strict.socket(path, withKey({}))
    await fine.opened
  })
})
