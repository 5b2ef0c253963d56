import { expect, test } from 'vitest'
import { readExposition, sampleOf } from '../../../testing/prometheus.ts'
import { METRICS } from './catalogue.ts'
import { Counter, exposition, Histogram } from './families.ts'
import { ServerMetrics, type GaugeReaders } from './server-metrics.ts'

const none = { held: 0, waiting: 0 }
const readers: GaugeReaders = {
  runs: () => ({ held: 3, waiting: 2 }),
  starts: () => none,
  queuedDeliveries: async () => ({ pending: 5, parked: 1 }),
  liveConversations: () => 7,
  sockets: () => 4,
}
const open = () => new ServerMetrics({ version: '0.1.0', tools: () => ['terminal', 'grep'] })

test('a text with reports of every kind is in the format of Prometheus and has every metric of the catalogue', async () => {
  using metrics = open()
  metrics.turnEnded('finished')
  metrics.stepped()
  metrics.modelRequest({ provider: 'anthropic', seconds: 1.5, error: null })
  metrics.modelRequest({ provider: 'openai', seconds: 0.2, error: 'LLMRateLimitError' })
  metrics.toolCall({ tool: 'terminal', seconds: 0.004, outcome: 'ok' })
  metrics.storeCall({ call: 'events.page', seconds: 0.0002, hasFailed: false })
  metrics.storeCall({ call: 'conversations.append', seconds: 400, hasFailed: true })
  metrics.appendRetried()
  metrics.forwarded('request', 'answered')
  metrics.claimed('orphan', 3)
  metrics.delivery('parked', 12)
  const families = readExposition(await metrics.text(readers))
  expect(families.map(({ name, type }) => [name, type])).toEqual(
    Object.values(METRICS).map(({ name, type }) => [name, type]),
  )
  const seen = (...of: [name: string, labels?: Record<string, string>]) => sampleOf(families, ...of)
  expect(seen('parley_turns_total', { end: 'finished' })).toBe(1)
  expect(seen('parley_model_request_seconds_count', { provider: 'anthropic', outcome: 'ok' })).toBe(1)
  expect(seen('parley_model_request_seconds_sum', { provider: 'anthropic', outcome: 'ok' })).toBe(1.5)
  expect(seen('parley_model_errors_total', { provider: 'openai', code: 'LLMRateLimitError' })).toBe(1)
  expect(seen('parley_store_call_seconds_bucket', { call: 'events.page', le: '0.001' })).toBe(1)
  expect(seen('parley_store_call_seconds_bucket', { call: 'conversations.append', le: '300' })).toBe(0)
  expect(seen('parley_store_call_seconds_bucket', { call: 'conversations.append', le: '+Inf' })).toBe(1)
  expect(seen('parley_store_errors_total', { call: 'conversations.append' })).toBe(1)
  expect(seen('parley_webhook_deliveries_total', { outcome: 'parked' })).toBe(12)
  expect(seen('parley_runs', { state: 'waiting' })).toBe(2)
  expect(seen('parley_webhook_queue', { status: 'pending' })).toBe(5)
  expect(seen('parley_live_conversations')).toBe(7)
})

test('a cancelled request to a model is no error', async () => {
  using metrics = open()
  metrics.modelRequest({ provider: 'openai', seconds: 1, error: 'cancelled' })
  const families = readExposition(await metrics.text(readers))
  expect(sampleOf(families, 'parley_model_request_seconds_count', { provider: 'openai', outcome: 'cancelled' })).toBe(1)
  expect(families.find(({ name }) => name === 'parley_model_errors_total')?.samples).toEqual([])
})

test('a tool that is no standard tool is counted as other, so that a name that a model or a server chose is no label', async () => {
  using metrics = open()
  for (const tool of ['mcp_delete_everything', 'terminal']) metrics.toolCall({ tool, seconds: 1, outcome: 'ok' })
  const text = await metrics.text(readers)
  expect(text).not.toContain('mcp_delete_everything')
  expect(sampleOf(readExposition(text), 'parley_tool_call_seconds_count', { tool: 'other', outcome: 'ok' })).toBe(1)
})

test('a value that cannot be read is left out, and the text has all others', async () => {
  using metrics = open()
  const queuedDeliveries = () => Promise.reject(new Error('the database is away'))
  const families = readExposition(await metrics.text({ ...readers, queuedDeliveries }))
  const names = families.map(({ name }) => name)
  expect(names).not.toContain('parley_webhook_queue')
  expect(names).toContain('parley_live_conversations')
})

test('readers that ask at the same time get the same text, and values are read once', async () => {
  using metrics = open()
  let reads = 0
  const queuedDeliveries = async () => {
    reads += 1
    return { pending: 0, parked: 0 }
  }
  const [one, two] = await Promise.all([1, 2].map(() => metrics.text({ ...readers, queuedDeliveries })))
  expect(one).toBe(two)
  expect(reads).toBe(1)
})

test('label values and help texts with quotes, backslashes and line ends are escaped', () => {
  const counter = new Counter({ name: 'c_total', type: 'counter', labels: ['l'], help: 'a \\ b\nc' })
  counter.add(1, 'say "hi"\\\n')
  const text = exposition([counter])
  expect(text).toBe('# HELP c_total a \\\\ b\\nc\n# TYPE c_total counter\nc_total{l="say \\"hi\\"\\\\\\n"} 1\n')
  expect(readExposition(text)).toHaveLength(1)
})

test('a duration at the bound of a bucket counts in that bucket', () => {
  const histogram = new Histogram({ name: 'h_seconds', type: 'histogram', labels: [], help: 'h' })
  histogram.observe(0.005)
  const families = readExposition(exposition([histogram]))
  expect(sampleOf(families, 'h_seconds_bucket', { le: '0.0025' })).toBe(0)
  expect(sampleOf(families, 'h_seconds_bucket', { le: '0.005' })).toBe(1)
})

test('the delay of the event loop is measured after the first text', async () => {
  using metrics = open()
  const count = async () =>
    sampleOf(readExposition(await metrics.text(readers)), 'parley_event_loop_delay_seconds_count') ?? 0
  expect(await count()).toBe(0)
  await expect.poll(count).toBeGreaterThan(0)
})
