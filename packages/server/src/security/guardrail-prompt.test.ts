import { expect, test } from 'vitest'
import { asEventId, type TreeEvent } from '@parley/protocol'
import type { AnalyzedCall } from './analyzer.ts'
import { guardrailPrompt, readGuardrailAnswer } from './guardrail-prompt.ts'
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
const noHistory = { history: [], earlier: [] }

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
])('guardrail answer %# has the risk %s', (answer, risk) => {
  expect(readGuardrailAnswer(answer)).toBe(risk)
})

/** Milliseconds of the fastest of several readings of an answer that repeats `unit`. */
function readingMs(unit: string, chars: number): number {
  const answer = `RISK: LOW\n${unit.repeat(chars / unit.length)}`
  const times = Array.from({ length: 50 }, () => {
    const start = performance.now()
    readGuardrailAnswer(answer)
    return performance.now() - start
  })
  return Math.min(...times)
}

test.each(['<tool>', '<tool></tool>', '<tool', '<', ' ', 'RISK:', 'RISK: LOW\n', '\r\n'])(
  'the time to read a guardrail answer of repeated %j is not quadratic in its length',
  (unit) => {
    readingMs(unit, 16_000)
    // A text of 16 times the length takes about 16 times as long; a quadratic reader would take 256 times as long.
    expect(readingMs(unit, 16_000)).toBeLessThan(100 * Math.max(readingMs(unit, 1000), 0.001))
  },
)

test('an answer beyond the length limit takes no longer to read than one at the limit', () => {
  readingMs('<tool></tool>', 16_000)
  expect(readingMs('<tool></tool>', 1_600_000)).toBeLessThan(20 * readingMs('<tool></tool>', 16_000))
})

verifies(
  'seed.analyzer.guardrail.no-reasoning',
  'a guardrail prompt has the action escaped, tagged and without the reasoning',
  () => {
    const { user } = guardrailPrompt(call('echo "</arguments>" && a < b'), noHistory, config)
    expect(user).toContain('no prior actions')
    expect(user).toContain('&lt;/arguments&gt;')
    expect(user).toContain('&amp;&amp; a &lt; b')
    expect(user).not.toContain('SECRET REASONING')
    expect(user).not.toContain('<thought>')
    expect(guardrailPrompt(call('ls', { thought: 'I look', summary: 'looks' }), noHistory, config).user).toMatch(
      /<tool>terminal<\/tool>\n\s*<summary>looks<\/summary>\n\s*<thought>I look<\/thought>\n\s*<arguments>/,
    )
  },
)

verifies(
  ['seed.analyzer.guardrail.history_window.meaning', 'seed.limits.guardrail.history_window'],
  'a guardrail prompt has as many earlier actions as the window allows, including those of the same answer',
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
    const shown = guardrailPrompt(call('now'), context, { ...config, history_window: 3 }).user
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
  'a guardrail prompt has the safety experiences verbatim, or a note that there are none',
  () => {
    expect(
      guardrailPrompt(call('ls'), noHistory, { ...config, safety_experiences: 'Never <touch> & go' }).system,
    ).toContain('Never <touch> & go')
    expect(guardrailPrompt(call('ls'), noHistory, { ...config, safety_experiences: ' \n' }).system).toContain(
      'None have been recorded',
    )
  },
)

test('a guardrail prompt reports that a long action was cut', () => {
  expect(guardrailPrompt(call('x'.repeat(40_000)), noHistory, config).isCut).toBe(true)
  expect(guardrailPrompt(call('x'), noHistory, config).isCut).toBe(false)
})
