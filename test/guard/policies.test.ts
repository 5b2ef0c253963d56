import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import {
  startScriptedModel,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../packages/server/testing/scripted-model.ts'
import { verifies } from '../verifies.ts'
import {
  asked,
  ofKind,
  startRunning,
  type Loose,
  type Running,
} from '../../packages/server/testing/restartable-server.ts'
import {
  analyzerConfigs,
  runMessageAsCommand,
  RISKY,
  RISKY_ONLY,
  startMonitor,
  HARMLESS,
  VENDOR_KEY,
  startWaiting,
  type Monitor,
} from '../../packages/server/testing/guarded-conversations.ts'
import { queryStore, storedText } from '../../packages/server/testing/chosen-store.ts'

/** Time limit of a test with many conversations on a busy machine. */
const BUSY_MS = 120_000

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

const { vendor, guard, ANALYZERS } = analyzerConfigs(() => ({ monitor: monitor.url, guardrail: guardrail.url }))
const respondTo = (id: string, accept: boolean, reason = 'not here', on = server) =>
  on.call('POST', `/api/conversations/${id}/events/respond_to_confirmation`, { accept, reason })
const isDone = (id: string, on = server): boolean => existsSync(join(on.work(id), 'proof'))

const waiting = (analyzer: unknown, policy: unknown = RISKY_ONLY, command = `HIGH ${RISKY}`, on = server) =>
  startWaiting(on, analyzer, policy, command)

describe.each(Object.entries(ANALYZERS))('confirmation with %s', (kind, analyzer) => {
  test(
    'a risky call waits and runs after an approval',
    async () => {
      const id = await waiting(analyzer())
      const events = await server.events(id)
      const [action] = ofKind(events, 'ActionEvent')
      expect(asked(events)).toEqual({ [action.id]: 'HIGH' })
      expect(action.security_risk, 'the risk is stored with the action (F43)').toBe('HIGH')
      expect((await server.call('GET', `/api/conversations/${id}`)).body.security_analyzer.kind).toBe(kind)
      expect(isDone(id)).toBe(false)
      expect((await respondTo(id, true)).status).toBe(200)
      await server.until(id, 'finished')
      expect(isDone(id)).toBe(true)
    },
    BUSY_MS,
  )

  test(
    'a risky call waits, and the model gets the reason of a rejection',
    async () => {
      const id = await waiting(analyzer())
      expect((await respondTo(id, false, `no: ${kind}`)).status).toBe(200)
      await server.until(id, 'idle')
      await server.call('POST', `/api/conversations/${id}/run`)
      await server.until(id, 'finished')
      expect(isDone(id)).toBe(false)
      expect(server.model.requests.some(({ text }) => text.includes(`Action rejected: no: ${kind}`))).toBe(true)
    },
    BUSY_MS,
  )
})

test(
  'a harmless call needs no approval with any analyzer',
  async () => {
    monitor.answer = (response) => response.writeHead(200).end('{"violation":0.1}')
    guardrailAnswer = { text: 'RISK: LOW\nfine' }
    try {
      for (const analyzer of Object.values(ANALYZERS)) {
        const id = await server.start({ security_analyzer: analyzer(), confirmation_policy: RISKY_ONLY })
        await server.say(id, HARMLESS)
        await server.until(id, 'finished')
        const events = await server.events(id)
        expect(ofKind(events, 'ActionEvent').map((event) => event.security_risk)).toEqual(['LOW'])
        expect(asked(events)).toEqual({})
        expect(existsSync(join(server.work(id), 'tame'))).toBe(true)
      }
    } finally {
      monitor.answer = (response) => response.writeHead(200).end('{"violation":0.9}')
      guardrailAnswer = { text: 'RISK: HIGH' }
    }
  },
  BUSY_MS,
)

verifies(
  [
    'seed.analyzer.assigns',
    'seed.confirmation-policy.risky.pauses',
    'seed.conversation-info.security_analyzer.meaning',
  ],
  'the analyzer determines the risk, and only the policy decides about approvals',
  async () => {
    const pattern = { kind: 'PatternSecurityAnalyzer' }
    const rows: [unknown, unknown, string, string, boolean][] = [
      [{ kind: 'AlwaysConfirm' }, pattern, HARMLESS, 'LOW', true],
      [{ kind: 'AlwaysConfirm' }, null, HARMLESS, 'UNKNOWN', true],
      [{ kind: 'NeverConfirm' }, pattern, RISKY, 'HIGH', false],
      [{ kind: 'NeverConfirm' }, null, HARMLESS, 'UNKNOWN', false],
      [RISKY_ONLY, null, HARMLESS, 'UNKNOWN', true],
      [{ ...RISKY_ONLY, confirm_unknown: false }, null, HARMLESS, 'UNKNOWN', false],
      [{ ...RISKY_ONLY, confirm_unknown: false }, pattern, 'false && $CMD -rf x', 'UNKNOWN', false],
      [RISKY_ONLY, pattern, 'false && curl https://x.sh', 'MEDIUM', false],
      [{ ...RISKY_ONLY, threshold: 'MEDIUM' }, pattern, 'false && curl https://x.sh', 'MEDIUM', true],
      [{ ...RISKY_ONLY, threshold: 'LOW' }, pattern, HARMLESS, 'LOW', true],
    ]
    for (const [policy, analyzer, command, risk, waits] of rows) {
      const id = await server.start({ security_analyzer: analyzer, confirmation_policy: policy })
      await server.say(id, command)
      const { execution_status } = await server.until(id, 'waiting_for_confirmation', 'finished')
      const [action] = ofKind(await server.events(id), 'ActionEvent')
      expect([policy, command, action.security_risk, execution_status]).toEqual([
        policy,
        command,
        risk,
        waits ? 'waiting_for_confirmation' : 'finished',
      ])
    }
  },
  BUSY_MS,
)

test(
  'a changed policy or analyzer applies to the next call',
  async () => {
    const id = await server.start({ confirmation_policy: { kind: 'NeverConfirm' } })
    await server.say(id, HARMLESS)
    await server.until(id, 'finished')
    expect(
      (await server.call('POST', `/api/conversations/${id}/security_analyzer`, { security_analyzer: vendor() })).status,
    ).toBe(200)
    expect(
      (await server.call('POST', `/api/conversations/${id}/confirmation_policy`, { policy: RISKY_ONLY })).status,
    ).toBe(200)
    await server.say(id, HARMLESS)
    await server.until(id, 'waiting_for_confirmation')
    await respondTo(id, false)
    await server.call('POST', `/api/conversations/${id}/security_analyzer`, {
      security_analyzer: { kind: 'PolicyRailSecurityAnalyzer' },
    })
    await server.say(id, HARMLESS)
    await server.until(id, 'finished')
    const risks = ofKind(await server.events(id), 'ActionEvent').map((event) => event.security_risk)
    expect(risks).toEqual(['UNKNOWN', 'HIGH', 'LOW'])
  },
  BUSY_MS,
)

test(
  'a fork inherits the policy and the analyzer with its key, and executes no waiting call (F04)',
  async () => {
    for (const analyzer of [vendor(), { kind: 'PatternSecurityAnalyzer' }]) {
      const id = await waiting(analyzer)
      const { body } = await server.call('POST', `/api/conversations/${id}/fork`, {})
      const fork = body.id as string
      expect(body).toMatchObject({
        execution_status: 'idle',
        confirmation_policy: RISKY_ONLY,
        security_analyzer: { kind: analyzer.kind },
      })
      await server.call('POST', `/api/conversations/${fork}/run`)
      await server.until(fork, 'finished', 'idle')
      expect(isDone(id)).toBe(false)
      await server.say(fork, `HIGH ${RISKY}`)
      await server.until(fork, 'waiting_for_confirmation')
      expect(Object.values(asked(await server.events(fork)))).toEqual(['HIGH'])
      expect(isDone(id)).toBe(false)
      await respondTo(fork, true)
      await server.until(fork, 'finished')
      expect(isDone(id), 'the fork works in the same folder').toBe(true)
      expect((await server.call('GET', `/api/conversations/${id}`)).body.execution_status).toBe(
        'waiting_for_confirmation',
      )
    }
  },
  BUSY_MS,
)

test(
  'a call still waits with the same risk after a restart, runs after an approval, and later calls are analysed (F03)',
  async () => {
    await using own = await startRunning(runMessageAsCommand)
    for (const analyzer of Object.values(ANALYZERS)) {
      const id = await waiting(analyzer(), RISKY_ONLY, `HIGH ${RISKY}`, own)
      const refused = await waiting(analyzer(), RISKY_ONLY, `HIGH ${RISKY}`, own)
      const before = asked(await own.events(id))
      await own.restart()
      expect((await own.call('GET', `/api/conversations/${id}`)).body.execution_status).toBe('waiting_for_confirmation')
      expect(asked(await own.events(id))).toEqual(before)
      expect(isDone(id, own)).toBe(false)
      await respondTo(id, true, '', own)
      await own.until(id, 'finished')
      expect(isDone(id, own)).toBe(true)
      await own.say(id, `HIGH ${RISKY}`)
      await own.until(id, 'waiting_for_confirmation')
      await respondTo(refused, false, 'no', own)
      await own.call('POST', `/api/conversations/${refused}/run`)
      await own.until(refused, 'finished')
      expect(isDone(refused, own)).toBe(false)
    }
  },
  2 * BUSY_MS,
)

test(
  'a conversation that was unloaded during an approval continues as before',
  async () => {
    await using own = await startRunning(runMessageAsCommand, { PARLEY_IDLE_UNLOAD_SECONDS: '0.05' })
    const epochOf = async (id: string): Promise<unknown> =>
      (await queryStore(own.file('data'), 'SELECT epoch FROM conversations WHERE id = ?', id))[0]?.['epoch']
    for (const analyzer of [vendor(), guard(), { kind: 'PatternSecurityAnalyzer' }, { kind: 'LLMSecurityAnalyzer' }]) {
      const [id, refused] = [
        await waiting(analyzer, RISKY_ONLY, `HIGH ${RISKY}`, own),
        await waiting(analyzer, RISKY_ONLY, `HIGH ${RISKY}`, own),
      ]
      const before = await epochOf(id)
      // A command without an effect loads an unloaded conversation; each load raises the epoch.
      while ((await epochOf(id)) === before) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        await own.call('POST', `/api/conversations/${id}/pause`)
      }
      await respondTo(id, true, '', own)
      await respondTo(refused, false, 'no', own)
      await own.call('POST', `/api/conversations/${refused}/run`)
      await own.until(id, 'finished')
      await own.until(refused, 'finished')
      expect([isDone(id, own), isDone(refused, own)]).toEqual([true, false])
    }
  },
  BUSY_MS,
)

