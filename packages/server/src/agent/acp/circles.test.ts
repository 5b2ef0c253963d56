import { expect, test } from 'vitest'
import { Circles } from './circles.ts'
import type { ToolCall } from './tool-calls.ts'

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
  const circles = new Circles()
  return calls.map((members) => circles.take(call(members)) !== null)
}

test.each<[string, Partial<ToolCall>[], boolean]>([
  ['four equal calls with equal results', [{}, {}, {}, {}], true],
  ['three', [{}, {}, {}], false],
  ['another one in between', [{}, {}, { rawInput: { command: 'cd' } }, {}, {}], false],
  ['other results', [{}, {}, {}, { rawOutput: 'more' }], false],
  ['three equal failures', [{ status: 'failed' }, { status: 'failed', rawOutput: 'odd' }, { status: 'failed' }], true],
  ['calls that do not say what they do', Array.from({ length: 9 }, () => ({ rawInput: null })), false],
])('%s', (_, calls, isStuck) => {
  expect(all(calls).includes(true)).toBe(isStuck)
})
