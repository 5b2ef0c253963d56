import { expect, test } from 'vitest'
import { chooseOption, requestedCalls } from './permission.ts'

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
  expect(requestedCalls(call)).toMatchObject({
    calls: [{ tool: 'terminal', action: { kind: 'TerminalAction', command }, summary: 'terminal' }],
    isMixed: false,
  })
})

const diff = (path: string, more: object = { newText: 'x' }) => ({ type: 'diff', path, ...more })
const edit = { id: 'c', title: 'edit', status: null, kind: 'edit', rawInput: null, rawOutput: null, content: null }

test('a request with several changes and commands is one call for each of them, under ids of their own', () => {
  const { calls, isMixed } = requestedCalls({
    ...edit,
    rawInput: { command: 'ls', cmd: ['rm', 'x'] },
    content: [diff('/a'), { type: 'text' }, diff('/b', { newText: null }), diff('/c', { oldText: 'o', newText: 'n' })],
  })
  expect(isMixed).toBe(true)
  expect(calls.map(({ callId, tool, action, summary }) => [callId, tool, action, summary])).toMatchObject([
    ['c', 'file_editor', { command: 'create', path: '/a' }, 'edit (1 of 5)'],
    ['c#2', 'acp_edit', { data: { diff: { path: '/b', newText: null } } }, 'edit (2 of 5)'],
    ['c#3', 'file_editor', { command: 'str_replace', path: '/c' }, 'edit (3 of 5)'],
    ['c#4', 'terminal', { command: 'ls' }, 'edit (4 of 5)'],
    ['c#5', 'terminal', { command: 'rm x' }, 'edit (5 of 5)'],
  ])
  expect(new Set(calls.map(({ id }) => id)).size).toBe(5)
})

test('a command that is given twice, and several changes alone, are not mixed', () => {
  expect(requestedCalls({ ...edit, rawInput: { command: 'ls', cmd: 'ls' } })).toMatchObject({ isMixed: false })
  expect(requestedCalls({ ...edit, content: [diff('/a'), diff('/b')] })).toMatchObject({ isMixed: false })
})

test('the rest of a request with more than a hundred changes is one call, which contains all of them', () => {
  const { calls, isMixed } = requestedCalls({
    ...edit,
    content: Array.from({ length: 120 }, (_, index) => diff(`/file-${index}`)),
  })
  expect([calls.length, isMixed]).toEqual([100, true])
  expect(JSON.stringify(calls[99]?.action)).toContain('/file-119')
})
