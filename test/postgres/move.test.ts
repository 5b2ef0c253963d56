/** `parley export` and `parley import` with real servers: docs/operations.md, Moving a store. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { run } from '../../packages/cli/src/testing/parley.ts'
import { exportStore, importStore, readConfig } from '../../packages/server/src/index.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { conversation, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { dumpStore } from '../../packages/server/testing/store-dump.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

/** A data directory and an empty database, with servers on either store. */
async function places() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const database = stack.use(await testDatabase({ isNew: true }))
  const [data, trace] = [dir.file('data'), dir.file('trace')]
  const model = stack.use(
    await startScriptedModel({
      respond: ({ view }) => {
        if (view.lastUserText.includes('only talk') || view.toolResults.length > 0) return { text: 'done' }
        const command = `echo x >>${trace}; until [ -e ${trace}.go ]; do sleep 0.05; done; echo it-ended`
        return { toolCalls: [{ name: 'terminal', arguments: { command } }] }
      },
    }),
  )
  const env = { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '60' }
  const owned = stack.move()
  return {
    dir,
    data,
    trace,
    model,
    url: database.url,
    query: database.query,
    onFile: () => startServerProcess({ dataDir: data, env: { ...env, PARLEY_DATABASE_URL: '' } }),
    onDatabase: () => startServerProcess({ dataDir: data, env: { ...env, PARLEY_DATABASE_URL: database.url } }),
    /** The command line in a process of its own. */
    parley: (...argv: string[]) =>
      run([...argv, '--data-dir', data], { dataDir: dir.path, env: { PARLEY_DATABASE_URL: database.url } }),
    move: (direction: typeof exportStore | typeof importStore, env: Record<string, string> = {}, dataDir = data) => {
      const { config } = readConfig({
        flags: { 'data-dir': dataDir },
        env: { PARLEY_DATABASE_URL: database.url, ...env },
        cwd: dir.path,
        home: dir.path,
      })
      return direction(config, () => undefined)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

type Places = Awaited<ReturnType<typeof places>>

/** Conversations, secrets, settings, keys, and more, as clients make them. */
async function use(server: ServerProcess, { model, dir }: Places): Promise<string> {
  const { id } = await start(server, starting(model, dir.file('talk'), { initial_message: message('only talk') }))
  await conversation(server, id).is('finished')
  const calls: [string, string, unknown][] = [
    ['POST', '/api/secrets', { name: 'TOKEN', value: canary('conversation_secret') }],
    ['POST', `/api/conversations/${id}/fork`, {}],
    ['POST', '/api/bash/execute_bash_command', { command: 'echo bash' }],
    ['POST', '/api/profiles/own', { llm: { model: 'openai/scripted', api_key: canary('llm_key') } }],
  ]
  for (const [method, path, body] of calls) {
    const { status } = await server.call(method, path, body)
    expect([path, status < 300]).toEqual([path, true])
  }
  return id
}

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0)

test('parley export and parley import move a used data directory, which is the same afterwards', async () => {
  await using at = await places()
  {
    await using server = await at.onFile()
    await use(server, at)
  }
  const before = dumpStore(`${at.data}/parley.db`)
  const exported = await at.parley('export')
  expect(exported).toMatchObject({ code: 0, stderr: '' })
  expect(exported.stdout).toMatch(/^events: \d+ rows$/m)
  expect(exported.stdout).toMatch(/^moved 2 conversations with \d+ events, \d+ rows in all, to the database$/m)
  const kept = /^the former store is (\S+);/m.exec(exported.stdout)![1]!
  expect(dumpStore(kept)).toEqual(before)
  const repeated = await at.parley('export')
  expect(repeated).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no store') as string })

  const imported = await at.parley('import')
  expect(imported).toMatchObject({ code: 0, stderr: '' })
  expect(imported.stdout).toMatch(/the schema parley_imported_\d+_\d+ of the database/)
  expect(dumpStore(`${at.data}/parley.db`)).toEqual(before)
  // The database can be used again.
  await at.move(exportStore)
}, 120_000)

test('a command that was running when its server was killed continues after an export, and again after an import, and is executed once', async () => {
  await using at = await places()
  let server = await at.onFile()
  await using _stop = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  const talked = await use(server, at)
  const events = await conversation(server, talked).events()
  const { id } = await start(server, starting(at.model, at.dir.file('work'), { initial_message: message('go') }))
  await until(() => lines(at.trace) === 1)
  await server.kill()
  await at.move(exportStore)

  server = await at.onDatabase()
  expect(await conversation(server, talked).events()).toEqual(events)
  await conversation(server, id).is('running')
  const found = await server.call('GET', `/api/conversations/${talked}/events/search?body=only%20talk`)
  expect(found.body.items).toHaveLength(1)
  await server.kill()
  await at.move(importStore)

  server = await at.onFile()
  expect(await conversation(server, talked).events()).toEqual(events)
  writeFileSync(`${at.trace}.go`, '')
  await conversation(server, id).is('finished')
  expect(await conversation(server, id).kinds('AgentErrorEvent')).toEqual([])
  expect(lines(at.trace)).toBe(1)
}, 120_000)

test('nothing is moved while a server uses the data directory or the database', async () => {
  await using at = await places()
  const isUsed = /is in use by the server with pid \d+ at http.*; stop that server/
  {
    await using _server = await at.onFile()
    await expect(at.move(exportStore)).rejects.toThrow(isUsed)
  }
  await at.move(exportStore)
  {
    await using _server = await at.onDatabase()
    await expect(at.move(importStore)).rejects.toThrow(isUsed)
    // From another data directory, only the database knows of the server.
    mkdirSync(at.dir.file('elsewhere'))
    copyFileSync(`${at.data}/secret-key`, at.dir.file('elsewhere', 'secret-key'))
    await expect(at.move(importStore, {}, at.dir.file('elsewhere'))).rejects.toThrow(
      /^database \S+ is in use by a Parley server: stop it, and try again$/,
    )
    expect(readdirSync(at.dir.file('elsewhere'))).not.toContain('parley.db')
  }
  await at.move(importStore)
}, 120_000)

test('a store is not moved with another sealing key or without one, and stays where it is', async () => {
  await using at = await places()
  {
    await using server = await at.onFile()
    await use(server, at)
  }
  const other = { PARLEY_SECRET_KEY: 'another key of thirty characters' }
  await expect(at.move(exportStore, other)).rejects.toThrow(/is not the one of the store/)
  await at.move(exportStore)
  await expect(at.move(importStore, other)).rejects.toThrow(/is not the one of the store/)
  await expect(at.move(importStore, {}, at.dir.file('elsewhere'))).rejects.toThrow(/the key file \S+ is missing/)
  await at.move(importStore)
}, 120_000)

test('a move without a store, without a database or onto another store is refused with the remedy', async () => {
  await using at = await places()
  await expect(at.move(exportStore)).rejects.toThrow(/there is no store \S+; name the data directory/)
  await expect(at.move(importStore)).rejects.toThrow(/has no store of Parley: check its name/)
  await expect(at.move(exportStore, { PARLEY_DATABASE_URL: '' })).rejects.toThrow(
    /no database is named: give its address/,
  )
  await (await at.onFile())[Symbol.asyncDispose]()
  await at.move(exportStore)
  await (await at.onFile())[Symbol.asyncDispose]()
  await expect(at.move(importStore)).rejects.toThrow(/has a store already: \S+; move that file away/)
  await expect(at.move(exportStore)).rejects.toThrow(/is not empty: its table \S+ has rows\. Name an empty database/)
}, 120_000)
