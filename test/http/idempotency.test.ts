/** `Idempotency-Key` on a real server: docs/errors.md, Sending a request again. */
import { existsSync, readFileSync } from 'node:fs'
import * as protocol from '@parley/protocol'
import { type Endpoint, takesIdempotencyKey } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { KEYS, type KeyedServer, type Loose, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'

let edge: KeyedServer
let dir: TempDir
let answer = Promise.withResolvers<void>()
let modelCalls = 0

beforeAll(async () => {
  dir = await tempDir()
  edge = await startKeyedServer({
    respond: async ({ text }) => {
      modelCalls += 1
      if (text.includes('wait for me')) await answer.promise
      return { text: 'Hello.' }
    },
  })
})
afterAll(async () => {
  await edge[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

let keys = 0
const newKey = () => `key-${(keys += 1)}`
const post = (path: string, body: unknown, idempotencyKey: string, key: string = KEYS.ann, more = {}) =>
  edge.call('POST', path, body, { key, headers: { 'Idempotency-Key': idempotencyKey, ...more } })
const isReplay = ({ headers }: { headers: Headers }) => headers.get('idempotency-replayed')
const eventsOf = async (id: string, kind: string): Promise<Loose[]> =>
  (await edge.call('GET', `/api/conversations/${id}/events/search?kind=${kind}&source=user`)).json.items
const text = (content: string) => ({ content: [{ type: 'text', text: content }], run: false })

verifies(
  ['design.retry.key'],
  'a POST that is sent again with its Idempotency-Key is carried out once and gets the same answer',
  async () => {
    const { id } = await edge.start()
    const at = `/api/conversations/${id}`
    await until(async () => (await edge.call('GET', `${at}/status`)).json.status === 'RUNNING')
    const key = newKey()
    const first = await post(`${at}/events`, text('once'), key)
    const second = await post(`${at}/events`, text('once'), key)
    expect([first.status, isReplay(first)]).toEqual([200, null])
    expect([second.status, isReplay(second), second.text]).toEqual([200, 'true', first.text])
    expect(await eventsOf(id, 'MessageEvent')).toHaveLength(1)

    const forkKey = newKey()
    const [copy, again] = [await post(`${at}/fork`, {}, forkKey), await post(`${at}/fork`, {}, forkKey)]
    expect([again.status, again.json]).toEqual([201, copy.json])
    const startKey = newKey()
    const one = await post('/api/conversations', { initial_user_msg: null }, startKey)
    const same = await post('/api/conversations', { initial_user_msg: null }, startKey)
    expect([one.status, same.json]).toEqual([200, one.json])
    expect(one.json.conversation_id).toMatch(/^[0-9a-f-]{36}$/)
  },
)

verifies(
  ['design.retry.other-request'],
  'another request under a used Idempotency-Key returns 422, which names the header and the remedy',
  async () => {
    const { id } = await edge.start()
    const key = newKey()
    await post(`/api/conversations/${id}/events`, text('first'), key)
    for (const [path, body] of [
      [`/api/conversations/${id}/events`, text('second')],
      [`/api/conversations/${id}/pause`, text('first')],
    ] as const) {
      const refused = await post(path, body, key)
      expect(refused.status).toBe(422)
      expect(refused.json.detail).toMatchObject([{ type: 'value_error', loc: ['header', 'Idempotency-Key'] }])
      expect(refused.json.detail[0].msg).toContain('with a new key')
    }
  },
)

test('the same Idempotency-Key of two users means two requests, and neither sees the answer of the other', async () => {
  const key = newKey()
  const secret = { name: 'SHARED_NAME', value: 'v' }
  expect((await post('/api/secrets', secret, key)).status).toBe(201)
  const bobs = await post('/api/secrets', secret, key, KEYS.bob)
  expect([bobs.status, isReplay(bobs)]).toEqual([201, null])
  const { id } = await edge.start()
  const annsKey = newKey()
  await post(`/api/conversations/${id}/pause`, undefined, annsKey)
  const stranger = await post(`/api/conversations/${id}/pause`, undefined, annsKey, KEYS.bob)
  expect([stranger.status, isReplay(stranger)]).toEqual([400, null])
  // A key that may only read is refused before the stored answer is looked up; so is a request without a key.
  expect((await post(`/api/conversations/${id}/pause`, undefined, annsKey, KEYS.reader)).status).toBe(403)
  const { status } = await edge.call('POST', `/api/conversations/${id}/pause`, undefined, {
    key: null,
    headers: { 'Idempotency-Key': annsKey },
  })
  expect(status).toBe(401)
})

test('a refused request leaves its Idempotency-Key free for the corrected one', async () => {
  const key = newKey()
  expect((await post('/api/secrets', { name: '1 wrong' }, key)).status).toBe(422)
  const created = await post('/api/secrets', { name: 'CORRECTED', value: 'v' }, key)
  expect([created.status, isReplay(created)]).toEqual([201, null])
  expect((await post('/api/secrets', { name: 'CORRECTED', value: 'v' }, key)).status).toBe(201)
  expect((await post('/api/secrets', { name: 'CORRECTED', value: 'v' }, newKey())).status).toBe(409)
})

// Several nodes refuse a command on a machine that the request does not name.
if (isOneNode)
  test('a command whose caller disconnects runs to its end once, and its repetition gets the output', async () => {
    const trace = dir.file('trace')
    const command = `echo x >> ${trace}; until [ -e ${trace}.go ]; do sleep 0.05; done; echo done`
    const body = { command, timeout: 60 }
    const key = newKey()
    const caller = new AbortController()
    const lost = fetch(`${edge.url}/api/bash/execute_bash_command`, {
      method: 'POST',
      headers: { 'x-session-api-key': KEYS.ann, 'content-type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify(body),
      signal: caller.signal,
    })
    await until(() => existsSync(trace))
    caller.abort()
    await expect(lost).rejects.toThrow()
    const early = await post('/api/bash/execute_bash_command', body, key)
    expect([early.status, early.headers.get('retry-after'), early.json.reason]).toEqual([
      409,
      '1',
      'idempotency_key_in_use',
    ])
    await edge.call('POST', '/api/bash/execute_bash_command', { command: `touch ${trace}.go`, timeout: 60 })
    let output = early
    await until(async () => (output = await post('/api/bash/execute_bash_command', body, key)).status !== 409)
    expect([output.json.stdout, output.json.exit_code, isReplay(output)]).toEqual(['done\n', 0, 'true'])
    expect(readFileSync(trace, 'utf8')).toBe('x\n')
  })

test('the answer of a request that waits for its result is kept with the preference that was applied', async () => {
  const { id } = await edge.start()
  const before = modelCalls
  const key = newKey()
  const body = { content: [{ type: 'text', text: 'wait for me' }], run: true }
  const first = post(`/api/conversations/${id}/events`, body, key, KEYS.ann, { prefer: 'wait=50' })
  await until(() => modelCalls > before)
  answer.resolve()
  answer = Promise.withResolvers()
  const headers = (each: { headers: Headers }) => [each.headers.get('preference-applied'), isReplay(each)]
  expect(headers(await first)).toEqual(['wait=50', null])
  expect(headers(await post(`/api/conversations/${id}/events`, body, key))).toEqual(['wait=50', 'true'])
  expect(await eventsOf(id, 'MessageEvent')).toHaveLength(1)
})

test('a stored answer with a new key is sealed in the store and returned again to its administrator only', async () => {
  await using server = await startKeyedServer({
    env: { PARLEY_SESSION_API_KEYS: canary('session_key'), PARLEY_MODE: 'shared' },
  })
  const key = canary('session_key')
  const create = (idempotencyKey: string) =>
    server.call(
      'POST',
      '/api/keys',
      { user: 'carl', role: 'user', label: null },
      { key, headers: { 'Idempotency-Key': idempotencyKey } },
    )
  const [first, second] = [await create('k'), await create('k')]
  expect([first.status, second.status, isReplay(second)]).toEqual([201, 201, 'true'])
  expect(second.json).toEqual(first.json)
  expect((await server.call('GET', '/api/keys', undefined, { key })).text.match(/"carl"/g)).toHaveLength(1)
})

test('pages of an allowed origin may send an Idempotency-Key and read that an answer was replayed', async () => {
  const origin = 'http://localhost:5173'
  const preflight = await fetch(`${edge.url}/api/secrets`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,idempotency-key',
    },
  })
  expect(preflight.status).toBe(200)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('idempotency-key')
  const sent = await post('/api/secrets', { name: 'FROM_PAGE', value: 'v' }, newKey(), KEYS.ann, { origin })
  expect(sent.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed')
})

test('every POST that needs a key takes an Idempotency-Key, and the API description says so', async () => {
  const isRow = (value: unknown): value is Endpoint =>
    typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'auth' in value
  const rows = Object.values<unknown>(protocol).filter(isRow)
  const posts = rows.filter(({ method }) => method === 'POST')
  expect(posts.filter((row) => !takesIdempotencyKey(row)).map(({ operationId }) => operationId)).toEqual([
    'postInit',
    'uploadFile',
    'openLoginSession',
  ])
  const document = (await edge.call('GET', '/openapi.json')).json
  for (const [path, methods] of Object.entries<Loose>(document.paths))
    for (const [method, { operationId, parameters = [], responses }] of Object.entries<Loose>(methods)) {
      // A login may come without a key, and its answer is a secret that is shown once. `/api/init` takes no key and always refuses.
      const isKeyed = method === 'post' && !['/api/file/upload', '/api/auth/sessions', '/api/init'].includes(path)
      const named = parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key')
      expect([operationId, named]).toEqual([operationId, isKeyed])
      if (isKeyed) expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(['409', '422']))
    }
})
