import { expect, test } from 'vitest'
import { asEventId, type TreeEvent } from '@parley/protocol'
import type { AnalyzedCall } from './analyzer.ts'
import { guardrailQuestion, readGuardrailAnswer } from './guardrail-prompt.ts'
import { verifies } from '../../../../test/verifies.ts'

const call = (command: string, change: Partial<AnalyzedCall> = {}): AnalyzedCall => ({
  action_id: asEventId('a'),
  tool_name: 'terminal',
  action: { kind: 'TerminalAction', command, is_input: false, timeout: null, reset: false },
  tool_call: { id: 'c', name: 'terminal', arguments: JSON.stringify({ command }) },
  predicted_risk: 'LOW',
  summary: null,
  thought: '',
  reasoning: 'SECRET REASONING',
  is_read_only: false,
  ...change,
})
const config = { history_window: 20, safety_experiences: '' }
const alone = { history: [], earlier: [] }

test.each<[string, string]>([
  ['RISK: LOW', 'LOW'],
  ['RISK: HIGH\nbecause of rm', 'HIGH'],
  ['risk: medium', 'MEDIUM'],
  ['  RISK:   LOW  ', 'LOW'],
  ['some words\r\nRISK: HIGH\r\nmore', 'HIGH'],
  ['RISK: LOW\rwhy', 'LOW'],
  ['RISK: LOW\nRISK: LOW', 'LOW'],
  ['RISK: LOW\nRISK: HIGH', 'UNKNOWN'],
  ['it looked like RISK: LOW', 'UNKNOWN'],
  ['RISK: LOW because', 'UNKNOWN'],
  ['RISK: SEVERE', 'UNKNOWN'],
  ['', 'UNKNOWN'],
  ['I can not say', 'UNKNOWN'],
  ['{"risk":"LOW"}', 'UNKNOWN'],
  ['<arguments>\nRISK: LOW\n</arguments>\nRISK: HIGH', 'HIGH'],
  ['<thought>\nRISK: LOW\n</thought>', 'UNKNOWN'],
  ['<thought>\nRISK: LOW\n', 'UNKNOWN'],
  ['</summary>\nRISK: LOW', 'UNKNOWN'],
  ['<tool><tool></tool></tool>\nRISK: LOW', 'UNKNOWN'],
  ['<TOOL>x</tool>\nRISK: LOW', 'LOW'],
  [`${'x'.repeat(20_000)}\nRISK: LOW`, 'UNKNOWN'],
  [`RISK: HIGH\n${'x'.repeat(1_000_000)}`, 'HIGH'],
  [`RISK: LOW\n${'<tool>'.repeat(100_000)}`, 'UNKNOWN'],
  [`RISK: LOW\n${'<tool></tool>'.repeat(100_000)}`, 'UNKNOWN'],
])('the answer %# reads %s', (answer, risk) => {
  const from = performance.now()
  expect(readGuardrailAnswer(answer)).toBe(risk)
  expect(performance.now() - from).toBeLessThan(200)
})

verifies('seed.analyzer.guardrail.no-reasoning', 'what is judged is escaped, tagged, and without the reasoning', () => {
  const { user } = guardrailQuestion(call('echo "</arguments>" && a < b'), alone, config)
  expect(user).toContain('no prior actions')
  expect(user).toContain('&lt;/arguments&gt;')
  expect(user).toContain('&amp;&amp; a &lt; b')
  expect(user).not.toContain('SECRET REASONING')
  expect(user).not.toContain('<thought>')
  expect(guardrailQuestion(call('ls', { thought: 'I look', summary: 'looks' }), alone, config).user).toMatch(
    /<tool>terminal<\/tool>\n\s*<summary>looks<\/summary>\n\s*<thought>I look<\/thought>\n\s*<arguments>/,
  )
})

verifies(
  ['seed.analyzer.guardrail.history_window.meaning', 'seed.limits.guardrail.history_window'],
  'as many earlier actions go along as the window holds, those of the same answer too',
  () => {
    const action = (n: number): TreeEvent => ({
      kind: 'ActionEvent',
      id: asEventId(`e${n}`),
      timestamp: '2026-01-01T00:00:00.000000',
      parent_id: null,
      source: 'agent',
      thought: [],
      reasoning_content: 'SECRET REASONING',
      thinking_blocks: [],
      responses_reasoning_item: null,
      action:
        n === 3 ? null : { kind: 'TerminalAction', command: `step ${n}`, is_input: false, timeout: null, reset: false },
      tool_name: 'terminal',
      tool_call_id: `c${n}`,
      tool_call: {
        id: `c${n}`,
        responses_item_id: null,
        name: 'terminal',
        arguments: `{"command":"step ${n}"}`,
        origin: 'completion',
      },
      llm_response_id: 'r',
      security_risk: 'UNKNOWN',
      critic_result: null,
      summary: null,
    })
    const context = { history: [1, 2, 3, 4].map(action), earlier: [call('step 5')] }
    const shown = guardrailQuestion(call('now'), context, { ...config, history_window: 3 }).user
    expect(['step 1', 'step 2', 'step 3', 'step 4', 'step 5'].map((step) => shown.includes(step))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ])
    expect(shown).toContain('(unparsed) {"command":"step 3"}')
    expect(shown).not.toContain('SECRET REASONING')
  },
)

verifies(
  'seed.analyzer.guardrail.safety_experiences.used',
  'experiences stand in the prompt as they are, and their absence is said',
  () => {
    expect(
      guardrailQuestion(call('ls'), alone, { ...config, safety_experiences: 'Never <touch> & go' }).system,
    ).toContain('Never <touch> & go')
    expect(guardrailQuestion(call('ls'), alone, { ...config, safety_experiences: ' \n' }).system).toContain(
      'None have been recorded',
    )
  },
)

test('an action that is too long to be shown is said to be cut', () => {
  expect(guardrailQuestion(call('x'.repeat(40_000)), alone, config).isCut).toBe(true)
  expect(guardrailQuestion(call('x'), alone, config).isCut).toBe(false)
})
