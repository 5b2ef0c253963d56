/** Two users of one server, on every route that it serves. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { verifies } from '../verifies.ts'
import { bodyFor, filled, routesOf, type ServedRoute } from './routes.ts'
import { serve, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

let dir: TempDir
let serving: Serving
let routes: ServedRoute[]
/** Ann's resources by the name of the path parameter; several where kinds share a name. */
let anns: Record<string, string>[]

const as = (who: 'ann' | 'bob' | 'reader', method: string, path: string, body?: unknown) =>
  // Waits for the end of the start, so that the numbering of events is stable.
  serving.call(method, path, body, { key: serving.keys[who], headers: { prefer: 'wait=20' } })
const made = async (method: string, path: string, body?: unknown): Promise<Loose> => {
  const answer = await as('ann', method, path, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
  return answer.json
}

/** Routes without user data: files and repositories of the machine, and routes without a key. */
const OF_THE_MACHINE = /^\/api\/(?:file\/(?!download-trajectory)|git\/|tools\/|llm\/(?:models|providers))/
/** Routes for administrators, which give other users no information for any id. */
/** A key may log in and out whatever its role; the login takes a code in place of a key. */
const LOGINS = /^\/api\/auth\/(?:sessions|codes)(?:\/|$)/
const OF_OPERATORS = /^\/(?:metrics|api\/(?:keys|users|audit|webhooks|fleet|quotas\/users))/

beforeAll(async () => {
  dir = await tempDir()
  serving = await serve(dir.file('data'), { PARLEY_MODE: 'shared' })
  routes = await routesOf(serving)
  const agent = { kind: 'Agent', llm: { model: 'openai/scripted' }, tools: [] }
  const own = (await made('POST', '/api/conversations', {})).conversation_id
  await made('POST', `/api/conversations/${own}/events`, { content: [{ type: 'text', text: 'for me alone' }] })
  const { items } = await made('GET', `/api/conversations/${own}/events/search?kind=MessageEvent`)
  const received = randomUUID()
  const workspace = { kind: 'LocalWorkspace', working_dir: '/srv/work' }
  await made('POST', '/api/v1/webhooks/conversations', { id: received, workspace, agent, title: 'Told to ann' })
  const event = { kind: 'PauseEvent', id: randomUUID(), source: 'user', timestamp: '2026-03-01T10:00:00.000000' }
  await made('POST', `/api/v1/webhooks/events/${received}`, [event])
  await made('POST', '/api/secrets', { name: 'ANNS', value: 'a value of ann', description: 'hers' })
  await made('POST', '/api/settings', { language: 'de', llm_api_key: 'a-model-key-of-ann' })
  await made('POST', '/api/profiles/anns', { llm: { model: 'openai/scripted', api_key: 'a-key-of-ann' } })
  await made('POST', '/api/agent-profiles/annsAgent', { llm_profile_ref: 'anns' })
  const connection = { display_name: 'Hers', api_key: 'a-connection-key' }
  const { id: connection_id } = await made('POST', '/api/llm/provider-connections', connection)
  await made('POST', '/api/settings/mcp/anns', { command: 'true' })
  const command = await made('POST', '/api/bash/execute_bash_command', { command: 'echo of ann' })
  const { profiles } = await made('GET', '/api/agent-profiles')
  const source = dir.file('data', 'users', 'ann', 'anns')
  mkdirSync(`${source}/.claude-plugin`, { recursive: true })
  writeFileSync(`${source}/.claude-plugin/plugin.json`, JSON.stringify({ name: 'anns', description: 'Plugin of ann' }))
  writeFileSync(`${source}/SKILL.md`, '---\nname: anns\ndescription: Skill of ann\n---\nText of ann')
  for (const kind of ['plugins', 'skills']) await made('POST', `/api/${kind}/install`, { source })
  await made('POST', '/api/workspaces', { workspaces: [{ id: '/anns', name: 'Saved of ann', path: '/anns' }] })
  const installed = { plugin_name: 'anns', skill_name: 'anns' }
  const common = { secret_id: 'ANNS', settings_key: 'anns', connection_id, profile_id: profiles[0].id, ...installed }
  anns = [
    { ...common, conversation_id: own, event_id: items[0].id, name: 'anns', file_path: 'a.txt' },
    { ...common, conversation_id: received, event_id: event.id, name: 'annsAgent', file_path: 'a.txt' },
    { ...common, conversation_id: own, event_id: command.command_id, name: 'ANNS', file_path: 'a.txt' },
  ]
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const nobodys = (): Record<string, string> => ({
  conversation_id: randomUUID(),
  event_id: randomUUID(),
  secret_id: 'NOBODYS',
  settings_key: 'nobodys',
  connection_id: randomUUID(),
  profile_id: randomUUID(),
  name: 'nobodys',
  plugin_name: 'nobodys',
  skill_name: 'nobodys',
  file_path: 'a.txt',
})

/** All readable data of ann. */
async function everythingOfAnn(): Promise<string> {
  const ids = [...new Set(anns.map(({ conversation_id }) => conversation_id))]
  const paths = [
    '/api/conversations/search',
    ...ids.flatMap((id) => [`/api/conversations/${id}`, `/api/conversations/${id}/events/search`]),
    '/api/settings',
    '/api/secrets',
    '/api/settings/secrets/ANNS',
    '/api/profiles',
    '/api/profiles/anns',
    '/api/agent-profiles',
    '/api/llm/provider-connections',
    '/api/bash/bash_events/search',
    '/api/plugins/installed',
    '/api/skills/installed',
    '/api/workspaces',
  ]
  const answers = await Promise.all(paths.map((path) => as('ann', 'GET', path)))
  for (const [at, { status }] of answers.entries()) expect(status, paths[at]).toBe(200)
  return JSON.stringify(answers.map(({ text }) => text))
}

/** An answer without the requested ids and names. */
const anonymous = (text: string, path: string, asked: Record<string, string>): string => {
  const values = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => asked[name!] ?? '')
  const spellings = values.flatMap((value) => [value, value.replaceAll('-', '')])
  return spellings
    .reduce((shown, value) => (value === '' ? shown : shown.replaceAll(value, '{asked}')), text)
    .replaceAll(/"(?:error_id|timestamp)":"[^"]*"/g, '')
}

describe('another user', () => {
  verifies(
    ['design.auth.other-user', 'seed.service.secrets-per-user', 'seed.service.settings-per-user'],
    "is answered as for a thing that does not exist, on every route with a name in it, and changes nothing of ann's",
    async () => {
      const named = routes.filter(
        ({ path, names }) => names.length > 0 && !OF_OPERATORS.test(path) && !OF_THE_MACHINE.test(path),
      )
      expect(named.length).toBeGreaterThan(40)
      const before = await everythingOfAnn()
      const different: unknown[] = []
      const told: string[] = []
      for (const { method, path } of named) {
        // Names are per user, so a write under ann's name is independent of hers.
        const makes =
          /^POST \/api\/(?:profiles|agent-profiles)\/\{name\}$|^POST \/api\/settings\/mcp\/|webhooks\/events/
        if (makes.test(`${method} ${path}`)) continue
        for (const [at, thing] of anns.entries()) {
          const absent = nobodys()
          const body = bodyFor(method, path)
          const [hers, none] = [
            await as('bob', method, filled(path, thing), body),
            await as('bob', method, filled(path, absent), body),
          ]
          const [left, right] = [
            { status: hers.status, text: anonymous(hers.text, path, thing) },
            { status: none.status, text: anonymous(none.text, path, absent) },
          ]
          if (JSON.stringify(left) !== JSON.stringify(right)) different.push([`${method} ${path}`, at, left, right])
          if (hers.status < 300) told.push(`${method} ${path} ${hers.status} ${hers.text}`)
        }
      }
      expect(different).toEqual([])
      // These routes answer all users alike, for known and unknown ids.
      const allAlike = /\/validate 200|"deleted":false|\{"success":false\}|^DELETE \/api\/(?:agent-)?profiles|\/archive/
      expect([...new Set(told)].filter((line) => !allAlike.test(line))).toEqual([])
      expect(await everythingOfAnn()).toBe(before)
    },
    60_000,
  )

  test('two users may use the same names for their own secrets and profiles', async () => {
    const before = await everythingOfAnn()
    expect((await as('bob', 'POST', '/api/secrets', { name: 'ANNS', value: 'a value of bob' })).status).toBe(201)
    expect((await as('bob', 'POST', '/api/profiles/anns', { llm: { model: 'openai/other' } })).status).toBe(201)
    expect((await as('bob', 'POST', '/api/settings', { language: 'fr' })).status).toBe(200)
    const received = anns[1]!['conversation_id']!
    const payload = {
      id: received,
      workspace: { kind: 'LocalWorkspace', working_dir: '/srv/bob' },
      agent: { kind: 'ACPAgent', acp_command: ['x'] },
    }
    expect((await as('bob', 'POST', '/api/v1/webhooks/conversations', payload)).status).toBe(200)
    expect((await as('bob', 'GET', `/api/conversations/${received}`)).json.workspace.working_dir).toBe('/srv/bob')
    expect(await everythingOfAnn()).toBe(before)
    expect((await as('bob', 'GET', '/api/settings/secrets/ANNS')).text).toBe('a value of bob')
  })

  test("another user's conversation id is refused with 409 and nothing more", async () => {
    const conversation_id = anns[0]!['conversation_id']!
    const answer = await as('bob', 'POST', '/api/conversations', { conversation_id })
    expect(answer.status).toBe(409)
    expect(answer.text).not.toContain('ann')
  })

  test('lists contain nothing of other users', async () => {
    const lists = routes.filter(
      ({ method, path, names }) => method === 'GET' && names.length === 0 && path.startsWith('/api/'),
    )
    // Without the id of the received conversation: bob received another one with that id.
    const ids = [anns[0]!, anns[2]!].flatMap(({ conversation_id, event_id }) => [conversation_id!, event_id!])
    const words = ['for me alone', 'Told to ann', 'of ann', 'annsAgent', 'a-key-of-ann', ...ids]
    for (const { path } of lists.filter(({ path }) => !OF_OPERATORS.test(path) && !OF_THE_MACHINE.test(path))) {
      const { status, text } = await as('bob', 'GET', path)
      expect(status, path).toBeLessThan(500)
      expect(
        words.filter((word) => text.includes(word)),
        path,
      ).toEqual([])
    }
    const query = anns.map(({ conversation_id }) => `ids=${conversation_id}`).join('&')
    const { json } = await as('bob', 'GET', `/api/conversations?${query}`)
    expect(json.filter((one: Loose) => one !== null && one.workspace.working_dir !== '/srv/bob')).toEqual([])
  })

  verifies(
    ['design.auth.other-user'],
    "receives 4004 on the socket of ann's conversation, as for an unknown one",
    async () => {
      const url = serving.server.url.replace('http', 'ws')
      for (const id of [anns[0]!['conversation_id']!, randomUUID()]) {
        for (const query of ['', '?after_seq=0', '?resend_mode=all']) {
          await using socket = openSocket(`${url}/sockets/events/${id}${query}`, {
            'x-session-api-key': serving.keys.bob,
          })
          await socket.opened
          expect(await socket.closed).toEqual({ code: 4004, reason: 'Conversation not found' })
          expect(socket.frames.filter(({ kind }) => kind !== 'refused')).toEqual([])
        }
      }
    },
  )
})

describe('a role', () => {
  test('a read-only key changes nothing on any route and reads the data of its user', async () => {
    const before = await everythingOfAnn()
    const changing = routes.filter(({ method, path, isOpen }) => method !== 'GET' && !isOpen && !LOGINS.test(path))
    expect(changing.length).toBeGreaterThan(35)
    for (const { method, path } of changing) {
      for (const thing of anns) {
        const answer = await as('reader', method, filled(path, thing), bodyFor(method, path) ?? {})
        expect([`${method} ${path}`, answer.status]).toEqual([`${method} ${path}`, 403])
        expect(answer.json.detail).toContain('may only read')
      }
    }
    expect(await everythingOfAnn()).toBe(before)
    expect((await as('reader', 'GET', '/api/secrets')).text).toContain('ANNS')
  })

  test('a message of a read-only key over a socket is refused, and the socket stays open', async () => {
    const id = anns[0]!['conversation_id']!
    const url = `${serving.server.url.replace('http', 'ws')}/sockets/events/${id}`
    await using socket = openSocket(url, { 'x-session-api-key': serving.keys.reader })
    socket.opened.catch(() => undefined)
    await socket.next()
    socket.send({ role: 'user', content: [{ type: 'text', text: 'let me in' }] })
    expect(await socket.next(({ kind }) => kind === 'ServerErrorEvent')).toMatchObject({ code: 'PermissionError' })
  })

  test('routes for administrators refuse the roles user and read-only, and answer the role admin', async () => {
    const operator = routes.filter(({ path }) => OF_OPERATORS.test(path))
    expect(operator.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'DELETE /api/keys/{key_id}',
      'DELETE /api/users/{user}',
      'GET /api/audit',
      'GET /api/fleet',
      'GET /api/keys',
      'GET /api/quotas/users',
      'GET /api/users',
      'GET /api/webhooks/deliveries',
      'GET /metrics',
      'POST /api/keys',
      'POST /api/keys/{key_id}/rotate',
      'POST /api/users/{user}/disable',
      'POST /api/users/{user}/enable',
      'POST /api/webhooks/deliveries/{delivery_id}/redeliver',
    ])
    const { items } = (await serving.call('GET', '/api/keys')).json
    for (const { method, path } of operator) {
      const body = path === '/api/keys' && method === 'POST' ? { user: 'eve', role: 'admin' } : undefined
      for (const who of ['ann', 'reader'] as const) {
        for (const key_id of [items[0].id, 'none']) {
          const answer = await as(who, method, filled(path, { key_id }), body)
          expect([path, answer.status]).toEqual([path, 403])
        }
      }
      const answer = await serving.call(method, filled(path, {}), body)
      expect([path, answer.status < 300 || answer.status === 404]).toEqual([path, true])
    }
    expect((await serving.call('GET', '/api/keys')).json.items).toHaveLength(items.length + 1)
  })

  verifies(
    ['design.auth.401', 'seed.auth.header'],
    'every route that needs a key gives the same answer without one',
    async () => {
      for (const { method, path, isOpen } of routes) {
        const key = `not a key of ${path}`.replaceAll(/[^a-z]/g, '')
        for (const presented of [null, ...(path === '/api/secrets' ? [key] : [])]) {
          const answer = await serving.call(method, filled(path, anns[0]!), undefined, { key: presented })
          // A server that is configured when it starts refuses a later configuration, with and without a key.
          const open = path === '/api/init' ? 404 : 200
          if (isOpen && !LOGINS.test(path)) expect([path, answer.status]).toEqual([path, open])
          else expect([path, answer.status, answer.json]).toEqual([path, 401, { detail: 'Unauthorized' }])
        }
      }
    },
  )
})
