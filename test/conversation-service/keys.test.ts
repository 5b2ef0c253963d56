/** Keys over HTTP: issue, rotation, revocation, limits, and the audit log. */
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openKeys } from '../../packages/server/src/index.ts'
import { TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import {
  bytesOf,
  serve,
  storeOf,
  type Answered,
  type Loose,
  type Serving,
} from '../../packages/server/testing/multi-user-server.ts'
import { chosenDatabase } from '../../packages/server/testing/store-choice.ts'

/** Longest time for which a connection may outlive its key (docs/keys.md), with a margin for a busy machine. */
const OUTLIVES_MS = 2000 + 3000

let dir: TempDir
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  serving = await serve(dir.file('data'), { PARLEY_MODE: 'shared' })
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const issue = async (members: Loose = {}): Promise<Loose> => {
  const answer = await serving.call('POST', '/api/keys', { user: 'carl', ...members })
  expect(answer.status).toBe(201)
  return answer.json
}
const statusWith = async (key: string) => (await serving.call('GET', '/api/secrets', undefined, { key })).status
const listed = async (): Promise<Loose[]> => (await serving.call('GET', '/api/keys')).json.items

describe('a key', () => {
  test('an issued key is shown once, works at once, and is not stored', async () => {
    const { key, id, ...rest } = await issue({ label: 'laptop' })
    expect(rest).toMatchObject({ user: 'carl', role: 'user', label: 'laptop', expires_at: null, revoked_at: null })
    expect(await statusWith(key)).toBe(200)
    const all = await serving.call('GET', '/api/keys')
    expect(all.json.items.find((one: Loose) => one.id === id)).toEqual({ id, ...rest })
    expect(all.text).not.toContain(key)
    expect(all.text).not.toContain('hash')
    expect(await bytesOf(dir.path)).not.toContain(key)
    expect(serving.server.stderr()).not.toContain(key)
  })

  test('a key can be rotated without an interruption', async () => {
    const old = await issue({ label: 'service', role: 'read-only' })
    const rotated = await serving.call('POST', `/api/keys/${old.id}/rotate`)
    expect(rotated).toMatchObject({ status: 201, json: { user: 'carl', role: 'read-only', label: 'service' } })
    expect([await statusWith(old.key), await statusWith(rotated.json.key)]).toEqual([200, 200])
    expect((await serving.call('DELETE', `/api/keys/${old.id}`)).json).toEqual({ success: true })
    expect([await statusWith(old.key), await statusWith(rotated.json.key)]).toEqual([401, 200])
    expect((await serving.call('POST', `/api/keys/${old.id}/rotate`)).status).toBe(409)
    expect((await serving.call('DELETE', `/api/keys/${old.id}`)).status).toBe(200)
  })

  test('an expired key is refused, and its successor has the same lifetime', async () => {
    const soon = new Date(Date.now() + 1000).toISOString()
    const { id, key } = await issue({ expires_at: soon })
    expect(await statusWith(key)).toBe(200)
    await expect.poll(() => statusWith(key), { timeout: 5000 }).toBe(401)
    const { json } = await serving.call('POST', `/api/keys/${id}/rotate`)
    expect(Date.parse(json.expires_at) - Date.parse(json.created_at)).toBeLessThanOrEqual(1000)
    expect(await statusWith(json.key)).toBe(200)
  })

  test.each([
    [{}, 'missing', ['body', 'user']],
    [{ user: '' }, 'string_too_short', ['body', 'user']],
    [{ user: ' ann' }, 'string_pattern_mismatch', ['body', 'user']],
    [{ user: 'ann', role: 'owner' }, 'enum', ['body', 'role']],
    [{ user: 'ann', expires_at: 'soon' }, 'datetime_from_date_parsing', ['body', 'expires_at']],
    [{ user: 'ann', key: 'mine' }, 'extra_forbidden', ['body', 'key']],
  ])('the key request %j is refused', async (body, type, loc) => {
    const before = await listed()
    const answer = await serving.call('POST', '/api/keys', body)
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ type, loc }] } })
    expect(await listed()).toEqual(before)
  })

  test.each(['DELETE /api/keys/none', 'POST /api/keys/none/rotate', 'DELETE /api/keys/environment-0'])(
    '%s: there is none',
    async (line) => {
      const [method, path] = line.split(' ') as [string, string]
      expect((await serving.call(method, path)).status).toBe(404)
    },
  )
})

