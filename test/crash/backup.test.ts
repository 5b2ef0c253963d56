/** Backups of real servers with real commands, restored elsewhere: docs/operations.md, Backup. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { run } from '../../packages/cli/src/testing/parley.ts'
import { conversation, start, starting } from '../../packages/server/testing/conversations.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { childrenOf, finish, parent, startScripts, task } from '../../packages/server/testing/sub-agent-scripts.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0)
const call = (name: string, args: Record<string, unknown>): ScriptedAnswer => ({
  toolCalls: [{ name, arguments: args }],
})

/** Runs a command line that must succeed. @param folder an existing one, for the home of the process */
async function parley(folder: string, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(argv, { dataDir: folder })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** The call ledger, whose name depends on the protocol of the runner. */
function ledgerOf(server: Running): string {
  const names = readdirSync(server.file('data', 'runner')).filter((name) => name.endsWith('.ndjson'))
  return names.map((name) => readFileSync(server.file('data', 'runner', name), 'utf8')).join('')
}

/** A backup of the data directory of `server`, restored to `restored`. */
async function backUpAndRestore(server: Running): Promise<string> {
  const [backup, key, restored] = [server.file('backup'), server.file('key'), server.file('restored')]
  await parley(server.file(), 'backup', backup, '--key', key, '--data-dir', server.file('data'))
  return parley(server.file(), 'restore', backup, '--key', key, '--data-dir', restored)
}

/** A server whose conversations run one command that counts its executions and ends when `<trace>.go` exists. */
async function withCommand() {
  let trace = ''
  const server = await startRunning(
    ({ view, text }) => {
      if (view.toolResults.length > 0 || text.includes('only talk')) return { text: 'done' }
      return call('terminal', {
        command: `echo x >>${trace}; until [ -e ${trace}.go ]; do sleep 0.05; done; echo it-ended`,
      })
    },
    {},
    'process',
  )
  trace = server.file('trace')
  return { server, trace }
}

const LEFT_OUT = [
  'parley.db-shm',
  'parley.db-wal',
  'server.json',
  'server.lock',
  'server.lock-journal',
  'first-key',
  'secret-key',
  'workspaces',
]

test('a backup of a running server is restored elsewhere: nothing is executed again, everything is readable, and one run request continues each conversation', async () => {
  const { server, trace } = await withCommand()
  await using _server = server
  const talked = await server.start()
  await server.say(talked, 'only talk')
  await server.until(talked, 'finished')
  const id = await server.start()
  await server.say(id, 'go')
  await until(() => lines(trace) === 1)
  const command = `echo x >>${trace}-bash; until [ -e ${trace}.go ]; do sleep 0.05; done`
  const bash = await server.call('POST', '/api/bash/start_bash_command', { command, timeout: 60 })
  await until(() => lines(`${trace}-bash`) === 1)

  expect(await backUpAndRestore(server)).toMatch(/^conversations that were running: 1; they start paused/m)
  // A new entry of the data directory needs a decision: docs/operations.md, What a backup contains.
  const known = new Set([...readdirSync(server.file('backup', 'data')), ...LEFT_OUT])
  expect(readdirSync(server.file('data')).filter((name) => !known.has(name))).toEqual([])
  const asked = server.model.requests.length
  await using restored = await startServerProcess({ dataDir: server.file('restored') })

  const copy = conversation(restored, id)
  await copy.is('paused')
  expect(await copy.kinds('ConversationErrorEvent')).toMatchObject([{ code: 'RestoredFromBackup' }])
  expect(await conversation(restored, talked).events()).toEqual(await server.events(talked))
  const outputs = `/api/bash/bash_events/search?command_id__eq=${bash.body.id}&kind__eq=BashOutput`
  await until(async () => (await restored.call('GET', outputs)).body.items.length === 1)
  expect((await restored.call('GET', outputs)).body.items[0]).toMatchObject({
    stderr: expect.stringContaining('not known') as string,
  })
  expect(server.model.requests).toHaveLength(asked)

  expect((await copy.post('run')).status).toBe(200)
  await copy.is('finished')
  expect(await copy.kinds('AgentErrorEvent')).toHaveLength(1)
  expect([lines(trace), lines(`${trace}-bash`)]).toEqual([1, 1])

  // The original continues as if there had been no backup.
  writeFileSync(`${trace}.go`, '')
  await server.until(id, 'finished')
  expect(ofKind(await server.events(id), 'AgentErrorEvent')).toEqual([])
  expect([lines(trace), lines(`${trace}-bash`)]).toEqual([1, 1])
}, 60_000)

test('a backup without a server has the results that the runner recorded, and a restore reports them', async () => {
  const { server, trace } = await withCommand()
  await using _server = server
  const id = await server.start()
  await server.say(id, 'go')
  await until(() => lines(trace) === 1)
  await server.kill(async () => {
    writeFileSync(`${trace}.go`, '')
    await until(() => ledgerOf(server).includes('"t":"end"'))
    await backUpAndRestore(server)
  })
  await server.until(id, 'finished')
  await using restored = await startServerProcess({ dataDir: server.file('restored') })
  const copy = conversation(restored, id)
  await copy.is('paused')
  await copy.post('run')
  await copy.is('finished')
  const observed = (events: readonly Loose[]) =>
    ofKind(events, 'ObservationEvent').map(({ observation }) => [observation.exit_code, JSON.stringify(observation)])
  const expected = [[0, expect.stringContaining('it-ended')]]
  expect([observed(await copy.events()), observed(await server.events(id))]).toEqual([expected, expected])
  expect(lines(trace)).toBe(1)
}, 60_000)

test.each([
  ['is still there', 'reported as done', 1],
  ['was reverted since', 'unknown, and is not made again', 0],
])(
  'an edit that was open in a backup and %s is %s',
  async (what, _, expected) => {
    await using dir = await tempDir()
    const file = dir.file('work', 'edited.txt')
    await mkdir(dir.file('work'))
    writeFileSync(file, 'one\n')
    await using model = await startScriptedModel({
      respond: ({ view }) => {
        if (view.toolResults.length > 0) return { text: 'done' }
        return call('file_editor', { command: 'insert', path: file, insert_line: 1, new_str: 'two' })
      },
    })
    const data = dir.file('data')
    let id: string
    {
      const crash = { at: 'ObservationEvent', when: 'before' } as const
      await using server = await startServerProcess({ dataDir: data, crash })
      const agent = { tools: [{ name: 'file_editor' }] }
      const begun = await start(server, starting(model, dir.file('work'), { agent }))
      id = begun.id
      // The server ends before or after its answer.
      await begun.say('go').catch(() => undefined)
      await server.exited
    }
    const count = () => readFileSync(file, 'utf8').split('two').length - 1
    expect(count()).toBe(1)
    await parley(dir.path, 'backup', dir.file('backup'), '--key', dir.file('key'), '--data-dir', data)
    await parley(dir.path, 'restore', dir.file('backup'), '--key', dir.file('key'), '--data-dir', dir.file('restored'))
    if (what !== 'is still there') writeFileSync(file, 'one\n')
    await using restored = await startServerProcess({ dataDir: dir.file('restored') })
    const copy = conversation(restored, id)
    await copy.is('paused')
    await copy.post('run')
    await copy.is('finished')
    expect(count()).toBe(expected)
    expect(await copy.kinds('AgentErrorEvent')).toHaveLength(1 - expected)
  },
  60_000,
)

test('a restored sub-agent is paused with its parent, and running the parent continues both', async () => {
  await using dir = await tempDir()
  const gate = Promise.withResolvers<void>()
  const held = async () => {
    await gate.promise
    return finish('result of the sub-agent')
  }
  await using model = await startScripts({ parent: [task('[child] x'), finish('parent done')], child: [held] })
  const [backup, restored] = [dir.file('backup'), dir.file('restored')]
  let id: string
  {
    await using server = await startServerProcess({ dataDir: dir.file('data') })
    id = (await start(server, parent(model, dir.file('work')))).id
    await until(() => model.requests.length === 2)
    await parley(dir.path, 'backup', backup, '--key', dir.file('key'), '--data-dir', dir.file('data'))
  }
  await parley(dir.path, 'restore', backup, '--key', dir.file('key'), '--data-dir', restored)
  await using server = await startServerProcess({ dataDir: restored })
  const copy = conversation(server, id)
  await copy.is('paused')
  await until(async () => (await childrenOf(server, id))[0]?.now.execution_status === 'paused')
  expect(model.requests).toHaveLength(2)
  gate.resolve()
  expect((await copy.post('run')).status).toBe(200)
  await copy.is('finished')
  expect(JSON.stringify(await copy.kinds('ObservationEvent'))).toContain('result of the sub-agent')
}, 60_000)
