import { expect, test } from 'vitest'
import { chooseOption, requestedCall } from './permission.ts'

const options = (...kinds: string[]) => ({
  sessionId: 's',
  toolCall: { toolCallId: 'c' },
  options: kinds.map((kind) => ({ kind, optionId: kind, name: kind })),
})

test.each([
  ['allow', ['allow_always', 'allow_once'], 'allow_once'],
  ['allow', ['allow_always', 'reject_once'], undefined],
  ['reject', ['allow_once', 'reject_always', 'reject_once'], 'reject_once'],
  ['reject', ['allow_once', 'reject_always'], 'reject_always'],
  ['reject', ['allow_once'], undefined],
] as const)('the decision %s among the options %o selects %s', (decision, kinds, expected) => {
  const answer = chooseOption(decision, options(...kinds))
  expect(answer?.outcome.outcome === 'selected' ? answer.outcome.optionId : undefined).toBe(expected)
})

test.each([
  [{ command: 'ls -l' }, 'ls -l'],
  [{ command: ['bash', '-lc', 'ls | wc'] }, 'ls | wc'],
  [{ command: ['rm', 'a b', "it's"] }, String.raw`rm 'a b' 'it'\''s'`],
  [{ cmd: 'ls' }, 'ls'],
])('the raw input %o is the command %s', (rawInput, command) => {
  const call = { id: 'c', title: '', status: null, kind: 'execute', rawInput, rawOutput: null, content: null }
  expect(requestedCall(call)).toMatchObject({
    tool: 'terminal',
    action: { kind: 'TerminalAction', command },
    summary: 'terminal',
  })
})