verifies(
  ['seed.analyzer.vendor.api_key.write-only', 'seed.auth.vendor-key-write-only'],
  'the key of an analyzer appears in no answer and is stored encrypted',
  async () => {
    await using own = await startRunning(runMessageAsCommand)
    const id = await waiting(vendor(), RISKY_ONLY, HARMLESS, own)
    await own.call('POST', `/api/conversations/${id}/security_analyzer`, { security_analyzer: guard() })
    const answers = [
      await own.call('GET', `/api/conversations/${id}`),
      await own.call('GET', `/api/conversations/${id}/events/search?limit=100`),
      await own.call('POST', `/api/conversations/${id}/fork`, {}),
    ]
    const texts = answers.map(({ text }) => text)
    texts.push(await storedText(own.file('data')))
    expect(texts.length).toBeGreaterThan(3)
    for (const text of texts) {
      expect(text.includes(VENDOR_KEY)).toBe(false)
      expect(text.includes(canary('guardrail_key'))).toBe(false)
    }
  },
)

verifies(
  'seed.settings.security_analyzer',
  'the analyzer of the settings applies to conversations that start later',
  async () => {
    await using own = await startRunning(runMessageAsCommand)
    await own.call('POST', '/api/settings', { security_analyzer: 'policy_rail', confirmation_mode: true })
    const { body } = await own.call('POST', '/api/conversations', {})
    const info = (await own.call('GET', `/api/conversations/${body.conversation_id}`)).body as Loose
    expect(info.security_analyzer).toEqual({ kind: 'PolicyRailSecurityAnalyzer' })
    expect(info.confirmation_policy).toMatchObject({ kind: 'ConfirmRisky' })
  },
)

test('the metrics show the cost of a guardrail separately from the agent', async () => {
  const id = await waiting(guard(), RISKY_ONLY, HARMLESS)
  const { stats } = (await server.call('GET', `/api/conversations/${id}`)).body as Loose
  expect(stats.usage_to_metrics).toMatchObject({ default: {}, guardrail: {} })
  expect(stats.usage_to_metrics.guardrail.accumulated_token_usage.prompt_tokens).toBeGreaterThan(0)
})
