/** Conversations whose workspace is on a server that fails. Source: docs/remote-workspace.md, Failures. */
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { shareServer } from '../../packages/server/testing/shared-server.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { verifies } from '../verifies.ts'
import { startProxy } from '../../packages/server/testing/faulty-proxy.ts'
import {
  agentOf,
  eventsOf,
  finish,
  REMOTE_KEY,
  run,
  startOn,
} from '../../packages/server/testing/remote-conversations.ts'
import { until } from '../../packages/server/testing/until.ts'

/** The server of the conversations. */
const shared = shareServer()

const remoteServer = (dir: TempDir, port?: number): Promise<ServerProcess> =>
  startServerProcess({
    dataDir: dir.file('b'),
    env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path },
    ...(port === undefined ? {} : { port }),
  })

const placeOn = (host: string, dir: TempDir, more: object = {}) => ({
  kind: 'RemoteWorkspace',
  working_dir: dir.file('work'),
  host,
  api_key: REMOTE_KEY,
  ...more,
})

const statusOf = async (server: Pick<ServerProcess, 'call'>, id: string): Promise<string> =>
  (await server.call('GET', `/api/conversations/${id}`)).body.execution_status

/** The results of all calls that the model received, in order. */
async function answersOf(server: Pick<ServerProcess, 'call'>, id: string): Promise<any[]> {
  const events = await eventsOf(server, id)
  return events.filter(({ kind }) => kind === 'ObservationEvent' || kind === 'AgentErrorEvent')
}

const textOf = (event: any): string => event.error ?? event.observation.content.map(({ text }: any) => text).join('')

/** One command that says how often it ran and that it is under way, and ends when the file `go` is there. */
const patient = (work: string): ScriptedAnswer =>
  run(
    `echo once >> ${work}/count; touch ${work}/begun; while ! [ -e ${work}/go ]; do sleep 0.05; done; echo went on; (exit 3)`,
    {
      timeout: 60,
    },
  )

const allow = (dir: TempDir) => writeFile(dir.file('work/go'), '')

