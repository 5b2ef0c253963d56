import { expect, test } from 'vitest'
import { RepetitionDetector } from './repetition-detector.ts'
import type { ToolCall } from '../tool-calls.ts'

const call = (members: Partial<ToolCall>): ToolCall => ({
  id: 'c',
  title: 'ls',
  status: 'completed',
  kind: 'execute',
  rawInput: { command: 'ls' },
  rawOutput: 'files',
  content: null,
  ...members,
})
const all = (calls: readonly Partial<ToolCall>[]) => {
  const detector = new RepetitionDetector()
  return calls.map((members) => detector.take(call(members)) !== null)
}

test.each<[string, Partial<ToolCall>[], boolean]>([
  ['four equal calls with equal results are a repetition', [{}, {}, {}, {}], true],
  ['three equal calls are no repetition', [{}, {}, {}], false],
  [
    'equal calls with another one between them are no repetition',
    [{}, {}, { rawInput: { command: 'cd' } }, {}, {}],
    false,
  ],
  ['equal calls with different results are no repetition', [{}, {}, {}, { rawOutput: 'more' }], false],
  [
    'three equal failures are a repetition',
    [{ status: 'failed' }, { status: 'failed', rawOutput: 'odd' }, { status: 'failed' }],
    true,
  ],
  ['calls without input are no repetition', Array.from({ length: 9 }, () => ({ rawInput: null })), false],
])('%s', (_, calls, isStuck) => {
  expect(all(calls).includes(true)).toBe(isStuck)
})