describe('live connections of a key', () => {
  const isSnapshot = (frame: Loose) => frame.kind === 'ConversationStateUpdateEvent'

  /** A conversation of carl's, with a socket, an event stream, and a socket that presented its key in the first frame. */
  async function holding(key: string) {
    const url = serving.server.url
    const { json } = await serving.call('POST', '/api/conversations', {}, { key, headers: { prefer: 'wait=20' } })
    const id = json.conversation_id
    const address = `${url.replace('http', 'ws')}/sockets/events/${id}`
    const byHeader = openSocket(address, { 'x-session-api-key': key })
    const byFrame = openSocket(address)
    await byFrame.opened
    byFrame.send({ type: 'auth', session_api_key: key })
    const stream = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    const reader = request(`${url}/api/conversations/${id}/events/stream`, { headers: { 'x-session-api-key': key } })
    reader.on('response', (answer) => {
      answer.on('data', () => opened.resolve()).on('close', () => stream.resolve())
    })
    reader.end()
    await Promise.all([byHeader.next(isSnapshot), byFrame.next(isSnapshot), opened.promise])
    return { id, ends: [byHeader.closed, byFrame.closed, stream.promise] as const }
  }
  const CLOSED = { code: 4001, reason: 'Authentication failed' }

  test('live connections are closed when their key is revoked over HTTP', async () => {
    const [carl, other] = [await issue(), await issue()]
    const { ends } = await holding(carl.key)
    const spared = await holding(other.key)
    const at = performance.now()
    await serving.call('DELETE', `/api/keys/${carl.id}`)
    expect(await Promise.all(ends)).toEqual([CLOSED, CLOSED, undefined])
    expect(performance.now() - at).toBeLessThan(1500)
    const unmoved = await Promise.race([Promise.any(spared.ends), serving.call('GET', '/health').then(() => 'open')])
    expect(unmoved).toBe('open')
    await serving.call('DELETE', `/api/keys/${other.id}`)
    await Promise.all(spared.ends)
  })

  test('live connections are closed within seconds when their key is revoked on the command line', async () => {
    const carl = await issue()
    const { ends } = await holding(carl.key)
    await using keys = await openKeys({
      dataDir: dir.file('data'),
      databaseUrl: await chosenDatabase(dir.file('data')),
      sessionApiKeys: [],
      mode: 'shared',
    })
    const at = performance.now()
    await keys.revokeKey(carl.id)
    expect(await statusWith(carl.key)).toBe(401)
    expect(await Promise.all(ends)).toEqual([CLOSED, CLOSED, undefined])
    expect(performance.now() - at).toBeLessThan(OUTLIVES_MS)
  })
})