describe('the other server', () => {
  test('a command runs once and its result arrives when the other server is killed and restarted during it', async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ by: 'turn', answers: [patient(dir.file('work')), finish] })
    const { server: here } = shared()
    const port = await freePort()
    const first = await remoteServer(dir, port)
    const id = await startOn(here, { workspace: placeOn(first.url, dir), agent: agentOf(model.url) })
    await until(() => existsSync(dir.file('work/begun')))
    await first.kill()
    await allow(dir)
    await using _second = await remoteServer(dir, port)
    await until(async () => (await statusOf(here, id)) === 'finished')
    const [answer] = await answersOf(here, id)
    expect(answer.observation).toMatchObject({ exit_code: 3, is_error: false })
    expect(textOf(answer)).toBe('went on')
    expect(await readFile(dir.file('work/count'), 'utf8')).toBe('once\n')
    await here.call('DELETE', `/api/conversations/${id}`)
  }, 60_000)

  test('the outcome is unknown and nothing is repeated when the other server and its processes are gone', async () => {
    await using dir = await tempDir()
    const work = dir.file('work')
    const dies = run(`echo once >> count; touch begun; kill -9 $PPID; sleep 60`)
    await using model = await startScriptedModel({ by: 'turn', answers: [dies, run('cat count'), finish] })
    const { server: here } = shared()
    await using there = await remoteServer(dir)
    const id = await startOn(here, { workspace: placeOn(there.url, dir), agent: agentOf(model.url) })
    await until(async () => (await statusOf(here, id)) === 'finished')
    const [lost, next] = await answersOf(here, id)
    expect(lost.observation).toMatchObject({ is_error: true, exit_code: -1 })
    expect(textOf(lost)).toMatch(/outcome is not known, and it was not repeated/)
    expect(textOf(next)).toMatch(/once$/)
    expect(await readFile(`${work}/count`, 'utf8')).toBe('once\n')
    await here.call('DELETE', `/api/conversations/${id}`)
    // Deleting the conversation ends what is left of it there.
    expect(await readdir(dir.file('.parley-hands'))).toEqual([])
  }, 60_000)

  verifies(
    ['seed.workspace.remote.read_timeout.meaning', 'seed.limits.read_timeout'],
    'a call ends with an error after read_timeout, and the next call finds the command that it began',
    async () => {
      await using dir = await tempDir()
      await using model = await startScriptedModel({
        by: 'turn',
        answers: [patient(dir.file('work')), run(''), finish],
      })
      const { server: here } = shared()
      await using there = await remoteServer(dir)
      await using proxy = await startProxy(there.url)
      const workspace = placeOn(proxy.url, dir, { read_timeout: 1 })
      const id = await startOn(here, { workspace, agent: agentOf(model.url) })
      await until(() => existsSync(dir.file('work/begun')))
      proxy.mode = 'silent'
      const begun = performance.now()
      await until(async () => (await answersOf(here, id)).length === 1)
      expect(performance.now() - begun).toBeLessThan(15_000)
      proxy.mode = 'pass'
      await allow(dir)
      await until(async () => (await statusOf(here, id)) === 'finished')
      const [silent, next] = await answersOf(here, id)
      expect(textOf(silent)).toMatch(/did not answer.*1 s \(read_timeout\)/)
      expect(next.observation).toMatchObject({ exit_code: 3, is_error: false })
      expect(textOf(next)).toBe('went on')
      expect(await readFile(dir.file('work/count'), 'utf8')).toBe('once\n')
      await here.call('DELETE', `/api/conversations/${id}`)
    },
    60_000,
  )

  test('a command whose answer was lost is found again and not started twice', async () => {
    await using dir = await tempDir()
    const steps = [run('echo once >> count; echo said'), finish]
    await using model = await startScriptedModel({ by: 'turn', answers: steps })
    const { server: here } = shared()
    await using there = await remoteServer(dir)
    await using proxy = await startProxy(there.url)
    proxy.mode = 'forgetful'
    const id = await startOn(here, { workspace: placeOn(proxy.url, dir), agent: agentOf(model.url) })
    await until(async () => (await statusOf(here, id)) === 'finished')
    const bash = ['/api/bash/execute_bash_command', '/api/bash/start_bash_command']
    expect([...proxy.forgotten].toSorted()).toEqual([...bash, '/api/file/create_directory', '/api/file/upload'])
    const [answer] = await answersOf(here, id)
    expect(textOf(answer)).toBe('said')
    expect(await readFile(dir.file('work/count'), 'utf8')).toBe('once\n')
    await here.call('DELETE', `/api/conversations/${id}`)
  }, 90_000)

  test('a refused key fails the start with the reason, and later each call', async () => {
    await using dir = await tempDir()
    await using receiver = await startWebhookReceiver()
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [run('touch begun'), run('echo no > no'), finish],
    })
    await using here = await startServerProcess({
      dataDir: dir.file('a'),
      env: { PARLEY_LOG_LEVEL: 'debug', PARLEY_WEBHOOKS_0_BASE_URL: receiver.url },
    })
    await using there = await remoteServer(dir)
    await using proxy = await startProxy(there.url)
    const agent = agentOf(model.url)
    const wrong = 'not-the-key-of-that-server-0123456'
    const refused = await startOn(here, { workspace: placeOn(there.url, dir, { api_key: wrong }), agent })
    await until(async () => (await statusOf(here, refused)) === 'error')
    const failed = await eventsOf(here, refused)
    const error = failed.find(({ kind }) => kind === 'ConversationErrorEvent')
    expect(error).toMatchObject({
      code: 'forbidden',
      detail: expect.stringMatching(/refused the key of this workspace \(401\)/),
    })
    expect(model.requests).toEqual([])

    const id = await startOn(here, { workspace: placeOn(proxy.url, dir), agent })
    await until(() => existsSync(dir.file('work/begun')))
    proxy.mode = 'refuse'
    await until(async () => ['finished', 'error'].includes(await statusOf(here, id)))
    const events = await eventsOf(here, id)
    const answers = await answersOf(here, id)
    expect(answers.slice(0, -1).some((answer) => /refused the key/.test(textOf(answer)))).toBe(true)
    expect(existsSync(dir.file('work/no'))).toBe(false)

    const { body: infos } = await here.call('GET', '/api/conversations/search')
    await until(() => receiver.about(id).length > 0)
    const everything = JSON.stringify([
      events,
      failed,
      infos,
      receiver.attempts,
      model.requests.map(({ text }) => text),
    ])
    for (const key of [REMOTE_KEY, wrong]) {
      expect(everything).not.toContain(key)
      expect(here.stderr() + there.stderr()).not.toContain(key)
      for (const name of await readdir(dir.file('a'), { recursive: true })) {
        const bytes = await readFile(dir.file('a', name)).catch(() => null)
        expect(bytes?.includes(key) ?? false, name).toBe(false)
      }
    }
    proxy.mode = 'pass'
    for (const each of [id, refused]) await here.call('DELETE', `/api/conversations/${each}`)
  }, 60_000)

  test('a start fails within seconds when the other server cannot be reached, and can be repeated', async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ by: 'turn', answers: [run('pwd'), finish] })
    // Half of the phase is spent on waiting for the other server.
    const env = { PARLEY_START_DEADLINES: '{"workspace":4}' }
    await using here = await startServerProcess({ dataDir: dir.file('a'), env })
    const port = await freePort()
    const id = await startOn(here, { workspace: placeOn(`http://127.0.0.1:${port}`, dir), agent: agentOf(model.url) })
    await until(async () => (await statusOf(here, id)) === 'error')
    const error = (await eventsOf(here, id)).find(({ kind }) => kind === 'ConversationErrorEvent')
    expect(error.detail).toMatch(/could not be reached/)
    await using _there = await remoteServer(dir, port)
    await here.call('POST', `/api/conversations/${id}/start`)
    await until(async () => (await statusOf(here, id)) === 'finished')
    const [answer] = await answersOf(here, id)
    expect(textOf(answer)).toBe(dir.file('work'))
    await here.call('DELETE', `/api/conversations/${id}`)
  }, 60_000)
})

