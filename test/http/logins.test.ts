/** Login sessions of browsers over HTTP and sockets, and `GET /api/me`. */
import { randomUUID } from 'node:crypto'
import { ParleyClient } from '@parley/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KeyedServer, KEYS, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'

let edge: KeyedServer
beforeAll(async () => {
  edge = await startKeyedServer()
})
afterAll(() => edge[Symbol.asyncDispose]())

const as = (key: string | null) => ({ key })
const codeOf = async (key: string) => (await edge.call('POST', '/api/auth/codes', {}, as(key))).json.code as string
const login = (body: object, key: string | null = null) => edge.call('POST', '/api/auth/sessions', body, as(key))
const tokenOf = async (key: string, label?: string) => {
  const { json } = await login(label === undefined ? {} : { label }, key)
  return json as { token: string; session: { id: string } }
}
const me = async (key: string) => (await edge.call('GET', '/api/me', undefined, as(key))).json

describe('logging in', () => {
  test('a code opens one session without a key, and works once', async () => {
    const code = await codeOf(KEYS.ann)
    const { status, json } = await login({ code, label: 'Firefox' })
    expect([status, Object.keys(json)]).toEqual([201, ['token', 'session']])
    expect(json.session).toMatchObject({ id: expect.any(String), label: 'Firefox' })
    expect(await me(json.token)).toMatchObject({
      user: 'ann',
      role: 'user',
      session: json.session,
      without_keys: false,
      has_model: false,
    })
    await edge.call('POST', '/api/settings', { llm_model: 'openai/gpt-5.5', llm_api_key: 'k' }, as(KEYS.ann))
    expect(await me(json.token)).toMatchObject({ has_model: true })
    const again = await login({ code })
    expect([again.status, again.json.detail]).toEqual([401, expect.stringContaining('parley open')])
  })

  test('a key opens a session, whose token opens no other one', async () => {
    const { token } = await tokenOf(KEYS.ann)
    expect((await login({}, token)).status).toBe(403)
    expect((await edge.call('POST', '/api/auth/codes', {}, as(token))).status).toBe(403)
    for (const key of [null, 'a guess', `${token}x`]) expect((await login({}, key)).status).toBe(401)
  })

  test.each<[string, object | string]>([
    ['an empty code', { code: '' }],
    ['a long code', { code: 'x'.repeat(256) }],
    ['a code that is no text', { code: 1 }],
    ['an unknown member', { name: 'x' }],
    ['a long label', { label: 'x'.repeat(256) }],
    ['no JSON', '{'],
  ])('%s is refused with 422', async (_, body) => {
    const { status } = await edge.call('POST', '/api/auth/sessions', body, as(null))
    expect(status).toBe(422)
  })

  test('a page of another site cannot log in, also with a valid code', async () => {
    const code = await codeOf(KEYS.ann)
    const send = (origin: string) =>
      edge.call('POST', '/api/auth/sessions', { code }, { key: null, headers: { origin } })
    for (const origin of ['https://evil.example', 'null']) expect((await send(origin)).status).toBe(403)
    expect((await send(new URL(edge.url).origin)).status).toBe(201)
  })

  test('a key for webhooks opens no session', async () => {
    await using server = await startTestServer()
    const { body } = await server.call('POST', '/api/keys', { user: 'default', role: 'webhook' })
    const { status } = await server.call('POST', '/api/auth/sessions', {}, { 'X-Session-API-Key': body.key })
    expect(status).toBe(401)
  })
})

describe('a session token', () => {
  test('is accepted by requests and by sockets, in the header, the query and the first frame', async () => {
    const { token } = await tokenOf(KEYS.ann)
    const { id } = await edge.start()
    expect((await edge.call('GET', `/api/conversations/${id}`, undefined, as(token))).status).toBe(200)
    const path = `/sockets/events/${id}`
    await using header = edge.socket(path, { 'x-session-api-key': token })
    await header.opened
    await using query = edge.socket(`${path}?session_api_key=${token}`)
    await query.opened
    await using frame = edge.socket(`/sockets/session/${id}`)
    await frame.opened
    frame.send({ type: 'auth', session_api_key: token })
    await frame.next()
  })

  test('of another user sees nothing of the first', async () => {
    const { id } = await edge.start()
    const { token } = await tokenOf(KEYS.bob)
    expect((await edge.call('GET', `/api/conversations/${id}`, undefined, as(token))).status).toBe(404)
  })

  test('of a key that may only read may only read, and can be ended', async () => {
    const { token } = await tokenOf(KEYS.reader)
    expect(await me(token)).toMatchObject({ user: 'ann', role: 'read-only', key: { id: 'k3' } })
    const refused = await edge.call('POST', '/api/conversations', {}, as(token))
    expect(refused.status).toBe(403)
    const others = await tokenOf(KEYS.ann)
    const list = await edge.call('GET', '/api/auth/sessions', undefined, as(token))
    expect(list.json.map(({ id }: { id: string }) => id)).not.toContain(others.session.id)
    expect((await edge.call('DELETE', `/api/auth/sessions/${others.session.id}`, undefined, as(token))).status).toBe(
      404,
    )
    expect((await edge.call('DELETE', '/api/auth/sessions/current', undefined, as(token))).status).toBe(204)
    expect((await edge.call('GET', '/api/me', undefined, as(token))).status).toBe(401)
  })
})

