import { expect, test } from 'vitest'
import type { LlmMessage } from '../llm.ts'
import { demoAnswer } from './script.ts'

const USER: LlmMessage = { role: 'user', content: [{ type: 'text', text: 'Set it up' }] }
const REPLY: LlmMessage = { role: 'assistant', content: [{ type: 'text', text: 'ok' }], toolCalls: [] }
const result = (text: string, isError = false): LlmMessage => ({
  role: 'tool',
  toolCallId: 'call',
  toolName: 'terminal',
  content: [{ type: 'text', text }],
  isError,
})
/** The messages after `turns` answers, the last of which had this result. */
const after = (turns: number, last: LlmMessage): LlmMessage[] => [
  USER,
  ...Array.from({ length: turns - 1 }, () => [REPLY, result('done')]).flat(),
  REPLY,
  last,
]
const answer = (messages: LlmMessage[]) => demoAnswer(messages, 'node --test')
const callOf = (messages: LlmMessage[]) => {
  const [call] = answer(messages).tool_calls ?? []
  return { name: call?.name, args: call?.arguments as Readonly<Record<string, string>> }
}

test('the change of the file is the only call of the demo with a medium risk', () => {
  const calls = [callOf([USER]), ...[1, 2, 3, 4].map((turns) => callOf(after(turns, result('done'))))]
  expect(calls.map(({ name, args }) => [name, args['security_risk']])).toEqual([
    ['apply_patch', 'LOW'],
    ['terminal', 'LOW'],
    ['terminal', 'LOW'],
    ['apply_patch', 'MEDIUM'],
    ['terminal', 'LOW'],
  ])
})

test.each([
  ['a project that cannot be set up', 1, result('No space left', true), /could not be set up/],
  ['a refused change', 4, result('Action rejected: no', true), /test still fails/],
  ['a test that fails at the end', 5, result('# fail 1'), /did not pass/],
  [
    'a test that passes at the end',
    5,
    result('ℹ tests 1\nℹ pass 1\nℹ fail 0'),
    /the test passes:\n\n```\nℹ pass 1\nℹ fail 0\n```$/,
  ],
])('the demo ends with a true statement after %s', (_, turns, last, text) => {
  const { name, args } = callOf(after(turns, last))
  expect([name, args['message']]).toEqual(['finish', expect.stringMatching(text)])
})

test('a message after the end of the demo is answered with how to continue', () => {
  expect(answer([...after(6, result('done')), USER])).toMatchObject({ text: expect.stringMatching(/Add a model/) })
})
