import { testFetch } from '../../testing/requests.ts'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { asEventId, textContent, VendorAnalyzer, type SecurityRisk, type TreeEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { AnalysisContext, AnalyzedCall } from './analyzer.ts'
import { NO_VENDOR_ACCESS, openVendor, type VendorAccess } from './vendor.ts'
import { vendorMessages } from './vendor-messages.ts'
import { verifies } from '../../../../test/verifies.ts'

const never = new AbortController().signal
const nothing: AnalysisContext = { history: [], earlier: [], working_dir: null }
const call: AnalyzedCall = {
  action_id: asEventId('a'),
  tool_name: 'terminal',
  action: { kind: 'TerminalAction', command: 'ls', is_input: false, timeout: null, reset: false },
  tool_call: { id: 'call_9', name: 'terminal', arguments: '{"command":"ls","security_risk":"LOW","summary":"looks"}' },
  predicted_risk: 'LOW',
  summary: null,
  thought: 'I look around',
  reasoning: 'SECRET',
  is_read_only: false,
}

type MonitorRequest = {
  headers: IncomingMessage['headers']
  body: { messages: { role: string; content: string }[]; policy_id?: string }
}
type Monitor = AsyncDisposable & { url: string; requests: MonitorRequest[] }

/** Starts a local monitor with the given answers. */
async function startMonitor(answer: (response: ServerResponse) => void): Promise<Monitor> {
  const requests: MonitorRequest[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      if (text !== '') requests.push({ headers: request.headers, body: JSON.parse(text) as MonitorRequest['body'] })
      answer(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const json = (value: unknown) => (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))

async function ask(
  monitor: Monitor,
  record: object = {},
  access: VendorAccess = NO_VENDOR_ACCESS,
  signal = never,
): Promise<SecurityRisk> {
  const config = VendorAnalyzer.parse({ api_url: monitor.url, api_key: 'key-of-the-record', ...record })
  return (await openVendor(config, { vendor: access, fetchVendor: testFetch }).assess(call, nothing, signal)).risk
}

test.each<[unknown, SecurityRisk]>([
  [{ violation: 0 }, 'LOW'],
  [{ violation: 0.3 }, 'LOW'],
  [{ violation: 0.300001 }, 'MEDIUM'],
  [{ violation: 0.7 }, 'MEDIUM'],
  [{ violation: 0.700001 }, 'HIGH'],
  [{ violation: 1 }, 'HIGH'],
  [{ violation: 0, ipi: true }, 'HIGH'],
  [{ violation: 0, ipi: false }, 'LOW'],
  [{ violation: 0.1, more: { members: [] } }, 'LOW'],
  [{}, 'UNKNOWN'],
  [{ violation: null }, 'UNKNOWN'],
  [{ violation: '0.1' }, 'UNKNOWN'],
  [{ violation: true }, 'UNKNOWN'],
  [{ violation: -1 }, 'UNKNOWN'],
  [[0.1], 'UNKNOWN'],
  [null, 'UNKNOWN'],
  ['LOW', 'UNKNOWN'],
])('the monitor answer %j gives the risk %s', async (answer, risk) => {
  await using monitor = await startMonitor(json(answer))
  expect(await ask(monitor)).toBe(risk)
})

test.each<[string, (response: ServerResponse) => void]>([
  ['an answer that is not JSON', (response) => response.end('<html>')],
  ['a score of NaN', (response) => response.end('{"violation":NaN}')],
  ['an error status', (response) => response.writeHead(500).end('{"violation":0}')],
  ['the status 201', (response) => response.writeHead(201).end('{"violation":0}')],
  ['a redirection', (response) => response.writeHead(302, { location: '/elsewhere' }).end()],
  ['a broken connection', (response) => response.destroy()],
  [
    'an incomplete answer',
    (response) => response.writeHead(200, { 'content-length': '100' }).write('{"viol', () => response.destroy()),
  ],
  ['an answer that is too long', (response) => response.end(`{"violation":0,"x":"${'x'.repeat(2_000_000)}"}`)],
])('a monitor with %s gives the risk UNKNOWN', async (_, answer) => {
  await using monitor = await startMonitor(answer)
  expect(await ask(monitor)).toBe('UNKNOWN')
})

verifies(
  'seed.limits.vendor.timeout',
  'a monitor that hangs before or during its answer gives UNKNOWN after the timeout',
  async () => {
    await using silent = await startMonitor(() => undefined)
    await using slow = await startMonitor((response) => response.writeHead(200).write('{"violation":'))
    expect(await Promise.all([ask(silent, { timeout: 0.2 }), ask(slow, { timeout: 0.2 })])).toEqual([
      'UNKNOWN',
      'UNKNOWN',
    ])
  },
)

verifies(
  [
    'seed.analyzer.vendor.score',
    'seed.analyzer.vendor.low_threshold.maps',
    'seed.analyzer.vendor.medium_threshold.maps',
    'seed.analyzer.vendor.high',
    'seed.limits.vendor.thresholds',
  ],
  'the thresholds of the record map scores to risks, each inclusive',
  async () => {
    const record = { low_threshold: 0.1, medium_threshold: 0.2 }
    for (const [violation, risk] of [
      [0.1, 'LOW'],
      [0.11, 'MEDIUM'],
      [0.2, 'MEDIUM'],
      [0.21, 'HIGH'],
    ] as const) {
      await using monitor = await startMonitor(json({ violation }))
      expect(await ask(monitor, record)).toBe(risk)
    }
  },
)

test('an abort ends a monitor request at once', async () => {
  await using silent = await startMonitor(() => undefined)
  const controller = new AbortController()
  const pending = ask(silent, {}, NO_VENDOR_ACCESS, controller.signal)
  controller.abort(new Error('interrupted'))
  await expect(pending).rejects.toThrow('interrupted')
})

test('an unreachable monitor and a missing key give UNKNOWN, and without a key nothing is sent', async () => {
  await using monitor = await startMonitor(json({ violation: 0 }))
  expect(await ask(monitor, { api_key: null })).toBe('UNKNOWN')
  expect(monitor.requests).toEqual([])
  const stopped = await startMonitor(json({}))
  await stopped[Symbol.asyncDispose]()
  expect(await ask(stopped)).toBe('UNKNOWN')
}, 10_000)

verifies(
  ['seed.analyzer.vendor.api_key.environment', 'seed.analyzer.vendor.policy_id.environment'],
  'the key of the environment has precedence over the one of the record and is sent only to its own address',
  async () => {
    await using monitor = await startMonitor(json({ violation: 0 }))
    const access: VendorAccess = {
      apiKey: 'key-of-the-service',
      policyId: 'policy-of-the-service',
      apiUrl: monitor.url,
    }
    await ask(monitor, { policy_id: 'p' }, access)
    await ask(monitor, { policy_id: 'p' }, { ...access, apiUrl: null })
    await ask(monitor, { api_key: null }, { ...access, apiUrl: 'https://vendor.example' })
    await ask(monitor)
    expect(monitor.requests.map(({ headers, body }) => [headers.authorization, body.policy_id])).toEqual([
      ['Bearer key-of-the-service', 'policy-of-the-service'],
      ['Bearer key-of-the-record', 'p'],
      ['Bearer key-of-the-record', undefined],
    ])
  },
)

test('a monitor address that is invalid is refused', () => {
  for (const api_url of ['not an address', 'file:///etc/passwd', '']) {
    expect(() =>
      openVendor(VendorAnalyzer.parse({ api_url }), { vendor: NO_VENDOR_ACCESS, fetchVendor: testFetch }),
    ).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  }
})

const base = (n: number) => ({ id: asEventId(`e${n}`), timestamp: '2026-01-01T00:00:00.000000', parent_id: null })
const message = (n: number, source: 'user' | 'agent' | 'environment', text: string): TreeEvent => ({
  ...base(n),
  kind: 'MessageEvent',
  source,
  llm_message: {
    role: source === 'agent' ? 'assistant' : 'user',
    content: [textContent(text), { type: 'image', image_urls: ['data:x'], cache_prompt: false }],
    tool_calls: null,
    tool_call_id: null,
    name: null,
    reasoning_content: null,
    thinking_blocks: [],
    responses_reasoning_item: null,
  },
  llm_response_id: null,
  activated_skills: [],
  extended_content: [],
  sender: null,
  critic_result: null,
})
const result = (n: number, text: string): TreeEvent => ({
  ...base(n),
  kind: 'AgentErrorEvent',
  source: 'agent',
  tool_name: 'terminal',
  tool_call_id: `call_${n}`,
  error: text,
  classification: { kind: 'internal', retryable: false, user_action: 'none', error_id: null },
})
const limits = { history_limit: 20, max_message_chars: 30_000 }

verifies(
  'seed.analyzer.vendor.sends',
  'a monitor gets the conversation as chat messages, without the risk estimate of the model (F26)',
  () => {
    const history = [
      message(1, 'user', 'do it'),
      message(2, 'environment', 'a notice'),
      message(3, 'agent', 'yes'),
      result(4, 'failed'),
    ]
    const { messages, isCut } = vendorMessages(call, { history, earlier: [] }, limits)
    expect(isCut).toBe(false)
    expect(messages).toEqual([
      { role: 'user', content: 'do it' },
      { role: 'assistant', content: 'yes' },
      { role: 'tool', tool_call_id: 'call_4', content: 'failed' },
      {
        role: 'assistant',
        content: 'I look around',
        tool_calls: [
          {
            id: 'call_9',
            type: 'function',
            function: { name: 'terminal', arguments: '{"command":"ls","summary":"looks"}' },
          },
        ],
      },
    ])
  },
)

verifies(
  ['seed.analyzer.vendor.history_limit.meaning', 'seed.limits.vendor.history_limit'],
  'history_limit is the number of events before the call, and 0 or less means none',
  () => {
    const history = Array.from({ length: 50 }, (_, n) => message(n, 'user', `m${n}`))
    const count = (history_limit: number) =>
      vendorMessages(call, { history, earlier: [call] }, { ...limits, history_limit }).messages.length
    expect([count(20), count(1), count(0), count(-5), count(1000)]).toEqual([21, 2, 1, 1, 52])
  },
)

verifies(
  'seed.limits.vendor.max_message_chars',
  'max_message_chars keeps the newest messages, and a call that does not fit is never rated LOW',
  async () => {
    const history = Array.from({ length: 10 }, (_, n) => message(n, 'user', `${n}`.repeat(100)))
    const { messages, isCut } = vendorMessages(call, { history, earlier: [] }, { ...limits, max_message_chars: 300 })
    const size = messages.reduce(
      (sum, each) =>
        sum + each.content.length + ('tool_calls' in each ? each.tool_calls![0]!.function.arguments.length : 0),
      0,
    )
    expect([size, isCut, messages.at(-2)?.content, messages.length]).toEqual([300, false, '9'.repeat(100), 4])
    expect(vendorMessages(call, nothing, { ...limits, max_message_chars: 10 })).toMatchObject({
      isCut: true,
      messages: [{ tool_calls: [{ function: { arguments: '{"command"' } }] }],
    })
    await using monitor = await startMonitor(json({ violation: 0 }))
    expect(await ask(monitor, { max_message_chars: 10 })).toBe('UNKNOWN')
    expect(await ask(monitor, { max_message_chars: 0 })).toBe('UNKNOWN')
  },
)
