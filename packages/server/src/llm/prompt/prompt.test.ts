import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import type { LlmMessage } from '../llm.ts'
import { argumentsFor } from './assistant.ts'
import { toPrompt, type CacheTtl, type PromptOptions } from './prompt.ts'
import type { ModelApi } from '../models/route.ts'

const options = (api: ModelApi, more: Partial<PromptOptions> = {}): PromptOptions => ({
  api,
  cacheTtl: null,
  origin: { api, host: 'x', account: '', model: 'm' },
  echoReasoning: false,
  needsReasoning: false,
  needsSignature: false,
  freeform: new Map(),
  vision: true,
  ...more,
})
const text = (value: string) => ({ type: 'text' as const, text: value })
const user = (...values: string[]): LlmMessage => ({ role: 'user', content: values.map(text) })
const PIXEL = { type: 'image' as const, url: 'data:image/png;base64,iVBORw0KGgo=' }

test.each<[string, ModelApi, unknown]>([
  ['{"a":  1}', 'compatible', '{"a":  1}'],
  ['{"a":  1}', 'responses', '{"a":  1}'],
  ['{"a":  1}', 'anthropic', { a: 1 }],
  ['{"a": 1', 'compatible', {}],
  ['{"a": 1', 'google', {}],
  ['', 'chat', {}],
  ['[1]', 'compatible', {}],
  ['"text"', 'anthropic', {}],
  ['null', 'anthropic', {}],
])('arguments %s are sent back to %s as %o', (written, api, sent) => {
  expect(argumentsFor(written, api)).toEqual(sent)
})

test('system parts stay separate for Anthropic and become one message elsewhere', () => {
  const messages: LlmMessage[] = [{ role: 'system', content: [text('static'), text('dynamic'), text(' ')] }, user('hi')]
  expect(toPrompt(messages, options('anthropic')).filter(({ role }) => role === 'system')).toHaveLength(2)
  expect(toPrompt(messages, options('compatible'))[0]).toEqual({ role: 'system', content: 'static\n\ndynamic' })
})

type Marked = { text?: string; output?: object; providerOptions?: SharedV4ProviderOptions }

/** The contents that a breakpoint follows, with its lifetime. */
function markedIn(messages: readonly LlmMessage[], api: ModelApi, cacheTtl: CacheTtl): [string, string][] {
  const parts: Marked[] = toPrompt(messages, options(api, { cacheTtl })).flatMap((message): Marked[] =>
    message.role === 'system' ? [{ ...message, text: message.content }] : message.content,
  )
  return parts.flatMap((part): [string, string][] => {
    const { anthropic, openaiCompatible } = part.providerOptions ?? {}
    const mark = api === 'anthropic' ? anthropic?.['cacheControl'] : openaiCompatible?.['cache_control']
    if (mark === undefined) return []
    const { ttl = '5m' } = mark as { ttl?: string }
    return [[part.text ?? (part.output as { value: string }).value, ttl]]
  })
}

test('cache breakpoints end the system parts, this request and the request before the newest answer', () => {
  const ids = Array.from({ length: 12 }, (_, n) => `c${n}`)
  const results = ids.map((id): LlmMessage => ({
    role: 'tool',
    toolCallId: id,
    toolName: 't',
    content: [text(id)],
    isError: false,
  }))
  const calls = ids.map((id) => ({ id, name: 't', arguments: '{}' }))
  const before: LlmMessage[] = [
    { role: 'system', content: [{ ...text('static'), cache: true }, text('more'), text('dynamic')] },
    user('one'),
    { role: 'assistant', content: [text('look')], toolCalls: [] },
    user('two', 'three'),
  ]
  const after: LlmMessage[] = [...before, { role: 'assistant', content: [], toolCalls: calls }, ...results]
  const system = ['static', 'dynamic']
  const ends = (messages: readonly LlmMessage[], api: ModelApi) =>
    markedIn(messages, api, '5m').map(([content]) => content)
  expect(ends(before, 'anthropic')).toEqual([...system, 'one', 'three'])
  expect(ends(after, 'anthropic')).toEqual([...system, 'three', 'c11'])
  expect(ends(before.slice(0, 2), 'anthropic')).toEqual([...system, 'one'])
  expect(ends(after, 'compatible')).toEqual(['static\n\nmore\n\ndynamic', 'two\nthree', 'c11'])
  expect(markedIn(after, 'anthropic', '1h')).toEqual([...system, 'three', 'c11'].map((content) => [content, '1h']))
})

test('empty texts and messages are not sent', () => {
  const messages: LlmMessage[] = [
    user('', 'hi'),
    { role: 'assistant', content: [text('')], toolCalls: [] },
    user(' '),
    user('there'),
  ]
  expect(toPrompt(messages, options('anthropic'))).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'user', content: [{ type: 'text', text: 'there' }] },
  ])
})

test('images of tool results follow their batch as a user message where results are text only', () => {
  const tool = (id: string): LlmMessage => ({
    role: 'tool',
    toolCallId: id,
    toolName: 't',
    content: [text('shot'), PIXEL],
    isError: false,
  })
  const calls = ['a', 'b'].map((id) => ({ id, name: 't', arguments: '{}' }))
  const messages: LlmMessage[] = [
    user('go'),
    { role: 'assistant', content: [], toolCalls: calls },
    tool('a'),
    tool('b'),
    user('and?'),
  ]
  expect(toPrompt(messages, options('compatible')).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'user',
    'user',
  ])
  const native = toPrompt(messages, options('anthropic'))
  expect(native.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  expect(JSON.stringify(native[2])).toContain('iVBORw0KGgo=')
})

test('a model without vision gets no images', () => {
  const prompt = toPrompt([{ role: 'user', content: [text('look'), PIXEL] }], options('anthropic', { vision: false }))
  expect(prompt).toEqual([{ role: 'user', content: [{ type: 'text', text: 'look' }] }])
})

test('a message is converted once for a model, and a breakpoint of one request is in no other', () => {
  const call: LlmMessage = { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 't', arguments: '{}' }] }
  const result: LlmMessage = { role: 'tool', toolCallId: 'c', toolName: 't', content: [text('r')], isError: false }
  const first = [user('go'), call, result]
  const later = [...first, { ...call, toolCalls: [] }, user('on'), { ...call }, { ...result }]
  const origin = options('anthropic').origin
  const marked = () => options('anthropic', { cacheTtl: '5m', origin })
  const before = toPrompt(first, marked())
  const prompt = toPrompt(later, marked())
  expect(JSON.stringify(before[2])).toContain('cacheControl')
  expect(JSON.stringify(prompt[2])).not.toContain('cacheControl')
  expect(prompt[1]).toBe(before[1])
  expect(toPrompt(later, marked())).toEqual(prompt)
})

test('a message that another model gets is converted again', () => {
  const call: LlmMessage = { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 't', arguments: '{"a":1}' }] }
  const messages = [user('go'), call]
  const inputs = (['anthropic', 'compatible', 'anthropic'] as const).map((api) => {
    const [, answer] = toPrompt(messages, options(api))
    return answer?.role === 'assistant' && answer.content[0]?.type === 'tool-call' ? answer.content[0].input : null
  })
  expect(inputs).toEqual([{ a: 1 }, '{"a":1}', { a: 1 }])
})