describe('the audit', () => {
  const audit = async (query = ''): Promise<Loose[]> => {
    const { json } = await serving.call('GET', `/api/audit?limit=1000${query}`)
    return json.items
  }

  test('the audit log names user, action and status of changes, without values', async () => {
    const dora = await issue({ user: 'dora' })
    const reads = await issue({ user: 'dora', role: 'read-only' })
    const asDora = (method: string, path: string, body?: unknown, key = dora.key): Promise<Answered> =>
      serving.call(method, path, body, { key, headers: { prefer: 'wait=20' } })
    await asDora('POST', '/api/secrets', {
      name: 'DORAS',
      value: 'a-value-not-to-be-kept',
      description: 'a-description',
    })
    await asDora('POST', '/api/secrets', { value: 'another-value-not-to-be-kept' })
    await asDora('PUT', '/api/secrets/DORAS', { name: 'RENAMED' })
    await asDora('DELETE', '/api/secrets/NOBODYS')
    await asDora('GET', '/api/secrets')
    const { json } = await asDora('POST', '/api/conversations', {})
    const hex = json.conversation_id.replaceAll('-', '').toUpperCase()
    await asDora('PATCH', `/api/conversations/${hex}`, { title: 'a-title-not-to-be-kept' })
    await asDora('DELETE', `/api/conversations/${json.conversation_id}`, undefined, reads.key)
    await asDora('POST', '/api/settings', '{"language":')
    const lines = (await audit('&user=dora')).reverse()
    const { id: key_id } = dora
    const line = (action: string, status: number, conversation_id: string | null = null, by = key_id) => ({
      id: expect.any(Number),
      at: expect.any(String),
      user: 'dora',
      key_id: by,
      action,
      status,
      conversation_id,
      until: null,
      count: 1,
      subject: null,
      detail: null,
    })
    expect(lines).toEqual([
      line('POST /api/secrets', 201),
      line('POST /api/secrets', 422),
      line('PUT /api/secrets/{secret_id}', 200),
      line('DELETE /api/secrets/{secret_id}', 404),
      line('POST /api/conversations', 200, json.conversation_id),
      line('PATCH /api/conversations/{conversation_id}', 200, json.conversation_id),
      line('DELETE /api/conversations/{conversation_id}', 403, json.conversation_id, reads.id),
      line('POST /api/settings', 422),
    ])
    for (const { at } of lines) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000)
    expect(JSON.stringify(await audit())).not.toMatch(/not-to-be-kept|a-description|DORAS/)
  })

  test('the audit log records reads of secrets and files, and for whom a key was made', async () => {
    const fred = await issue({ user: 'fred' })
    const asFred = (method: string, path: string, headers = {}) =>
      serving.call(method, path, undefined, { key: fred.key, headers })
    await serving.call('POST', '/api/secrets', { name: 'FREDS', value: 'v', description: '' }, { key: fred.key })
    await asFred('GET', '/api/settings/secrets/FREDS')
    await asFred('GET', '/api/settings', { 'x-expose-secrets': 'encrypted' })
    await asFred('GET', '/api/settings', { 'x-expose-secrets': 'plaintext' })
    await asFred('GET', '/api/settings')
    await asFred('GET', `/api/file/download?path=${dir.file('work', 'none')}`)
    expect((await audit('&user=fred')).map(({ action, status, detail }) => [action, status, detail]).reverse()).toEqual(
      [
        ['POST /api/secrets', 201, null],
        ['GET /api/settings/secrets/{name}', 200, null],
        ['GET /api/settings', 200, 'secrets'],
        ['GET /api/settings', 403, 'secrets in clear text'],
        ['GET /api/file/download', 404, null],
      ],
    )
    await serving.call('POST', `/api/keys/${fred.id}/rotate`)
    await serving.call('DELETE', `/api/keys/${fred.id}`)
    const made = (await audit()).filter(({ subject }) => subject === 'fred').reverse()
    expect(made.map(({ action, status }) => [action, status])).toEqual([
      ['POST /api/keys', 201],
      ['POST /api/keys/{key_id}/rotate', 201],
      ['DELETE /api/keys/{key_id}', 200],
    ])
    expect([made[0].detail, made[2].detail]).toEqual([`key ${fred.id}, role user`, `key ${fred.id}, role user`])
  })

  test('the audit log counts wrong keys by their address, and names keys of the command line', async () => {
    for (let times = 0; times < 3; times++) await statusWith('wrong-key-of-nobody')
    await using keys = await openKeys({
      dataDir: dir.file('data'),
      databaseUrl: await chosenDatabase(dir.file('data')),
      sessionApiKeys: [],
      mode: 'shared',
    })
    await keys.createKey({ user: 'gina', role: 'user', label: null, expires_at: null })
    const nobody = await audit('&user=')
    const logins = nobody.filter(({ action }) => action === 'LOGIN')
    expect(logins).toMatchObject([{ key_id: '', status: 401, detail: expect.stringMatching(/127\.0\.0\.1|::1/) }])
    expect(logins[0].count).toBeGreaterThanOrEqual(3)
    const made = nobody.find(({ subject }) => subject === 'gina')
    expect(made).toMatchObject({ key_id: 'command line', action: 'parley keys create' })
  })

  test('a server with an audit file appends every record, and a broken file delays no request', async () => {
    await using place = await tempDir()
    const file = place.file('audit.jsonl')
    {
      await using audited = await serve(place.file('data'), { PARLEY_AUDIT_FILE: file })
      await audited.call('POST', '/api/secrets', { name: 'A', value: 'not-to-be-kept', description: '' })
    }
    const text = await readFile(file, 'utf8')
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ action: 'POST /api/secrets', status: 201 })
    expect(text).not.toContain('not-to-be-kept')
    await using broken = await serve(place.file('data'), { PARLEY_AUDIT_FILE: place.path })
    expect((await broken.call('POST', '/api/secrets', { name: 'B', value: 'v', description: '' })).status).toBe(201)
  })

  test('the audit log is read in pages', async () => {
    const all = await audit()
    expect(all.length).toBeGreaterThan(5)
    const seen: Loose[] = []
    let after = ''
    while (seen.length < 6) {
      const { json } = await serving.call('GET', `/api/audit?limit=2${after}`)
      expect(json.items).toHaveLength(2)
      seen.push(...json.items)
      after = `&after=${json.next_after}`
    }
    expect(seen).toEqual(all.slice(0, 6))
    expect((await serving.call('GET', '/api/audit?limit=0')).status).toBe(422)
    expect((await serving.call('GET', '/api/audit?after=x')).status).toBe(422)
  })

  test('the audit log records a message over a socket', async () => {
    const erik = await issue({ user: 'erik' })
    const options = { key: erik.key, headers: { prefer: 'wait=20' } }
    const { json } = await serving.call('POST', '/api/conversations', {}, options)
    const url = `${serving.server.url.replace('http', 'ws')}/sockets/events/${json.conversation_id}`
    await using socket = openSocket(url, { 'x-session-api-key': erik.key })
    await socket.next()
    socket.send({ role: 'user', content: [{ type: 'text', text: 'hello' }] })
    await socket.next(({ kind }) => kind === 'MessageEvent')
    await expect
      .poll(async () => (await audit('&user=erik')).map(({ action }) => action))
      .toEqual(['MESSAGE /sockets/events/{conversation_id}', 'POST /api/conversations'])
  })

  test('the audit log loses no entry in an orderly stop', async () => {
    await using place = await tempDir()
    const names = Array.from({ length: 50 }, (_, n) => `NAME_${n}`)
    {
      await using first = await serve(place.file('data'))
      await Promise.all(names.map((name) => first.call('POST', '/api/secrets', { name, value: 'a value' })))
    }
    expect(await storeOf(place.file('data'))).toContain('POST /api/secrets')
    await using second = await serve(place.file('data'))
    const { json } = await second.call('GET', '/api/audit?limit=1000')
    expect(json.items.filter(({ action }: Loose) => action === 'POST /api/secrets')).toHaveLength(names.length)
  })
})

