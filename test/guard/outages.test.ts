import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  startScriptedModel,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import { asked, ofKind, startRunning, type Running } from './running.ts'
import { analyzersAt, respond, RISKY, RISKY_ONLY, startMonitor, TAME, waitingOn, type Monitor } from './world.ts'

let server: Running
let monitor: Monitor
let guardrail: ScriptedModel
/** What the guardrail model says. */
let verdict: ScriptedAnswer = { text: 'RISK: HIGH' }

beforeAll(async () => {
  server = await startRunning(respond)
  monitor = await startMonitor()
  guardrail = await startScriptedModel({ respond: () => verdict })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await monitor[Symbol.asyncDispose]()
  await guardrail[Symbol.asyncDispose]()
})

const { vendor, guard } = analyzersAt(() => ({ monitor: monitor.url, guardrail: guardrail.url }))
const waiting = (analyzer: unknown, policy: unknown, command: string) => waitingOn(server, analyzer, policy, command)
const isDone = (id: string): boolean => existsSync(join(server.work(id), 'proof'))

describe('what judges and can not', () => {
  const nonsense: [string, () => unknown, () => void][] = [
    ['a monitor that hangs', vendor, () => (monitor.answer = () => undefined)],
    ['a monitor that answers nonsense', vendor, () => (monitor.answer = (response) => response.end('<html>'))],
    ['a monitor that is broken', vendor, () => (monitor.answer = (response) => response.destroy())],
    ['a guardrail that answers nonsense', guard, () => (verdict = { text: 'It depends. RISK: LOW if you ask me' })],
    ['a guardrail that contradicts itself', guard, () => (verdict = { text: 'RISK: LOW\nRISK: HIGH' })],
    ['a guardrail that is down', guard, () => (verdict = { status: 500, error: 'down' })],
    ['a guardrail that says nothing', guard, () => (verdict = { text: '' })],
  ]
  test.each(nonsense)('%s: UNKNOWN, in bounded time, and a person is asked', async (_what, analyzer, arrange) => {
    arrange()
    try {
      const from = performance.now()
      const id = await waiting(analyzer(), RISKY_ONLY, TAME)
      expect(performance.now() - from).toBeLessThan(10_000)
      expect(Object.values(asked(await server.events(id)))).toEqual(['UNKNOWN'])
      // It does not spoil what others know.
      const both = { kind: 'EnsembleSecurityAnalyzer', analyzers: [analyzer(), { kind: 'PolicyRailSecurityAnalyzer' }] }
      const fine = await server.start({ security_analyzer: both, confirmation_policy: RISKY_ONLY })
      await server.say(fine, TAME)
      await server.until(fine, 'finished')
    } finally {
      monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
      verdict = { text: 'RISK: HIGH' }
    }
  })

  test('an interrupt does not wait for a monitor that hangs, and nothing is executed', async () => {
    monitor.answer = () => undefined
    const before = monitor.hits
    const id = await server.start({ security_analyzer: { ...vendor(), timeout: 60 }, confirmation_policy: RISKY_ONLY })
    await server.say(id, RISKY)
    while (monitor.hits === before) await new Promise((resolve) => setTimeout(resolve, 5))
    const from = performance.now()
    await server.call('POST', `/api/conversations/${id}/interrupt`)
    expect((await server.until(id, 'paused')).execution_status).toBe('paused')
    expect(performance.now() - from).toBeLessThan(3000)
    expect(isDone(id)).toBe(false)
    monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
  })

  test('a catastrophic expression is judged in no time, and holds up nobody', async () => {
    const analyzer = { kind: 'PatternSecurityAnalyzer', high_patterns: [['(a+)+$', 'never ends', 'evil']] }
    const id = await server.start({ security_analyzer: analyzer, confirmation_policy: RISKY_ONLY })
    const from = performance.now()
    await server.say(id, `: ${'a'.repeat(20_000)}!`)
    await server.until(id, 'finished')
    expect(performance.now() - from).toBeLessThan(10_000)
    expect(ofKind(await server.events(id), 'ActionEvent')[0].security_risk).toBe('LOW')
  })

  test('lists and addresses that can not be used are refused with 422, at the start and later', async () => {
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
