/** The real server with a PostgreSQL database. */
import { readFile } from 'node:fs/promises'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { backUp, openKeys, readConfig, rekey, restore } from '../../packages/server/src/index.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const STEPS = 6

test('a turn continues after each kill of its server, and every command is executed once', async () => {
  await using dir = await tempDir()
  await using database = await testDatabase()
  await using model = await startScriptedModel({
    respond: ({ text }) => {
      const done = [...text.matchAll(/step-(\d+) is done/g)].map(([, n]) => Number(n))
      const n = Math.max(0, ...done) + 1
      if (n > STEPS) return { text: 'all done' }
      return {
        toolCalls: [{ name: 'terminal', arguments: { command: `echo ${n} >> trace; echo "step-$((${n})) is done"` } }],
      }
    },
  })
  const options = { dataDir: dir.file('data'), env: { PARLEY_DATABASE_URL: database.url } }
  let server = await startServerProcess(options)
  await using _stop = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  const { body: info } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: dir.file('work') },
    agent: {
      kind: 'Agent',
      llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
      tools: [{ name: 'terminal' }],
    },
    autotitle: false,
    initial_message: { content: [{ type: 'text', text: 'go' }] },
  })
  const stored = () => database.query<{ seq: number }>('SELECT seq::integer FROM parley.events ORDER BY seq')
  for (const events of [3, 6, 9]) {
    await until(async () => (await stored()).length >= events)
    await server.kill()
    server = await startServerProcess(options)
  }
  const path = `/api/conversations/${info.id}`
  await until(async () => (await server.call('GET', path)).body.execution_status === 'finished')
  const seqs = (await stored()).map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(await readFile(dir.file('work', 'trace'), 'utf8')).toBe('1\n2\n3\n4\n5\n6\n')
  const found = await server.call('GET', `${path}/events/search?body=all%20done`)
  expect(found.body.items).toHaveLength(1)
}, 60_000)

test('a second server on the same database starts with the key of the first one only, and both see the same conversations', async () => {
  await using database = await testDatabase()
  const env = { PARLEY_DATABASE_URL: database.url }
  const key = { PARLEY_SECRET_KEY: canary('server_secret_key') }
  await using first = await startTestServer({ ...env, ...key })
  await expect(startTestServer(env)).rejects.toThrow(
    'set PARLEY_SECRET_KEY to the key of the store, as for every further server on one database',
  )
  await using second = await startTestServer({ ...env, ...key })
  const agent = { kind: 'Agent', llm: { model: 'scripted/x' } }
  const { body: made } = await first.call('POST', '/api/conversations', { agent })
  expect((await second.call('GET', `/api/conversations/${made.id}`)).body.id).toBe(made.id)
  const nodes = await database.query<{ url: string }>('SELECT url FROM parley.nodes ORDER BY n')
  expect(nodes.filter(({ url }) => url !== '')).toEqual([{ url: first.url }, { url: second.url }])
}, 60_000)

test('commands for the file of a SQLite store are refused with a database, and name what to do', async () => {
  const { config } = readConfig({
    flags: { 'data-dir': '/nowhere' },
    env: { PARLEY_DATABASE_URL: 'postgres://127.0.0.1/parley' },
    cwd: '/',
    home: '/',
  })
  const refused = { code: 'unsupported', message: expect.stringContaining('PARLEY_DATABASE_URL') as string }
  await expect(backUp(config, { target: '/b', keyFile: null, withWorkspaces: false })).rejects.toMatchObject(refused)
  await expect(restore(config, { source: '/b', keyFile: null })).rejects.toMatchObject(refused)
  await expect(rekey(config, { newKey: null, backup: null, progress: () => {} })).rejects.toMatchObject(refused)
})

test('keys that are made beside a running server are stored in its database', async () => {
  await using database = await testDatabase()
  await using server = await startTestServer({ PARLEY_DATABASE_URL: database.url })
  const env = { PARLEY_DATABASE_URL: database.url, PARLEY_MODE: 'shared' }
  const { config } = readConfig({ flags: { 'data-dir': server.dir.file('data') }, env, cwd: '/', home: '/' })
  await using keys = await openKeys(config)
  const { key } = await keys.createKey({ user: 'ada', role: 'user', label: null, expires_at: null })
  const path = '/api/conversations/count'
  expect((await server.call('GET', path, undefined, { 'X-Session-API-Key': key })).status).toBe(200)
})

test('a database that refuses the user ends the start, without the password in the message', async () => {
  await using database = await testDatabase()
  const url = new URL(database.url)
  url.username = 'nobody_here'
  url.password = 'pass-word-of-the-database'
  const error = await startTestServer({ PARLEY_DATABASE_URL: String(url) }).then(
    () => null,
    (refused: unknown) => refused as Error,
  )
  expect(error?.message).toMatch(/it refuses the user or the password: check both in PARLEY_DATABASE_URL/)
  expect(inspect(error, { depth: 9 })).not.toContain('pass-word-of-the-database')
})
