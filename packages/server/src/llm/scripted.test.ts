import { openTestLlm } from '../../testing/requests.ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LLM } from '@parley/protocol'
import { type LlmDelta, type LlmMessage } from './index.ts'

const NEVER = new AbortController().signal
const USER: LlmMessage = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const REPLY: LlmMessage = { role: 'assistant', content: [{ type: 'text', text: 'ok' }], toolCalls: [] }
const SCRIPT = [
  {
    reasoning: 'let me see',
    text: 'A first answer of some length.',
    tool_calls: [
      { name: 'terminal', arguments: { command: 'ls' } },
      { name: 'odd', arguments: '{"x' },
    ],
  },
  { text: 'second' },
  { error: 'the model is on holiday' },
  { text: 'late', delay_ms: 60_000 },
]

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-script-'))
  await writeFile(join(directory, 'demo.json'), JSON.stringify(SCRIPT))
})
afterAll(() => rm(directory, { recursive: true }))

const open = (model = 'scripted/demo') =>
  openTestLlm(LLM.parse({ model, stream: true }), { scriptsDirectory: directory })
const turns = (n: number): LlmMessage[] => [USER, ...Array.from({ length: n }, () => [REPLY, USER]).flat()]

test('a scripted answer has small deltas, calls with fresh ids, and arguments as written', async () => {
  const deltas: LlmDelta[] = []
  const answer = await open().complete({ messages: [USER], tools: [] }, (delta) => deltas.push(delta), NEVER)
  expect(answer).toMatchObject({
    text: 'A first answer of some length.',
    reasoning: 'let me see',
    finishReason: 'tool-calls',
    usage: { costUsd: null },
  })
  expect(answer.toolCalls.map((call) => [call.name, call.arguments])).toEqual([
    ['terminal', '{"command":"ls"}'],
    ['odd', '{"x'],
  ])
  expect(deltas[0]).toEqual({ reasoning_content: 'let me see' })
  expect(deltas.map((delta) => delta.content ?? '').join('')).toBe('A first answer of some length.')
  const again = await open().complete({ messages: [USER], tools: [] }, () => {}, NEVER)
  expect(again.toolCalls[0]?.id).not.toBe(answer.toolCalls[0]?.id)
})

test('the position in the script is the number of assistant turns in the request', async () => {
  await expect(open().complete({ messages: turns(1), tools: [] }, () => {}, NEVER)).resolves.toMatchObject({
    text: 'second',
  })
  await expect(
    open(`scripted/${join(directory, 'demo.json')}`).complete({ messages: turns(1), tools: [] }, () => {}, NEVER),
  ).resolves.toMatchObject({ text: 'second' })
})

test.each<[string, string, number, RegExp]>([
  ['scripted/demo', 'LLMError', 2, /on holiday/],
  ['scripted/demo', 'LLMBadRequestError', 9, /4 answers, this would be number 10/],
  ['scripted/missing', 'LLMNotConfigured', 0, /missing\.json cannot be used/],
])('the script %s fails with %s at turn %i', async (model, code, turn, words) => {
  const failed = open(model).complete({ messages: turns(turn), tools: [] }, () => {}, NEVER)
  await expect(failed).rejects.toMatchObject({ code, message: expect.stringMatching(words) })
})

test('a delay of the script can be aborted', async () => {
  const controller = new AbortController()
  const reason = new Error('stop')
  const outcome = expect(open().complete({ messages: turns(3), tools: [] }, () => {}, controller.signal)).rejects.toBe(
    reason,
  )
  controller.abort(reason)
  await outcome
})
