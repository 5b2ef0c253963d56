import { asEventId, GuardrailLLMSecurityAnalyzer } from '@parley/protocol'
import { expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../testing/scripted-model.ts'
import { openLlm } from '../llm/index.ts'
import type { AnalysisContext, AnalyzedCall } from './analyzer.ts'
import { openGuardrail } from './guardrail-llm.ts'

const never = new AbortController().signal
const nothing: AnalysisContext = { history: [], earlier: [], working_dir: null }
const call = (command: string): AnalyzedCall => ({
  action_id: asEventId('a'),
  tool_name: 'terminal',
  action: { kind: 'TerminalAction', command, is_input: false, timeout: null, reset: false },
  tool_call: { id: 'c', name: 'terminal', arguments: JSON.stringify({ command }) },
  predicted_risk: 'LOW',
  summary: null,
  thought: '',
  reasoning: null,
  is_read_only: false,
})
const configFor = (url: string) =>
  GuardrailLLMSecurityAnalyzer.parse({
    llm: { model: 'openai/guard', base_url: `${url}/v1`, api_key: 'k', num_retries: 0 },
  })

verifies(
  'seed.analyzer.guardrail.infrastructure',
  'a model that can not be asked makes the risk UNKNOWN, in bounded time',
  async () => {
    const failures: ScriptedAnswer[] = [
      { status: 500, error: 'down' },
      { status: 401, error: 'no' },
      { hang: 'close' },
      { hang: 'headers' },
      { hang: 'body', text: 'RISK: LOW' },
    ]
    for (const answer of failures) {
      await using model = await startScriptedModel({ respond: () => answer })
      const from = performance.now()
      const analyzer = openGuardrail(configFor(model.url), openLlm, 300)
      expect(await analyzer.assess(call('ls'), nothing, never)).toEqual({ risk: 'UNKNOWN', spent: [] })
      expect(performance.now() - from).toBeLessThan(10_000)
    }
    const broken = openGuardrail(configFor('http://127.0.0.1:1'), () => {
      throw new Error('no such provider')
    })
    expect(await broken.assess(call('ls'), nothing, never)).toEqual({ risk: 'UNKNOWN', spent: [] })
  },
)

verifies(
  'seed.analyzer.guardrail.unparseable',
  'an answer that says nothing clear makes the risk UNKNOWN, and is paid for',
  async () => {
    await using model = await startScriptedModel({ answers: [{ text: 'Well, it depends.' }] })
    const { risk, spent } = await openGuardrail(configFor(model.url), openLlm).assess(call('ls'), nothing, never)
    expect([risk, spent.length, spent[0]?.usage_id]).toEqual(['UNKNOWN', 1, 'guardrail'])
  },
)

verifies('seed.analyzer.guardrail.one-conversation', 'nothing of one question is left in the next', async () => {
  await using model = await startScriptedModel({ respond: () => ({ text: 'RISK: LOW' }) })
  const analyzer = openGuardrail(configFor(model.url), openLlm)
  await analyzer.assess(call('the first one'), nothing, never)
  expect(await analyzer.assess(call('another one'), nothing, never)).toMatchObject({ risk: 'LOW' })
  expect(model.requests.map(({ text }) => text.includes('the first one'))).toEqual([true, false])
})

test('an action that does not fit into the question is never called harmless', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'RISK: LOW' }, { text: 'RISK: HIGH' }] })
  const analyzer = openGuardrail(configFor(model.url), openLlm)
  expect((await analyzer.assess(call('x'.repeat(40_000)), nothing, never)).risk).toBe('UNKNOWN')
  expect((await analyzer.assess(call('x'.repeat(40_000)), nothing, never)).risk).toBe('HIGH')
})

test('an abort ends it at once', async () => {
  await using model = await startScriptedModel({ respond: () => ({ hang: 'headers' }) })
  const controller = new AbortController()
  const asked = openGuardrail(configFor(model.url), openLlm).assess(call('ls'), nothing, controller.signal)
  controller.abort(new Error('interrupted'))
  await expect(asked).rejects.toThrow('interrupted')
})
