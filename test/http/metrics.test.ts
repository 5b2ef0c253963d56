/** The metrics of a server over HTTP. Source: docs/operations.md, Metrics. */
import { describe, expect, test } from 'vitest'
import { readConfig, startServer } from '../../packages/server/src/index.ts'
import { command } from '../../packages/server/testing/instructed-model.ts'
import { KEYS, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { readExposition, sampleOf } from '../../packages/server/testing/prometheus.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

/** A server on which one conversation has run one command and finished. */
async function afterOneTurn() {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(
    await startScriptedModel({
      respond: ({ view }) => (view.assistantTurns === 0 ? command('echo one') : { text: 'It is done.' }),
    }),
  )
  const server = stack.use(
    await startTestServer({
      PARLEY_LLM_MODEL: 'openai/gpt-5.5',
      PARLEY_LLM_API_KEY: 'k',
      PARLEY_LLM_BASE_URL: `${model.url}/v1`,
    }),
  )
  const { body } = await server.call('POST', '/api/conversations', { initial_user_msg: 'a-word-of-the-user' })
  const id = body.conversation_id as string
  await until(
    async () => (await server.call('GET', `/api/conversations/${id}/status`)).body.execution_status === 'finished',
  )
  const open = stack.move()
  return { id, server, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

test('the metrics count the turn, the steps, the requests, the commands and the calls of the store of a conversation', async () => {
  await using at = await afterOneTurn()
  const { status, body } = await at.server.call('GET', '/metrics')
  expect(status).toBe(200)
  const families = readExposition(body)
  const seen = (...of: [name: string, labels?: Record<string, string>]) => sampleOf(families, ...of)
  expect(seen('parley_turns_total', { end: 'finished' })).toBe(1)
  expect(seen('parley_steps_total')).toBe(2)
  expect(seen('parley_model_request_seconds_count', { provider: 'openai', outcome: 'ok' })).toBeGreaterThanOrEqual(2)
  expect(seen('parley_tool_call_seconds_count', { tool: 'terminal', outcome: 'ok' })).toBe(1)
  expect(seen('parley_store_call_seconds_count', { call: 'conversations.append' })).toBeGreaterThanOrEqual(2)
  expect(seen('parley_live_conversations')).toBe(1)
  expect(seen('parley_webhook_queue', { status: 'pending' })).toBe(0)
  expect(seen('process_resident_memory_bytes')).toBeGreaterThan(1e7)
  expect(Math.abs(seen('process_start_time_seconds')! - Date.now() / 1000)).toBeLessThan(86_400)
})

test('no metric has the id of a conversation, a text of its user, a path or a key', async () => {
  await using at = await afterOneTurn()
  const { body } = await at.server.call('GET', '/metrics')
  for (const foreign of [at.id, at.id.replaceAll('-', ''), 'a-word-of-the-user', at.server.dir.path, 'default', 'echo'])
    expect(body).not.toContain(foreign)
})

test('a request that a model refuses is counted with its code', async () => {
  await using model = await startScriptedModel({
    respond: () => ({ status: 401, body: { error: { message: 'no' } } }) as never,
  })
  await using server = await startTestServer({
    PARLEY_LLM_MODEL: 'openai/gpt-5.5',
    PARLEY_LLM_API_KEY: 'k',
    PARLEY_LLM_BASE_URL: `${model.url}/v1`,
  })
  await server.call('POST', '/api/conversations', { initial_user_msg: 'go' })
  const families = async () => readExposition((await server.call('GET', '/metrics')).body)
  await until(async () => sampleOf(await families(), 'parley_turns_total', { end: 'error' }) === 1)
  const errors = (await families()).find(({ name }) => name === 'parley_model_errors_total')!
  expect(errors.samples[0]).toMatchObject({ labels: { provider: 'openai' } })
})

test('the metrics need the key of an administrator', async () => {
  await using server = await startKeyedServer()
  const status = async (key?: string) => (await server.call('GET', '/metrics', undefined, { key: key ?? '' })).status
  expect(await status()).toBe(401)
  expect(await status(KEYS.ann)).toBe(403)
  expect(await status(KEYS.reader)).toBe(403)
})

describe('a port for the metrics', () => {
  async function start(env: Record<string, string>) {
    await using stack = new AsyncDisposableStack()
    const dir = stack.use(await tempDir())
    const { config } = readConfig({
      flags: { 'data-dir': dir.file('data'), port: '0' },
      env: { PARLEY_ALLOW_ROOT: 'true', PARLEY_LOG_LEVEL: 'silent', PARLEY_SANDBOX: 'off', ...env },
      cwd: dir.path,
      home: dir.path,
    })
    const { metricsUrl } = stack.use(await startServer(config))
    const open = stack.move()
    return { metricsUrl, [Symbol.asyncDispose]: () => open.disposeAsync() }
  }

  test('answers without a key, and serves nothing else', async () => {
    await using server = await start({ PARLEY_METRICS_PORT: '0' })
    const get = (path: string, init?: RequestInit) => fetch(`${server.metricsUrl}${path}`, init)
    const metrics = await get('/metrics')
    expect([metrics.status, metrics.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    expect(metrics.headers.get('access-control-allow-origin')).toBeNull()
    readExposition(await metrics.text())
    expect((await get('/metrics', { method: 'POST', body: 'x' })).status).toBe(405)
    for (const path of ['/', '/api/conversations', '/server_info', '/metrics/', '/%2e%2e/etc/passwd'])
      expect((await get(path)).status, path).toBe(404)
  })

  test('is on this machine only, unless an address is set', async () => {
    await using server = await start({ PARLEY_METRICS_PORT: '0' })
    expect(server.metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    await using other = await start({ PARLEY_METRICS_PORT: '0', PARLEY_METRICS_HOST: '0.0.0.0' })
    expect(other.metricsUrl).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/)
  })

  test('is not opened without the setting', async () => {
    await using server = await start({})
    expect(server.metricsUrl).toBeNull()
  })
})
