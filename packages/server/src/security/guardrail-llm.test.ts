import { openTestLlm } from '../../testing/requests.ts'
import { asEventId, GuardrailLLMSecurityAnalyzer } from '@parley/protocol'
import { expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../testing/scripted-model.ts'
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
  'a guardrail model that fails or hangs makes the risk UNKNOWN within the time limit',
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
      const analyzer = openGuardrail(configFor(model.url), openTestLlm, 300)
      expect(await analyzer.assess(call('ls'), nothing, never)).toMatchObject({ risk: 'UNKNOWN', costs: [] })
    }
    const broken = openGuardrail(configFor('http://127.0.0.1:1'), () => {
      throw new Error('no such provider')
    })
    expect(await broken.assess(call('ls'), nothing, never)).toMatchObject({ risk: 'UNKNOWN', costs: [] })
  },
)

verifies(
  'seed.analyzer.guardrail.unparseable',
  'a guardrail answer without a clear label makes the risk UNKNOWN and its cost is reported',
  async () => {
    await using model = await startScriptedModel({ answers: [{ text: 'Well, it depends.' }] })
    const { risk, costs } = await openGuardrail(configFor(model.url), openTestLlm).assess(call('ls'), nothing, never)
    expect([risk, costs.length, costs[0]?.usage_id]).toEqual(['UNKNOWN', 1, 'guardrail'])
  },
)

verifies(
  'seed.analyzer.guardrail.one-conversation',
  'a guardrail request contains nothing of the previous one',
  async () => {
    await using model = await startScriptedModel({ respond: () => ({ text: 'RISK: LOW' }) })
    const analyzer = openGuardrail(configFor(model.url), openTestLlm)
    await analyzer.assess(call('the first one'), nothing, never)
    expect(await analyzer.assess(call('another one'), nothing, never)).toMatchObject({ risk: 'LOW' })
    expect(model.requests.map(({ text }) => text.includes('the first one'))).toEqual([true, false])
  },
)

test('a guardrail never rates an action LOW that does not fit into its prompt', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'RISK: LOW' }, { text: 'RISK: HIGH' }] })
  const analyzer = openGuardrail(configFor(model.url), openTestLlm)
  expect((await analyzer.assess(call('x'.repeat(40_000)), nothing, never)).risk).toBe('UNKNOWN')
  expect((await analyzer.assess(call('x'.repeat(40_000)), nothing, never)).risk).toBe('HIGH')
})

test('an abort ends a guardrail request at once', async () => {
  await using model = await startScriptedModel({ respond: () => ({ hang: 'headers' }) })
  const controller = new AbortController()
  const pending = openGuardrail(configFor(model.url), openTestLlm).assess(call('ls'), nothing, controller.signal)
  controller.abort(new Error('interrupted'))
  await expect(pending).rejects.toThrow('interrupted')
})
