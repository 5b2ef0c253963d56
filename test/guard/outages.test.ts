import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  startScriptedModel,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import { asked, ofKind, startRunning, type Running } from '../../packages/server/testing/restartable-server.ts'
import {
  analyzerConfigs,
  runMessageAsCommand,
  RISKY,
  RISKY_ONLY,
  startMonitor,
  HARMLESS,
  startWaiting,
  type Monitor,
} from '../../packages/server/testing/guarded-conversations.ts'

let server: Running
let monitor: Monitor
let guardrail: ScriptedModel
/** Answer of the guardrail model. */
let guardrailAnswer: ScriptedAnswer = { text: 'RISK: HIGH' }

beforeAll(async () => {
  server = await startRunning(runMessageAsCommand)
  monitor = await startMonitor()
  guardrail = await startScriptedModel({ respond: () => guardrailAnswer })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await monitor[Symbol.asyncDispose]()
  await guardrail[Symbol.asyncDispose]()
})

const { vendor, guard } = analyzerConfigs(() => ({ monitor: monitor.url, guardrail: guardrail.url }))
const waiting = (analyzer: unknown, policy: unknown, command: string) => startWaiting(server, analyzer, policy, command)
const isDone = (id: string): boolean => existsSync(join(server.work(id), 'proof'))

/** Peak memory of a server process in MB. */
const peakMb = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

test('concurrent failures of all analyzers and hooks delay no other conversation and use bounded memory', async () => {
  const hookMarker = 'event of a conversation between people and an agent'
  await using own = await startRunning(
    (request) => (request.text.includes(hookMarker) ? { hang: 'headers' } : runMessageAsCommand(request)),
    {},
    'process',
  )
  monitor.answer = () => undefined
  guardrailAnswer = { text: 'It depends.' }
  const hooked = (hook: object) => ({ hook_config: { pre_tool_use: [{ matcher: '*', hooks: [hook] }] } })
  const withAnalyzer = (security_analyzer: unknown) => ({ security_analyzer, confirmation_policy: RISKY_ONLY })
  const evil = { kind: 'PatternSecurityAnalyzer', high_patterns: [['(a+)+$', 'never ends', 'evil']] }
  try {
    const failing = [
      hooked({ command: 'sleep 4713', timeout: 600 }),
      hooked({ command: `head -c 1G /dev/zero | tr '\\0' x; sleep 4713`, timeout: 600 }),
      hooked({ type: 'prompt', prompt: 'Be good.', timeout: 600 }),
      withAnalyzer({ ...vendor(), timeout: 600 }),
      withAnalyzer(guard()),
      withAnalyzer(evil),
    ]
    const ids = await Promise.all(failing.map((members) => own.start(members)))
    const hits = monitor.hits
    for (const id of ids) await own.say(id, `: ${'a'.repeat(20_000)}!`)
    while (monitor.hits === hits) await new Promise((resolve) => setTimeout(resolve, 5))
    for (let turn = 0; turn < 5; turn++) {
      const other = await own.start(withAnalyzer({ kind: 'PolicyRailSecurityAnalyzer' }))
      await own.say(other, HARMLESS)
      await own.until(other, 'finished')
    }
    // Four wait for a hook or monitor that does not answer, one waits for a person, and one ran a harmless command.
    const stands = async (id: string) => (await own.call('GET', `/api/conversations/${id}`)).body.execution_status
    await own.until(ids[4]!, 'waiting_for_confirmation')
    await own.until(ids[5]!, 'finished')
    expect(await Promise.all(ids.slice(0, 4).map(stands))).toEqual(['running', 'running', 'running', 'running'])
    for (const id of ids.slice(0, 4)) await own.call('POST', `/api/conversations/${id}/interrupt`)
    for (const id of ids.slice(0, 4)) await own.until(id, 'paused')
    for (const id of ids.slice(0, 4)) expect(ofKind(await own.events(id), 'ObservationEvent')).toEqual([])
    expect(peakMb(own.pid())).toBeLessThan(500)
  } finally {
    monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
    guardrailAnswer = { text: 'RISK: HIGH' }
  }
}, 240_000)

