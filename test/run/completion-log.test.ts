/** The completion log of a conversation. Source: docs/models.md, Completion log. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { startBench } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

type Members = Record<string, unknown>
type Request = Parameters<typeof starting>[2]

const LOGGED = { log_completions: true }

/** A conversation that logs, with members of its model. */
const logged = (server: TestServer, model: ScriptedModel, members: Members = {}, request: Request = {}) => {
  const agent = { llm: llmOf(model, { ...LOGGED, ...members }) }
  return start(server, starting(model, server.dir.file('work'), { agent, ...request }))
}

const pathOf = (id: string, filename = '') => `/api/conversations/${id}/completions${filename && `/${filename}`}`

async function listed(server: TestServer, id: string): Promise<{ filename: string; bytes: number }[]> {
  return (await server.call('GET', pathOf(id))).body.items
}

/** The contents of the files, oldest first. */
async function contents(server: TestServer, id: string): Promise<any[]> {
  const files = await listed(server, id)
  return Promise.all(files.map(async ({ filename }) => (await server.call('GET', pathOf(id, filename))).body))
}

test('each request is a file with its answer, usage, cost and latency, also a refused one and its repetition', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({
    answers: [
      { status: 429, error: 'slow down' },
      { text: 'done', usage: { input: 50, output: 7 } },
    ],
  })
  const prices = { input_cost_per_token: 0.01, output_cost_per_token: 0.1 }
  const llm = { ...prices, num_retries: 1, retry_min_wait: 0, retry_multiplier: 0 }
  const task = await logged(server, model, llm, { initial_message: message('count to three') })
  await task.is('finished')
  const [refused, answered, ...more] = await contents(server, task.id)
  expect(more).toEqual([])
  expect(refused).toMatchObject({ attempt: 1, answer: null, cost: null, url: `${model.url}/v1/chat/completions` })
  expect(refused.error).toMatchObject({
    code: 'LLMRateLimitError',
    status: 429,
    body: { error: { message: 'slow down' } },
  })
  expect(answered).toMatchObject({
    model: 'openai/scripted',
    attempt: 2,
    error: null,
    answer: { text: 'done', finish_reason: 'stop', tool_calls: [] },
    usage_summary: { prompt_tokens: 50, completion_tokens: 7 },
  })
  expect(answered.cost).toBeCloseTo(1.2)
  expect(answered.latency_sec).toBeGreaterThan(0)
  expect(answered.request).toEqual(model.requests[1]!.body)
  expect(JSON.stringify(answered)).not.toMatch(/authorization|bearer/i)
}, 60_000)

test('nothing is written for a model without log_completions', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const task = await logged(server, model, { log_completions: false }, { initial_message: message('go') })
  await task.is('finished')
  expect(await listed(server, task.id)).toEqual([])
  expect(existsSync(server.dir.file('data', 'conversations', task.id, 'completions'))).toBe(false)
}, 60_000)

test('secrets of the user, of the conversation and of the model are masked in what a model sends', async () => {
  await using server = await startTestServer()
  const [mine, own, key] = [canary('user_secret'), canary('conversation_secret'), canary('llm_key')]
  await using model = await startScriptedModel({
    answers: [
      { toolCalls: [{ name: 'terminal', arguments: { command: `echo ${mine}`, [own]: 1 } }] },
      { status: 400, error: `no such account: ${key} ${own}` },
    ],
  })
  await server.call('POST', '/api/secrets', { name: 'MINE', value: mine })
  const secrets = { OWN: { kind: 'StaticSecret', value: own } }
  const task = await logged(server, model, {}, { secrets, initial_message: message('go') })
  await task.is('error')
  const [called, refused] = await contents(server, task.id)
  expect(called.answer.tool_calls[0].arguments).toContain('<secret-hidden>')
  expect(refused.error.body.error.message).toBe('no such account: <secret-hidden> <secret-hidden>')
  const text = JSON.stringify([called, refused])
  for (const secret of [mine, own, key]) expect(text).not.toContain(secret.slice(0, 24))
}, 60_000)

test('clients of the agent-server API receive each completion as an event, which is in no page of events', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const task = await logged(server, model, { usage_id: 'agent' })
  const at = `${server.url.replace('http', 'ws')}/sockets/events/${task.id}`
  await using plain = openSocket(at, { 'x-session-api-key': KEY })
  await using numbered = openSocket(`${at}?after_seq=0`, { 'x-session-api-key': KEY })
  await Promise.all([plain.opened, numbered.opened])
  await Promise.all([plain.next(), numbered.next()])
  await task.say('go')
  const event = await plain.next(({ kind }) => kind === 'LLMCompletionLogEvent')
  const [file] = await listed(server, task.id)
  expect(event).toMatchObject({
    source: 'environment',
    filename: file!.filename,
    model_name: 'openai/scripted',
    usage_id: 'agent',
  })
  const { body } = await server.call('GET', pathOf(task.id, file!.filename))
  expect(JSON.parse(event.log_data)).toEqual(body)
  await task.is('finished')
  expect(await task.kinds('LLMCompletionLogEvent')).toEqual([])
  await until(() => JSON.stringify(numbered.frames).includes('"finished"'))
  expect(JSON.stringify(numbered.frames)).not.toContain('log_data')
}, 60_000)

