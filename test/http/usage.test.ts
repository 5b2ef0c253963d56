import { afterAll, beforeAll, expect, test } from 'vitest'
import { start } from '../../packages/server/testing/conversations.ts'
import { type Bench, startBench } from '../../packages/server/testing/two-user-server.ts'
import { finish, parent, PRICE, run, startScripts, task } from '../../packages/server/testing/sub-agent-scripts.ts'
import type { ScriptedModel } from '../../packages/server/testing/scripted-model.ts'

const COUNTS = [
  'prompt_tokens',
  'completion_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
] as const

let server: Bench
let model: ScriptedModel
let it: Awaited<ReturnType<typeof start>>

beforeAll(async () => {
  server = await startBench()
  const usage = { input: 1000, output: 0, cacheRead: 400 }
  model = await startScripts({
    parent: [{ ...run('true'), usage }, task('[child] look around'), finish('done')],
    child: [run('true'), finish('seen')],
  })
  it = await start(server, parent(model, server.dir.file('work')))
  await it.is('finished', 'error')
}, 60_000)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

const usageOf = async (query = '') => (await server.call('GET', `/api/conversations/${it.id}/usage?${query}`)).body

/** Sums of some calls, as totals have them. */
const summed = (calls: any[]) => ({
  cost: calls.reduce((sum, { cost }) => sum + cost, 0),
  ...Object.fromEntries(COUNTS.map((count) => [count, calls.reduce((sum, { tokens }) => sum + tokens[count], 0)])),
})

test('the usage of a conversation has the totals of its stats, and its calls add up to them', async () => {
  const { totals, calls, next_before_seq } = await usageOf()
  const { usage_to_metrics } = (await it.info()).stats
  expect(next_before_seq).toBeNull()
  expect(Object.keys(totals).toSorted()).toEqual(Object.keys(usage_to_metrics).toSorted())
  for (const [usageId, total] of Object.entries<any>(totals)) {
    expect(usage_to_metrics[usageId]).toMatchObject(total)
    const of = summed(calls.filter((call: any) => call.usage_id === usageId))
    expect(of.cost).toBeCloseTo(total.accumulated_cost, 9)
    for (const count of COUNTS)
      expect([count, (of as any)[count]]).toEqual([count, total.accumulated_token_usage[count]])
  }
})

test('the sums by model count every call, and the cached tokens', async () => {
  const { models, calls } = await usageOf()
  expect(models).toHaveLength(1)
  expect(models[0]).toMatchObject({ model: 'openai/scripted', calls: calls.length, unpriced_calls: 0 })
  const { cost, ...tokens } = summed(calls)
  expect(models[0].tokens).toEqual(tokens)
  expect(models[0].tokens.cache_read_tokens).toBe(400)
  expect(models[0].cost).toBeCloseTo(cost, 9)
})

test('what a sub-agent uses is a record of its parent without a latency', async () => {
  const { calls } = await usageOf()
  const [ofChild, ...more] = calls.filter(({ usage_id }: any) => usage_id.startsWith('task:'))
  expect(ofChild).toMatchObject({ latency: null })
  expect([ofChild, ...more].reduce((sum, { cost }) => sum + cost, 0)).toBeCloseTo(2 * PRICE, 9)
  const own = calls.filter(({ usage_id }: any) => !usage_id.startsWith('task:'))
  expect(own.map(({ latency }: any) => latency > 0)).toEqual(own.map(() => true))
})

test('pages of calls are newest first, and together all of them once', async () => {
  const whole = (await usageOf()).calls
  const seen: any[] = []
  let before: number | null = Number.MAX_SAFE_INTEGER
  while (before !== null) {
    const page: any = await usageOf(`limit=2&before_seq=${before}`)
    expect([page.calls.length <= 2, page.models]).toEqual([true, null])
    seen.push(...page.calls)
    before = page.next_before_seq
  }
  expect(seen).toEqual(whole)
  const seqs = seen.map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.toSorted((a, b) => b - a))
  expect(await usageOf('before_seq=1')).toMatchObject({ calls: [], next_before_seq: null })
})

test('a conversation without a call has an empty usage', async () => {
  const workspace = { working_dir: server.dir.file('other') }
  const agent = { kind: 'Agent', llm: { model: 'scripted/none' } }
  const { id } = (await server.call('POST', '/api/conversations', { workspace, agent })).body
  expect((await server.call('GET', `/api/conversations/${id}/usage`)).body).toEqual({
    totals: {},
    models: [],
    calls: [],
    next_before_seq: null,
  })
})

test('the usage of a conversation of another user is not found, and wrong members of a query are named', async () => {
  const path = `/api/conversations/${it.id}/usage`
  expect((await server.call('GET', path, undefined, server.bob)).status).toBe(404)
  expect((await server.call('GET', path, undefined, server.reader)).status).toBe(200)
  expect((await server.call('GET', path, undefined, { 'X-Session-API-Key': 'wrong' })).status).toBe(401)
  const { status, body } = await server.call('GET', `${path}?limit=501&before_seq=0`)
  expect([status, body.detail.map(({ loc }: any) => loc.join('.'))]).toEqual([422, ['query.before_seq', 'query.limit']])
})
