/** How many users a server has, by its mode, from outside. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { makeKey } from '../../packages/server/src/secrets/index.ts'
import { RELEASE_KEY, restoreRelease } from '../../packages/server/testing/release-data.ts'
import { LIMITS } from '../../packages/server/src/quotas/index.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { storeKeys } from '../../packages/server/testing/stored-keys.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const REFUSAL = 'This server is for one user, and ann would be another one: set PARLEY_MODE=shared for several users.'
const AGENT = { kind: 'Agent', llm: { model: 'openai/none' } }

test('a server in the mode personal issues keys to its user, and to no second one', async () => {
  await using server = await startTestServer()
  expect((await server.call('POST', '/api/keys', { user: 'default' })).status).toBe(201)
  expect(await server.call('POST', '/api/keys', { user: 'ann' })).toMatchObject({
    status: 403,
    body: { detail: REFUSAL },
  })
  expect((await server.call('GET', '/api/keys')).body.items).toHaveLength(1)
  expect((await server.call('GET', '/server_info')).body.mode).toBe('personal')
})

test('a store that already has two users starts in the mode personal with a warning, and both users keep working', async () => {
  await using dir = await tempDir()
  const [ann] = await storeKeys(dir.file('data'), ['ann', 'user'], ['bob', 'user'])
  await using server = await startServerProcess({ dataDir: dir.file('data') })
  expect(server.stderr()).toContain('more than one user on a server in the mode personal')
  const headers = { 'X-Session-API-Key': ann! }
  expect((await fetch(`${server.url}/api/secrets`, { headers })).status).toBe(200)
  expect((await server.call('POST', '/api/keys', { user: 'ann' })).status).toBe(201)
  expect((await server.call('POST', '/api/keys', { user: 'carl' })).status).toBe(403)
})

test('a user of a server in the mode shared has limits by default, and what the operator lists goes before them', async () => {
  await using server = await startTestServer({ PARLEY_MODE: 'shared', PARLEY_USER_LIMITS: '{"default":{"sockets":7}}' })
  const { quotas } = (await server.call('GET', '/api/quotas')).body
  const limits = quotas.map(({ name, limit }: { name: string; limit: number }) => [name, limit])
  expect(Object.fromEntries(limits)).toEqual({ ...LIMITS, sockets: 7 })
  expect((await server.call('GET', '/api/quotas/users')).body.items).toEqual([])
})

test('a store of version 0.1.0 keeps its users, in the mode personal with a warning for several', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await restoreRelease('0.1.0', { dataDir, model: 'http://127.0.0.1:9', work: dir.file('work') })
  const { key, hash } = makeKey()
  {
    // As that version stored it.
    using store = new DatabaseSync(`${dataDir}/parley.db`)
    const row = 'INSERT INTO keys (id, user, role, hash, created_at) VALUES (?, ?, ?, ?, ?)'
    store.prepare(row).run('k', 'ann', 'user', hash, '2026-01-01T00:00:00.000Z')
  }
  await using server = await startServerProcess({ dataDir, env: { PARLEY_SECRET_KEY: RELEASE_KEY } })
  expect(server.stderr()).toContain('more than one user on a server in the mode personal')
  const users = (await server.call('GET', '/api/users')).body.items
  expect(users.map(({ user, state }: Record<string, string>) => [user, state])).toContainEqual(['ann', 'active'])
  expect((await fetch(`${server.url}/api/secrets`, { headers: { 'X-Session-API-Key': key } })).status).toBe(200)
  expect((await server.call('POST', '/api/keys', { user: 'ann' })).status).toBe(201)
  expect((await server.call('POST', '/api/keys', { user: 'carl' })).status).toBe(403)
})

test('a new user of a server in the mode shared approves risky actions by default, in both APIs', async () => {
  await using server = await startTestServer({ PARLEY_MODE: 'shared' })
  const made = await server.call('POST', '/api/keys', { user: 'ann' })
  expect(made.status).toBe(201)
  const as = { 'X-Session-API-Key': made.body.key as string }
  const settings = await server.call('GET', '/api/settings', undefined, as)
  expect(settings.body).toMatchObject({ confirmation_mode: true, security_analyzer: 'ensemble' })
  const careful = {
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH' },
    security_analyzer: { kind: 'EnsembleSecurityAnalyzer' },
  }
  const workspace = { working_dir: server.dir.file('work') }
  const started = await server.call('POST', '/api/conversations', { agent: AGENT, workspace }, as)
  expect(started).toMatchObject({ status: 201, body: careful })
  const { conversation_id } = (await server.call('POST', '/api/conversations', {}, { ...as, prefer: 'wait=20' })).body
  expect((await server.call('GET', `/api/conversations/${conversation_id}`, undefined, as)).body).toMatchObject(careful)
  const named = { confirmation_policy: { kind: 'NeverConfirm' } }
  const own = await server.call('POST', '/api/conversations', { agent: AGENT, workspace, ...named }, as)
  expect(own.body).toMatchObject({ ...named, security_analyzer: null })
  expect((await server.call('GET', '/server_info')).body).toMatchObject({
    mode: 'shared',
    isolation: { level: 'bubblewrap' },
  })
})

test('a user of before keeps its policy in the mode shared', async () => {
  await using dir = await tempDir()
  const [ann] = await storeKeys(dir.file('data'), ['ann', 'user'])
  await using server = await startServerProcess({ dataDir: dir.file('data'), env: { PARLEY_MODE: 'shared' } })
  const answer = await fetch(`${server.url}/api/conversations`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': ann!, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: AGENT, workspace: { working_dir: dir.file('data', 'users', 'ann', 'work') } }),
  })
  expect(await answer.json()).toMatchObject({ confirmation_policy: { kind: 'NeverConfirm' }, security_analyzer: null })
})

test('a user of the mode shared reaches its own folder and the listed directories, and no other directory', async () => {
  await using server = await startTestServer({ PARLEY_MODE: 'shared' })
  const start = (working_dir: string) =>
    server.call('POST', '/api/conversations', { agent: AGENT, workspace: { working_dir } })
  expect((await start(server.dir.file('data', 'users', 'default', 'x'))).status).toBe(201)
  expect((await start(server.dir.file('listed'))).status).toBe(201)
  expect((await start('/srv/x')).status).toBe(422)
})