test('the next process adopts a remote command when this server was killed during it', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({ by: 'turn', answers: [patient(dir.file('work')), finish] })
  const port = await freePort()
  const first = await startServerProcess({ dataDir: dir.file('a'), port })
  await using there = await remoteServer(dir)
  const id = await startOn(first, { workspace: placeOn(there.url, dir), agent: agentOf(model.url) })
  await until(() => existsSync(dir.file('work/begun')))
  await first.kill()
  await using second = await startServerProcess({ dataDir: dir.file('a'), port })
  await allow(dir)
  await until(async () => (await statusOf(second, id)) === 'finished')
  const [answer] = await answersOf(second, id)
  expect(answer.observation).toMatchObject({ exit_code: 3, is_error: false })
  expect(textOf(answer)).toBe('went on')
  expect(await readFile(dir.file('work/count'), 'utf8')).toBe('once\n')
  await second.call('DELETE', `/api/conversations/${id}`)
}, 60_000)

verifies(
  ['seed.limits.max_connections', 'seed.workspace.remote.max_connections.null'],
  'max_connections bounds the connections to the other server; null does not',
  async () => {
    await using dir = await tempDir()
    const view = (n: number) => ({
      name: 'file_editor',
      arguments: { command: 'view', path: dir.file('work', `f${n}`) },
    })
    const batch: ScriptedAnswer = { text: '', toolCalls: [0, 1, 2, 3, 4, 5].map(view) }
    const make = run('for n in 0 1 2 3 4 5; do echo $n > f$n; done')
    await using model = await startScriptedModel({ by: 'turn', answers: [make, batch, finish] })
    const { server: here } = shared()
    await using there = await remoteServer(dir)
    const most: number[] = []
    for (const max_connections of [1, null]) {
      await using proxy = await startProxy(there.url)
      const agent = { ...agentOf(model.url), tool_concurrency_limit: 6 }
      const id = await startOn(here, { workspace: placeOn(proxy.url, dir, { max_connections }), agent })
      await until(async () => (await statusOf(here, id)) === 'finished')
      most.push(proxy.mostConnections)
      await here.call('DELETE', `/api/conversations/${id}`)
    }
    expect(most[0]).toBe(1)
    expect(most[1]).toBeGreaterThan(1)
  },
  60_000,
)

test('a key in the address and an invalid host are refused with 422', async () => {
  await using dir = await tempDir()
  const { server: here } = shared()
  for (const host of ['http://user:secret@127.0.0.1:1', 'ftp://x', 'h', '']) {
    const workspace = placeOn(host, dir)
    const { status, body } = await here.call('POST', '/api/conversations', {
      workspace,
      agent: agentOf('http://127.0.0.1:1'),
    })
    expect([status, body.detail[0].loc]).toEqual([422, ['body', 'workspace']])
    expect(JSON.stringify(body)).not.toContain(REMOTE_KEY)
  }
}, 30_000)
