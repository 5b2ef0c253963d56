/** Every served route, and every socket, from those who have no right to it: without a key, with a key that may only read, and from a page of another site. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request } from 'node:http'
import { randomUUID } from 'node:crypto'
import { serve, type Serving } from '../../packages/server/testing/multi-user-server.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { bodyFor, filled, routesOf, type ServedRoute } from '../conversation-service/routes.ts'

const FOREIGN = 'https://page.example'
const SOCKETS = [
  `/sockets/events/${randomUUID()}`,
  `/sockets/session/${randomUUID()}`,
  '/sockets/bash-events',
  '/sockets/watch',
]

let stack: AsyncDisposableStack
let keyed: Serving
let open: Serving
let routes: ServedRoute[]
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  keyed = stack.use(await serve(dir.file('keyed')))
  open = stack.use(await serve(dir.file('open'), { PARLEY_WITHOUT_KEYS: 'true', PARLEY_SESSION_API_KEYS: '' }))
  routes = await routesOf(keyed)
})
afterAll(() => stack[Symbol.asyncDispose]())

/** Files of a workspace may be shown by pages of every site that have the key, or a session that was opened with it. */
const FOR_ANY_PAGE = /^\/api\/(?:auth\/workspace-session$|conversations\/[^/]+\/workspace(?:\/|$))/

const ids = { conversation_id: randomUUID(), event_id: randomUUID() }

/** Answers of `asked` routes that are not `expected`, by route. */
async function unexpected(
  asked: readonly ServedRoute[],
  expected: readonly number[],
  send: (method: string, path: string, body: unknown) => Promise<{ status: number }>,
): Promise<string[]> {
  const found: string[] = []
  for (const { method, path } of asked) {
    const body = method === 'GET' ? undefined : (bodyFor(method, path) ?? {})
    const { status } = await send(method, filled(path, ids), body)
    if (!expected.includes(status)) found.push(`${method} ${path}: ${status}`)
  }
  return found
}

/** A request as a page could send it, or a name that was bound to this machine: `fetch` sets neither `Host` nor `Origin`. */
const asPage = (server: Serving, method: string, path: string, headers: Record<string, string>, body?: unknown) =>
  new Promise<{ status: number; allowed: string | undefined }>((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const length = { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) }
    const sent = request(server.server.url + path, { method, headers: { ...length, ...headers } })
    sent.once('error', reject).once('response', (answer) => {
      answer
        .resume()
        .once('end', () =>
          resolve({ status: answer.statusCode!, allowed: answer.headers['access-control-allow-origin'] }),
        )
    })
    sent.end(text)
  })

test('without a key, every route that needs one answers 401', async () => {
  const asked = routes.filter(({ isOpen }) => !isOpen)
  expect(asked.length).toBeGreaterThan(100)
  const send = (method: string, path: string, body: unknown) => keyed.call(method, path, body, { key: null })
  expect(await unexpected(asked, [401], send)).toEqual([])
})

/** Logins of the key itself: they change who may read, and nothing that can be read. */
const LOGINS = /^\/api\/auth\/(?:sessions|codes)(?:\/|$)/

test('a key that may only read changes nothing on any route', async () => {
  const asked = routes.filter(({ isOpen, method, path }) => !isOpen && method !== 'GET' && !LOGINS.test(path))
  expect(asked.length).toBeGreaterThan(60)
  const send = (method: string, path: string, body: unknown) =>
    keyed.call(method, path, body, { key: keyed.keys.reader })
  expect(await unexpected(asked, [403], send)).toEqual([])
})

describe('a page of another site', () => {
  // Agents start servers on other ports of this machine.
  test.each([FOREIGN, 'http://localhost:3000', 'http://127.0.0.1:3000', 'null'])(
    'of the origin %s gets nothing from a server without keys, on any route',
    async (origin) => {
      const asked = await routesOf(open)
      const found = await unexpected(asked, [403], async (method, path, body) => {
        const { status, allowed } = await asPage(open, method, path, { origin }, body)
        return { status: allowed === undefined || FOR_ANY_PAGE.test(path) ? status : 0 }
      })
      expect(found).toEqual([])
    },
  )

  test('may read no answer of a server with keys, and sends no header of its own, on any route', async () => {
    const found: string[] = []
    for (const { method, path } of routes) {
      const at = filled(path, ids)
      if (FOR_ANY_PAGE.test(path)) continue
      const { allowed } = await asPage(keyed, method, at, { origin: FOREIGN })
      const preflight = await asPage(keyed, 'OPTIONS', at, {
        origin: FOREIGN,
        'access-control-request-method': method,
        'access-control-request-headers': 'x-session-api-key',
      })
      if (allowed !== undefined || preflight.status !== 400) found.push(`${method} ${path}`)
    }
    expect(found).toEqual([])
  })

  test('gets nothing under a name that was bound to this machine, on any route', async () => {
    const probes = ['/alive', '/health', '/ready']
    const asked = (await routesOf(open)).filter(({ path }) => !probes.includes(path))
    const send = (method: string, path: string, body: unknown) =>
      asPage(open, method, path, { host: 'rebound.example', origin: 'http://rebound.example' }, body)
    expect(await unexpected(asked, [403], send)).toEqual([])
  })

  test.each(SOCKETS)('opens no socket %s, with a key and on a server without keys', async (path) => {
    const headers = { Origin: FOREIGN }
    for (const [server, key] of [
      [keyed, { 'X-Session-API-Key': keyed.keys.ann }],
      [open, {}],
    ] as const) {
      await using socket = openSocket(server.server.url.replace('http', 'ws') + path, { ...headers, ...key })
      await expect(socket.opened).rejects.toThrow('403')
    }
  })
})
