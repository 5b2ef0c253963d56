import { textContent, type TreeEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { LlmMessage } from '../../llm/index.ts'
import { called, failed, observed, prompt, refused, said } from './events.testing.ts'
import { MessageBuilder } from './messages.ts'
import { truncateMiddle } from './truncate.ts'

const build = (...events: TreeEvent[]): LlmMessage[] => new MessageBuilder().build(events)
const shape = (messages: readonly LlmMessage[]): string[] =>
  messages.map((message) => {
    if (message.role === 'tool') return `tool ${message.toolCallId}`
    if (message.role === 'assistant' && message.toolCalls.length > 0)
      return `calls ${message.toolCalls.map(({ id }) => id).join(' ')}`
    return `${message.role} ${message.content.map((item) => (item.type === 'text' ? item.text : '[image]')).join('|')}`
  })

test('the system prompt is one message whose shared part alone is marked for the cache', () => {
  expect(build(prompt())).toEqual([
    {
      role: 'system',
      content: [
        { type: 'text', text: 'be good', cache: true },
        { type: 'text', text: 'today' },
      ],
    },
  ])
})

test('the calls of one response are one message with the thought, and its answers follow', () => {
  const [a, b] = [called('a', 'r', { thought: 'both' }), called('b', 'r')]
  const messages = build(said('m', 'go'), a, b, observed('o', a), refused('n', b))
  expect(shape(messages)).toEqual(['user go', 'calls call-a call-b', 'tool call-a', 'tool call-b'])
  expect(messages[1]).toMatchObject({ content: [{ type: 'text', text: 'both' }] })
  expect(messages[3]).toMatchObject({ content: [{ text: 'Action rejected: no' }], isError: true })
})

test('calls that were refused at once belong to the same message', () => {
  const [a, x, y] = [called('a', 'r'), called('x', 'r'), called('y', 'r')]
  expect(shape(build(a, x, failed('ex', x), y, failed('ey', y), observed('o', a)))).toEqual([
    'calls call-a call-x call-y',
    'tool call-x',
    'tool call-y',
    'tool call-a',
  ])
})

test('a message that came while a call was running stands behind its answer', () => {
  const a = called('a', 'r')
  expect(shape(build(said('m', 'go'), a, said('n', 'wait'), said('k', 'please'), observed('o', a)))).toEqual([
    'user go',
    'calls call-a',
    'tool call-a',
    'user wait|please',
  ])
})

test('ids of calls that repeat from turn to turn are told apart by position', () => {
  const [a, b] = [called('a', 'r1', { callId: 'same' }), called('b', 'r2', { callId: 'same' })]
  const messages = build(a, observed('o', a, 'first'), b, observed('p', b, 'second'))
  expect(shape(messages)).toEqual(['calls same', 'tool same', 'calls same', 'tool same'])
  expect(messages[3]).toMatchObject({ content: [{ text: 'second' }] })
})

test('messages of people and of the framework are one turn, and empty answers are none', () => {
  expect(
    shape(build(said('m', 'a'), said('e', '', 'agent'), said('n', 'b', 'environment'), said('x', 'c', 'agent'))),
  ).toEqual(['user a|b', 'assistant c'])
})

test('what the server appended to a message follows it, and images are passed on', () => {
  const message = said('m', 'look')
  message.llm_message.content.push({ type: 'image', image_urls: ['data:,1', 'data:,2'], cache_prompt: false })
  message.extended_content.push(textContent('know this'))
  expect(shape(build(message))).toEqual(['user look|[image]|[image]|know this'])
})

test('a failed result says so first, and a silent one says that', () => {
  const [a, b] = [called('a', 'r'), called('b', 'r')]
  const messages = build(a, b, observed('o', a, 'broken', true), observed('p', b, ' '))
  expect(messages[1]).toMatchObject({
    isError: true,
    content: [{ text: '[An error occurred during execution.]' }, { text: 'broken' }],
  })
  expect(messages[2]).toMatchObject({ isError: false, content: [{ text: '[No output.]' }] })
})

test('a command result tells where and how it ended, around what it printed', () => {
  const a = called('a', 'r')
  const answer = observed('o', a)
  answer.observation = {
    kind: 'TerminalObservation',
    content: [textContent('x'.repeat(60_000))],
    is_error: false,
    command: 'ls',
    exit_code: 3,
    timeout: false,
    metadata: {
      exit_code: 3,
      pid: 1,
      username: null,
      hostname: null,
      working_dir: '/w',
      py_interpreter_path: null,
      prefix: '[before]\n',
      suffix: '\n[after]',
    },
    full_output_save_dir: null,
  }
  const [, message] = build(a, answer)
  const [first] = message!.content
  const text = first?.type === 'text' ? first.text : ''
  expect(text).toMatch(
    /^\[before\]\nx+\n\[… \d+ or more characters left out …\]\nx+\n\[after\]\n\[Current working directory: \/w\]\n\[Command finished with exit code 3\]$/,
  )
  expect(text.length).toBeLessThanOrEqual(50_000)
})

test('thinking and reasoning go back on the first call', () => {
  const a = { ...called('a', 'r', { isThinking: true }), reasoning_content: 'because' }
  expect(build(a, called('b', 'r'), observed('o', a))[0]).toMatchObject({
    reasoning: 'because',
    thinkingBlocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
    toolCalls: [{ id: 'call-a' }, { id: 'call-b' }],
  })
})

test('while a view grows, a request repeats the one before it byte for byte and converts only what is new', () => {
  const a = called('a', 'r')
  const view: TreeEvent[] = [prompt(), said('m', 'go'), a, called('b', 'r'), observed('o', a, 'x'.repeat(80_000))]
  const builder = new MessageBuilder()
  const first = builder.build(view)
  const frozen = JSON.stringify(first)
  const second = builder.build([...view, said('n', 'more')])
  expect(JSON.stringify(first)).toBe(frozen)
  expect(JSON.stringify(second.slice(0, first.length))).toBe(frozen)
  expect(second[3]).toBe(first[3])
})

test('whatever a builder was given before, it builds what a fresh one builds', () => {
  const [a, b] = [called('a', 'r'), called('b', 'r')]
  const views: TreeEvent[][] = [
    [said('m', 'go'), a],
    [said('m', 'go'), a, b, said('n', 'wait')],
    [prompt(), said('x', 'other branch')],
    [],
  ]
  const grown: TreeEvent[] = []
  const builder = new MessageBuilder()
  for (const event of [prompt(), said('m', 'go'), a, b, said('n', 'wait'), observed('o', a), observed('p', b)]) {
    grown.push(event)
    expect(builder.build(grown)).toEqual(build(...grown))
  }
  for (const view of views) expect(builder.build(view)).toEqual(build(...view))
})

test.each([
  ['short', 10],
  ['x'.repeat(100), 60],
  ['x'.repeat(100), 5],
])('%j cut to %i is no longer than that', (text, limit) => {
  const cut = truncateMiddle(text, limit)
  expect(cut.length).toBeLessThanOrEqual(limit)
  expect(truncateMiddle(cut, limit)).toBe(cut)
})