describe('failing analyzers', () => {
  const nonsense: [string, () => unknown, () => void][] = [
    ['a monitor that hangs', () => ({ ...vendor(), timeout: 0.5 }), () => (monitor.answer = () => undefined)],
    ['a monitor that answers nonsense', vendor, () => (monitor.answer = (response) => response.end('<html>'))],
    ['a monitor that is broken', vendor, () => (monitor.answer = (response) => response.destroy())],
    [
      'a guardrail that answers nonsense',
      guard,
      () => (guardrailAnswer = { text: 'It depends. RISK: LOW if you ask me' }),
    ],
    ['a guardrail that contradicts itself', guard, () => (guardrailAnswer = { text: 'RISK: LOW\nRISK: HIGH' })],
    ['a guardrail that is down', guard, () => (guardrailAnswer = { status: 500, error: 'down' })],
    ['a guardrail that says nothing', guard, () => (guardrailAnswer = { text: '' })],
  ]
  test.each(nonsense)(
    '%s gives the risk UNKNOWN, and a person has to decide',
    async (_what, analyzer, arrange) => {
      arrange()
      try {
        const id = await waiting(analyzer(), RISKY_ONLY, HARMLESS)
        expect(Object.values(asked(await server.events(id)))).toEqual(['UNKNOWN'])
        // In an ensemble, the other analyzer decides.
        const both = {
          kind: 'EnsembleSecurityAnalyzer',
          analyzers: [analyzer(), { kind: 'PolicyRailSecurityAnalyzer' }],
        }
        const fine = await server.start({ security_analyzer: both, confirmation_policy: RISKY_ONLY })
        await server.say(fine, HARMLESS)
        await server.until(fine, 'finished')
      } finally {
        monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
        guardrailAnswer = { text: 'RISK: HIGH' }
      }
    },
    90_000,
  )

  test('an interrupt does not wait for a hanging monitor, and nothing is executed', async () => {
    monitor.answer = () => undefined
    const before = monitor.hits
    const id = await server.start({ security_analyzer: { ...vendor(), timeout: 300 }, confirmation_policy: RISKY_ONLY })
    await server.say(id, RISKY)
    while (monitor.hits === before) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.call('POST', `/api/conversations/${id}/interrupt`)
    expect((await server.until(id, 'paused')).execution_status).toBe('paused')
    expect(isDone(id)).toBe(false)
    monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
  }, 90_000)

  test('a catastrophic expression of a conversation is matched in linear time', async () => {
    const analyzer = { kind: 'PatternSecurityAnalyzer', high_patterns: [['(a+)+$', 'never ends', 'evil']] }
    const id = await server.start({ security_analyzer: analyzer, confirmation_policy: RISKY_ONLY })
    await server.say(id, `: ${'a'.repeat(20_000)}!`)
    await server.until(id, 'finished')
    expect(ofKind(await server.events(id), 'ActionEvent')[0].security_risk).toBe('LOW')
  }, 90_000)

  test('unusable lists and addresses are refused with 422, at the start and later', async () => {
    const id = await server.start()
    for (const [analyzer, words] of [
      [{ kind: 'PatternSecurityAnalyzer', high_patterns: [['(', 'x', 'y']] }, 'high_patterns[0]'],
      [{ kind: 'PatternSecurityAnalyzer', medium_patterns: [['(?=a)', 'x', 'y']] }, 'medium_patterns[0]'],
      [{ kind: 'PatternSecurityAnalyzer', high_patterns: [['a', 'b']] }, 'high_patterns'],
      [{ kind: 'VendorAnalyzer', api_url: 'nowhere' }, 'api_url'],
      [{ kind: 'VendorAnalyzer', low_threshold: 0.7, medium_threshold: 0.7 }, 'low_threshold'],
      [{ kind: 'EnsembleSecurityAnalyzer', analyzers: [] }, 'analyzers'],
      [{ kind: 'Oracle' }, 'Oracle'],
    ] as const) {
      const later = await server.call('POST', `/api/conversations/${id}/security_analyzer`, {
        security_analyzer: analyzer,
      })
      const first = await server.call('POST', '/api/conversations', {
        workspace: { working_dir: server.file('x') },
        agent: { kind: 'Agent', llm: { model: 'scripted/x' } },
        security_analyzer: analyzer,
      })
      for (const answer of [later, first]) {
        expect([analyzer, answer.status]).toEqual([analyzer, 422])
        expect(answer.text).toContain(words)
      }
    }
    expect((await server.call('GET', `/api/conversations/${id}`)).body.security_analyzer).toBeNull()
  })
})