test('an image is replaced by its size and digest', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({ answers: [{ text: 'a dot' }] })
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const bytes = Buffer.from(png, 'base64')
  const image = { type: 'image', image_urls: [`data:image/png;base64,${png}`] }
  const sent = { content: [{ type: 'text', text: 'what is it?' }, image] }
  const llm = { capability_overrides: { supports_vision: true } }
  const task = await logged(server, model, llm, { initial_message: sent })
  await task.is('finished')
  const [text] = (await contents(server, task.id)).map((content) => JSON.stringify(content.request))
  expect(model.requests[0]!.text).toContain(png)
  expect(text).not.toContain(png)
  const digest = createHash('sha256').update(bytes).digest('hex')
  expect(text).toContain(`[image/png: ${bytes.length} bytes, sha256 ${digest}]`)
}, 60_000)

test('the files count as stored bytes of the user, and go with the conversation', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const stored = async () => {
    const { quotas } = (await server.call('GET', '/api/quotas')).body
    return quotas.find(({ name }: { name: string }) => name === 'stored_bytes').used as number
  }
  const task = await logged(server, model, {}, { initial_message: message('go') })
  await task.is('finished')
  const [file] = await listed(server, task.id)
  const events = (await task.events()).length
  expect(events).toBeGreaterThan(0)
  const before = await stored()
  expect(before).toBeGreaterThan(file!.bytes)
  expect((await server.call('DELETE', `/api/conversations/${task.id}`)).status).toBe(200)
  expect(await stored()).toBe(0)
  await until(() => !existsSync(server.dir.file('data', 'conversations', task.id)))
}, 60_000)

test('another user finds no completions, a read-only key of the user reads them, and no name leads elsewhere', async () => {
  await using server = await startBench()
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const task = await logged(server, model, {}, { initial_message: message('go') })
  await task.is('finished')
  const [file] = await listed(server, task.id)
  const path = pathOf(task.id, file!.filename)
  const as = async (headers: Record<string, string>, of = path) =>
    (await server.call('GET', of, undefined, headers)).status
  expect([await as(server.bob), await as(server.bob, pathOf(task.id))]).toEqual([404, 404])
  expect([await as(server.reader), await as(server.reader, pathOf(task.id))]).toEqual([200, 200])
  await writeFile(server.dir.file('data', 'conversations', task.id, 'other.json'), '{}')
  for (const name of ['absent.json', '..%2Fother.json', '%2E%2E%2Fother.json', 'completions', '.json', '%00.json'])
    expect([name, await as({}, pathOf(task.id, name))]).toEqual([name, 404])
}, 60_000)

test('a conversation in memory only is sent to its clients and leaves no file', async () => {
  await using server = await startTestServer({ PARLEY_EPHEMERAL: 'true' })
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const task = await logged(server, model)
  const at = `${server.url.replace('http', 'ws')}/sockets/events/${task.id}`
  await using socket = openSocket(at, { 'x-session-api-key': KEY })
  await socket.opened
  await socket.next()
  await task.say('go')
  await socket.next(({ kind }) => kind === 'LLMCompletionLogEvent')
  await task.is('finished')
  expect(await listed(server, task.id)).toEqual([])
  const files = await readdir(server.dir.file('data'), { recursive: true })
  expect(files.filter((name) => name.includes('completions'))).toEqual([])
}, 60_000)

test('a run ends well when its completions cannot be written', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({
    answers: [{ toolCalls: [{ name: 'terminal', arguments: { command: 'echo on' } }] }, { text: 'done' }],
  })
  const task = await logged(server, model)
  const folder = server.dir.file('data', 'conversations', task.id)
  await mkdir(folder, { recursive: true })
  await writeFile(`${folder}/completions`, 'in the way')
  await task.say('go')
  await task.is('finished')
  expect((await server.call('GET', pathOf(task.id))).status).toBe(200)
  expect(await listed(server, task.id)).toEqual([])
}, 60_000)

test('the completions of a fallback are logged like those of the model that names it', async () => {
  await using server = await startTestServer()
  await using down = await startScriptedModel({ answers: [{ status: 503, error: 'busy' }] })
  await using model = await startScriptedModel({ answers: [{ text: 'done' }] })
  const spare = { ...llmOf(model), model: 'openai/spare', api_key: canary('profile_key') }
  await server.call('POST', '/api/profiles/spare', { llm: spare })
  const fallback_strategy = { fallback_llms: ['spare'] }
  const task = await logged(server, down, { fallback_strategy }, { initial_message: message('go') })
  await task.is('finished')
  const shown = (await contents(server, task.id)).map((content) => [content.model, content.error?.code ?? null])
  expect(shown).toEqual([
    ['openai/scripted', 'LLMServiceUnavailableError'],
    ['openai/spare', null],
  ])
}, 60_000)

test('a request that is interrupted is logged as such', async () => {
  await using server = await startTestServer()
  await using model = await startScriptedModel({ answers: [{ hang: 'headers' }] })
  const task = await logged(server, model, {}, { initial_message: message('go') })
  await until(() => model.requests.length === 1)
  await task.post('interrupt')
  await task.is('paused')
  await until(async () => (await listed(server, task.id)).length === 1)
  expect((await contents(server, task.id))[0].error.code).toBe('Interrupted')
}, 60_000)

test('requests of a scripted model are logged with their messages', async () => {
  await using server = await startTestServer()
  const scripts = server.dir.file('data', 'scripts')
  await mkdir(scripts, { recursive: true })
  await writeFile(`${scripts}/tiny.json`, JSON.stringify([{ text: 'done' }]))
  const llm = { model: 'scripted/tiny', ...LOGGED }
  const task = await start(server, {
    workspace: { working_dir: server.dir.file('work') },
    agent: { kind: 'Agent', llm, tools: [] },
    autotitle: false,
    initial_message: message('go'),
  })
  await task.is('finished')
  const [content] = await contents(server, task.id)
  expect(content).toMatchObject({ url: null, answer: { text: 'done' } })
  expect(JSON.stringify(content.request.messages)).toContain('"go"')
}, 60_000)
