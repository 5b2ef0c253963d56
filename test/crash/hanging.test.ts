/** An interrupt, a stop, a deletion and a SIGTERM end in time, whatever hangs: the model, the runner, a caller. */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { asksForSummary, startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const COMMAND = 'echo x >> begun; until [ -e go ]; do sleep 0.05; done; echo done'

/** Runs `COMMAND` for a prompt that begins with "run"; never answers a request for a summary. */
const startModel = () =>
  startScriptedModel({
    respond: ({ view }) => {
      if (asksForSummary(view)) return { hang: 'headers' }
      if (!view.lastUserText.startsWith('run') || view.assistantTurns > 0) return { text: 'done' }
      return { toolCalls: [{ name: 'terminal', arguments: { command: COMMAND } }] }
    },
  })

const textOf = (path: string) => readFile(path, 'utf8').catch(() => '')

/** Stops the runner of a data directory; it continues when the result is disposed. */
async function stopRunner(dataDir: string): Promise<AsyncDisposable> {
  const pid = (await processesOf(dataDir, dataDir)).find(({ isRunner }) => isRunner)!.pid
  process.kill(pid, 'SIGSTOP')
  return { [Symbol.asyncDispose]: async () => void process.kill(pid, 'SIGCONT') }
}

/** A conversation whose command has begun and waits for the file `go`. */
async function startCommand() {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startTestServer())
  const model = opened.use(await startModel())
  const it = await start(server, starting(model, server.dir.file('work'), { initial_message: message('run') }))
  await until(async () => (await textOf(server.dir.file('work', 'begun'))) === 'x\n')
  const kept = opened.move()
  return { server, it, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test('SIGTERM ends a server within ten seconds although a model, the runner and a caller are silent, and a command runs once', async () => {
  await using dir = await tempDir()
  await using model = await startModel()
  const options = { dataDir: dir.file('data'), env: { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '60' } }
  await using server = await startServerProcess({ ...options, argv: [CLI] })
  const condenser = { kind: 'LLMSummarizingCondenser', llm: llmOf(model) }
  const begin = (text: string, work: string) =>
    start(server, starting(model, dir.file(work), { initial_message: message(text), agent: { condenser } }))
  const working = await begin('run', 'work')
  const begun = dir.file('work', 'begun')
  await until(async () => (await textOf(begun)) === 'x\n')
  const condensing = await begin('hello', 'other')
  await condensing.is('finished')
  const condensed = condensing.post('condense')
  await until(() => model.requests.some(({ view }) => asksForSummary(view)))
  const slow = connect(Number(new URL(server.url).port), '127.0.0.1')
  slow.on('error', () => undefined)
  slow.write(
    `POST /api/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Session-API-Key: ${TEST_KEY}\r\nContent-Length: 99\r\n\r\n{`,
  )
  {
    await using _stopped = await stopRunner(options.dataDir)
    const asked = performance.now()
    server.process.kill('SIGTERM')
    await server.exited
    expect(performance.now() - asked).toBeLessThan(10_000)
    expect(server.process.exitCode).toBe(0)
    expect((await condensed).status, 'a request that waits for a run is answered').toBe(503)
  }
  slow.destroy()
  await using next = await startServerProcess(options)
  await until(
    async () => (await next.call('GET', `/api/conversations/${working.id}`)).body.execution_status === 'running',
  )
  await writeFile(dir.file('work', 'go'), '')
  await until(
    async () => (await next.call('GET', `/api/conversations/${working.id}`)).body.execution_status === 'finished',
  )
  expect(await textOf(begun)).toBe('x\n')
}, 120_000)

test.concurrent('an interrupt is answered within five seconds while the runner is stopped, and ends the command when the runner continues', async ({
  expect,
}) => {
  await using running = await startCommand()
  const { server, it } = running
  {
    await using _stopped = await stopRunner(server.dir.file('data'))
    const asked = performance.now()
    expect((await it.post('interrupt')).status).toBe(200)
    expect(performance.now() - asked).toBeLessThan(5_000)
    expect((await it.info()).execution_status).toBe('paused')
  }
  await until(async () => (await processesOf(server.dir.path, 'sleep 0.05')).length === 0)
  await it.post('run')
  await it.is('finished')
  expect(await textOf(server.dir.file('work', 'begun'))).toBe('x\n')
}, 60_000)

test.concurrent('a stop is answered within five seconds while the runner is stopped; its processes end when the runner continues, and the next start follows', async ({
  expect,
}) => {
  await using running = await startCommand()
  const { server, it } = running
  const commands = () => processesOf(server.dir.path, 'sleep 0.05')
  const order: string[] = []
  let started: Promise<{ status: number }>
  {
    await using _stopped = await stopRunner(server.dir.file('data'))
    const asked = performance.now()
    expect((await it.post('stop')).status).toBe(200)
    expect(performance.now() - asked).toBeLessThan(5_000)
    started = it.post('start').finally(() => order.push('started'))
    expect((await it.info()).execution_status).toBe('paused')
    order.push('runner continues')
  }
  expect((await started).status).toBe(200)
  expect(order).toEqual(['runner continues', 'started'])
  await until(async () => (await commands()).length === 0)
  expect((await it.say('hello')).status).toBe(200)
  await it.is('finished')
  expect(await textOf(server.dir.file('work', 'begun'))).toBe('x\n')
}, 60_000)

test.concurrent('a deletion is answered within five seconds while the runner is stopped, and the rest is released when the runner continues', async ({
  expect,
}) => {
  await using running = await startCommand()
  const { server, it } = running
  const folder = server.dir.file('data', 'conversations', it.id)
  await mkdir(folder, { recursive: true })
  const commands = () => processesOf(server.dir.path, 'sleep 0.05')
  {
    await using _stopped = await stopRunner(server.dir.file('data'))
    const asked = performance.now()
    const { status, body } = await server.call('DELETE', `/api/conversations/${it.id}`)
    expect(performance.now() - asked).toBeLessThan(5_000)
    expect([status, body.workspace]).toMatchObject([200, { outcome: 'kept', reason: 'failed' }])
    expect((await server.call('GET', `/api/conversations/${it.id}`)).status).toBe(404)
    expect(existsSync(folder)).toBe(true)
  }
  await until(async () => (await commands()).length === 0)
  await until(() => !existsSync(folder))
}, 60_000)