describe('ending sessions', () => {
  test('the list of a user shows no token, and an ended session is refused and its sockets are closed', async () => {
    const { token, session } = await tokenOf(KEYS.ann, 'phone')
    const other = await tokenOf(KEYS.ann)
    const { text, json } = await edge.call('GET', '/api/auth/sessions')
    expect(json).toContainEqual(session)
    expect(text).not.toContain(token)
    const place = `/sockets/events/${(await edge.start()).id}`
    const sockets = [token, other.token, KEYS.ann].map((key) => edge.socket(place, { 'x-session-api-key': key }))
    await Promise.all(sockets.map(({ opened }) => opened))
    const path = `/api/auth/sessions/${session.id}`
    expect((await edge.call('DELETE', path, undefined, as(KEYS.bob))).status).toBe(404)
    expect((await edge.call('DELETE', path)).status).toBe(204)
    expect(await sockets[0]!.closed).toMatchObject({ code: 4001 })
    expect((await edge.call('DELETE', path)).status).toBe(404)
    expect((await edge.call('GET', '/api/me', undefined, as(token))).status).toBe(401)
    expect((await me(other.token)).session.id).toBe(other.session.id)
    for (const socket of sockets.slice(1)) await socket[Symbol.asyncDispose]()
  })

  test('a request with a key has no current session', async () => {
    expect((await edge.call('DELETE', '/api/auth/sessions/current')).status).toBe(404)
    expect((await edge.call('DELETE', `/api/auth/sessions/${randomUUID()}`)).status).toBe(404)
  })
})

describe('on a server with an administrator', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server[Symbol.asyncDispose]())
  const entries = async () =>
    (await server.call('GET', '/api/audit?limit=1000')).body.items as Record<string, unknown>[]

  test('the revocation of a key ends its sessions and closes their sockets', async () => {
    const made = (await server.call('POST', '/api/keys', { user: 'default', label: 'laptop' })).body
    const { body } = await server.call('POST', '/api/auth/sessions', {}, { 'X-Session-API-Key': made.key })
    const ask = () => server.call('GET', '/api/me', undefined, { 'X-Session-API-Key': body.token })
    expect((await ask()).body).toMatchObject({ key: { id: made.id, label: 'laptop', expires_at: null } })
    await using socket = openSocket(`${server.url.replace('http', 'ws')}/sockets/bash-events`, {
      'x-session-api-key': body.token,
    })
    await socket.opened
    await server.call('DELETE', `/api/keys/${made.id}`)
    expect(await socket.closed).toMatchObject({ code: 4001 })
    expect((await ask()).status).toBe(401)
  })

  test('the audit names who opened and ended a session, also for a code, and no token or code', async () => {
    const { code } = (await server.call('POST', '/api/auth/codes', {})).body
    const opened = (await server.call('POST', '/api/auth/sessions', { code }, { 'X-Session-API-Key': '' })).body
    await server.call('DELETE', `/api/auth/sessions/${opened.session.id}`)
    const found = await entries()
    const of = (action: string) => found.filter((entry) => entry['action'] === action)
    const by = { user: 'default', key_id: 'environment-0', subject: 'default' }
    const detail = expect.stringContaining(opened.session.id)
    expect(of('POST /api/auth/sessions')).toContainEqual(expect.objectContaining({ ...by, status: 201, detail }))
    expect(of('DELETE /api/auth/sessions/{session_id}')).toContainEqual(expect.objectContaining({ ...by, detail }))
    expect(of('POST /api/auth/codes')).toContainEqual(expect.objectContaining(by))
    for (const secret of [code, opened.token]) expect(JSON.stringify(found)).not.toContain(secret)
  })

  test('a key of the environment is described by /api/me without a label', async () => {
    expect((await server.call('GET', '/api/me')).body).toEqual({
      user: 'default',
      role: 'admin',
      key: { id: 'environment-0', label: null, expires_at: null },
      session: null,
      without_keys: false,
      features: ['demo'],
      has_model: false,
    })
  })

  test('wrong codes count like wrong keys: after 60 from one address, further ones are not looked up', async () => {
    const send = (text: string) =>
      server.call('POST', '/api/auth/sessions', { code: text }, { 'X-Session-API-Key': '' })
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 200)
      statuses.push((await send(`guess ${statuses.length}`)).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429])
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(40)
    expect((await server.call('GET', '/api/me', undefined, { 'X-Session-API-Key': KEY })).status).toBe(200)
    expect((await entries()).some(({ action }) => action === 'LOGIN')).toBe(true)
  })
})

test('without keys there is no login, and every request is the user of the server', async () => {
  await using server = await startTestServer({ PARLEY_WITHOUT_KEYS: 'true', PARLEY_SESSION_API_KEYS: '' })
  expect((await server.call('GET', '/api/me')).body).toEqual({
    user: 'default',
    role: 'admin',
    key: null,
    session: null,
    without_keys: true,
    features: ['demo'],
    has_model: false,
  })
  for (const path of ['/api/auth/sessions', '/api/auth/codes'])
    expect((await server.call('POST', path, {})).status).toBe(409)
  expect((await server.call('GET', '/api/auth/sessions')).body).toEqual([])
  expect((await server.call('DELETE', '/api/auth/sessions/current')).status).toBe(404)
  expect(await new ParleyClient({ baseUrl: server.url, apiKey: undefined }).loginLink()).toBe(`${server.url}/`)
})