describe('limits', () => {
  test('each key has its own rate limit, shown in headers that allowed pages may read; probes have none', async () => {
    await using place = await tempDir()
    await using limited = await serve(place.file('data'), { PARLEY_RATE_LIMIT_PER_MINUTE: '60' })
    const { ann, bob } = limited.keys
    const ask = (key: string, path = '/api/secrets', headers = {}) =>
      limited.call('GET', path, undefined, { key, headers })
    const first = await ask(ann)
    expect(first.headers.get('ratelimit-limit')).toBe('20')
    expect(first.headers.get('ratelimit-remaining')).toBe('19')
    expect(first.headers.get('ratelimit-reset')).toBe('1')
    expect((await ask(ann, '/api/settings/none')).headers.get('ratelimit-limit')).toBeNull()
    const origin = { origin: 'http://localhost:5173' }
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(ann, '/api/secrets', origin)))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThanOrEqual(15)
    for (const { status, json, headers } of refused) {
      expect(status).toBe(429)
      expect(json.detail).toMatch(/^Too many requests with this key\. Try again in 1 s\.$/)
      expect(headers.get('retry-after')).toBe('1')
      expect(headers.get('ratelimit-remaining')).toBe('0')
      expect(headers.get('access-control-allow-origin')).toBe(origin.origin)
      expect(headers.get('access-control-expose-headers')).toContain('RateLimit-Remaining')
    }
    expect((await ask(bob)).status).toBe(200)
    for (let n = 0; n < 30; n++) {
      const { status, headers } = await limited.call('GET', '/health', undefined, { key: ann })
      expect([status, headers.get('ratelimit-limit')]).toEqual([200, null])
    }
    await expect.poll(async () => (await ask(ann)).status, { timeout: 5000 }).toBe(200)
    const { json } = await limited.call('POST', '/api/secrets', {}, { key: bob })
    expect(json.detail.map(({ type }: Loose) => type)).toEqual(['missing', 'missing'])
  })

  test('a rate limit of 0 disables the limit', async () => {
    await using place = await tempDir()
    await using free = await serve(place.file('data'), { PARLEY_RATE_LIMIT_PER_MINUTE: '0' })
    for (let n = 0; n < 20; n++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => free.call('GET', '/api/secrets')))
      for (const { status, headers } of answers) expect([status, headers.get('ratelimit-limit')]).toEqual([200, null])
    }
  })

  test('wrong keys are limited per address without delaying known keys from that address', async () => {
    await using place = await tempDir()
    await using guessed = await serve(place.file('data'))
    const { ann, bob } = guessed.keys
    const ask = (key: string | null) => guessed.call('GET', '/api/secrets', undefined, { key })
    expect((await ask(ann)).status).toBe(200)
    const statuses: number[] = []
    for (let n = 0; n < 70; n++) statuses.push((await ask(`guess-${n}`)).status)
    expect(statuses.slice(0, 60)).toEqual(Array(60).fill(401))
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5)
    const refused = await ask('one more')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.json.detail).toMatch(/^Too many wrong keys from this address/)
    // A key that was valid before is looked up; a new one is not, even when it is valid.
    expect([(await ask(ann)).status, (await ask(bob)).status]).toEqual([200, 429])
    expect((await ask(null)).status).toBe(401)
    const url = `${guessed.server.url.replace('http', 'ws')}/sockets/events/${crypto.randomUUID()}`
    await expect(openSocket(url, { 'x-session-api-key': 'another' }).opened).rejects.toThrow('403')
    await expect.poll(async () => (await ask(bob)).status, { timeout: 5000, interval: 300 }).toBe(200)
    expect((await guessed.call('GET', '/api/secrets', undefined, { key: TEST_KEY })).status).toBe(200)
  })
})
