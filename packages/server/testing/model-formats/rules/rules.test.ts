/** Each rule refuses a request that breaks it, and none refuses a history that was sent back as it came. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from '../../scripted-model.ts'
import { anthropicMessages } from '../anthropic-messages.ts'
import { chatCompletions } from '../chat-completions.ts'
import type { ModelFormat } from '../model-format.ts'
import { gemini } from '../gemini.ts'
import { responses } from '../responses.ts'

// oxlint-disable-next-line typescript/no-explicit-any
type Loose = any
type Break = (body: Loose, headers: Record<string, string>) => void
type Example = {
  format: ModelFormat
  path: string
  /** The answer that the history sends back. */
  answer: ScriptedAnswer
  /** A request that obeys. */
  body: Loose
  breaks: Record<string, Break>
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
/** A PNG with the size of `width` pixels on a side in its header. */
const wide = (width: number) => {
  const bytes = Buffer.from(PNG, 'base64')
  bytes.writeUInt32BE(width, 16)
  return bytes.toString('base64')
}
const LONG = 'x'.repeat(65)
const SCHEMA = { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } }

const anthropic: Example = {
  format: anthropicMessages,
  path: '/v1/messages',
  answer: {
    parts: [
      { thinking: 'one', signature: 's1' },
      { redacted: 'r1' },
      { text: 'so' },
      { call: { id: 'a', name: 't', arguments: {} } },
      { thinking: 'two', signature: 's2' },
      { call: { id: 'b', name: 't', arguments: {} } },
    ],
  },
  body: {
    model: 'claude-sonnet-4-5',
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 2000 },
    tools: [{ name: 't', input_schema: SCHEMA }],
    system: [{ type: 'text', text: 'be good', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'one', signature: 's1' },
          { type: 'redacted_thinking', data: 'r1' },
          { type: 'text', text: 'so' },
          { type: 'tool_use', id: 'a', name: 't', input: {} },
          { type: 'thinking', thinking: 'two', signature: 's2' },
          { type: 'tool_use', id: 'b', name: 't', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
          },
          { type: 'tool_result', tool_use_id: 'b', content: 'x' },
        ],
      },
    ],
  },
  breaks: {
    version: (_, headers) => delete headers['anthropic-version'],
    'max-tokens': (body) => delete body.max_tokens,
    size: (body) => (body.system[0].text = 'x'.repeat(33 * 1024 * 1024)),
    'first-role': (body) => body.messages.shift(),
    'empty-message': (body) => (body.messages[0].content = ''),
    'empty-text': (body) => (body.messages[1].content[2].text = ' \n'),
    breakpoints: (body) =>
      (body.tools = Array.from({ length: 4 }, (_, n) => ({ ...body.tools[0], name: `t${n}`, cache_control: {} }))),
    'breakpoint-on-thinking': (body) => (body.messages[1].content[0].cache_control = { type: 'ephemeral' }),
    'unanswered-call': (body) => body.messages[2].content.pop(),
    'result-without-call': (body) => body.messages[2].content.push({ type: 'tool_result', tool_use_id: 'z' }),
    'two-results': (body) => body.messages[2].content.push(body.messages[2].content[1]),
    'results-first': (body) => body.messages[2].content.unshift({ type: 'text', text: 'first' }),
    'repeated-call-id': (body) => (body.messages[1].content[5].id = 'a'),
    'call-id': (body) => (body.messages[1].content[3].id = 'functions.t:0'),
    'call-input': (body) => (body.messages[1].content[3].input = '{}'),
    'tool-name': (body) => (body.tools[0].name = 'a.b'),
    'repeated-tool': (body) => body.tools.push(body.tools[0]),
    'schema-type': (body) => (body.tools[0].input_schema = {}),
    'schema-choice': (body) => (body.tools[0].input_schema.anyOf = []),
    'schema-draft': (body) => (body.tools[0].input_schema.properties.a.items = { exclusiveMinimum: true }),
    'property-name': (body) => (body.tools[0].input_schema.properties['a[]'] = {}),
    'image-type': (body) => (body.messages[2].content[0].content[0].source.media_type = 'image/bmp'),
    'image-bytes': (body) => (body.messages[2].content[0].content[0].source.media_type = 'image/gif'),
    'no-image': (body) => (body.messages[2].content[0].content[0].source.data = btoa('version https://git-lfs')),
    'image-size': (body) => (body.messages[2].content[0].content[0].source.data = PNG.padEnd(6_000_000, 'A')),
    'image-pixels': (body) => (body.messages[2].content[0].content[0].source.data = wide(8001)),
    budget: (body) => (body.thinking.budget_tokens = 1000),
    'budget-below-limit': (body) => (body.max_tokens = 2000),
    'budget-of-new-models': (body) => (body.model = 'claude-opus-4-7'),
    'adaptive-of-old-models': (body) => (body.thinking = { type: 'adaptive' }),
    temperature: (body) => (body.temperature = 0.5),
    'top-k': (body) => (body.top_k = 5),
    'turn-begins-with-thinking': (body) => body.messages[1].content.splice(0, 2),
    'thinking-while-off': (body) => delete body.thinking,
    'thinking-last': (body) => body.messages[1].content.pop(),
    signature: (body) => (body.messages[1].content[0].thinking = 'another'),
    account: (body, headers) => {
      body.model = 'claude-haiku-5-5'
      body.thinking = { type: 'adaptive' }
      headers['x-api-key'] = 'another'
    },
    'latest-unmodified': (body) => {
      const { content } = body.messages[1]
      body.messages[1].content = [content[0], content[1], content[4], content[2], content[3], content[5]]
    },
    prefix: (body) => {
      body.model = 'claude-fable-5-1'
      body.thinking = { type: 'adaptive' }
      body.messages[0].content = 'another'
    },
  },
}

const chat: Example = {
  format: chatCompletions,
  path: '/v1/chat/completions',
  answer: {
    reasoning: 'hm',
    parts: [{ call: { id: 'aaaaaaaaa', name: 't', arguments: {} }, signature: 'c1' }],
  },
  body: {
    model: 'gemini-3-pro',
    tools: [{ type: 'function', function: { name: 't', parameters: SCHEMA } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'aaaaaaaaa',
            type: 'function',
            function: { name: 't', arguments: '{}' },
            extra_content: { google: { thought_signature: 'c1' } },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'aaaaaaaaa', content: 'x' },
    ],
  },
  breaks: {
    'unanswered-call': (body) => body.messages.pop(),
    'result-without-call': (body) => body.messages.push({ role: 'tool', tool_call_id: 'z', content: 'x' }),
    'repeated-call-id': (body) => body.messages[1].tool_calls.push(body.messages[1].tool_calls[0]),
    'call-id': (body) => {
      body.messages[1].tool_calls[0].id = LONG
      body.messages[2].tool_call_id = LONG
    },
    'call-arguments': (body) => (body.messages[1].tool_calls[0].function.arguments = '{"a'),
    content: (body) => (body.messages[0].content = null),
    'empty-calls': (body) => body.messages.push({ role: 'assistant', content: 'x', tool_calls: [] }),
    'image-role': (body) => (body.messages[2].content = body.messages[0].content),
    stops: (body) => (body.stop = ['a', 'b', 'c', 'd', 'e']),
    'limit-of-reasoning-models': (body) => Object.assign(body, { model: 'gpt-5', max_tokens: 100 }),
    'tool-name': (body) => (body.tools[0].function.name = 'a.b'),
    'many-tools': (body) => (body.tools = Array.from({ length: 129 }, () => body.tools[0])),
    'schema-type': (body) => (body.tools[0].function.parameters = {}),
    'schema-choice': (body) => (body.tools[0].function.parameters.oneOf = []),
    'schema-items': (body) => delete body.tools[0].function.parameters.properties.a.items,
    'image-type': (body) => (body.messages[0].content[1].image_url.url = `data:image/bmp;base64,${btoa('BM')}`),
    temperature: (body) => Object.assign(body, { model: 'gpt-5', temperature: 0.5 }),
    'reasoning-missing': (body) => (body.model = 'deepseek-v4-pro'),
    'reasoning-refused': (body) => {
      body.model = 'openai/gpt-oss-120b'
      body.messages[1].reasoning_content = 'hm'
    },
    'signature-missing': (body) => delete body.messages[1].tool_calls[0].extra_content,
    signature: (body) => (body.messages[1].tool_calls[0].extra_content.google.thought_signature = 'odd'),
    'call-id-of-mistral': (body) => {
      body.model = 'devstral-medium'
      body.messages[1].tool_calls[0].id = 'call_1'
      body.messages[2].tool_call_id = 'call_1'
    },
  },
}

const GRAMMAR = 'start: "go" (" " WORD)*\nWORD: /[a-z]+/'

const openAi: Example = {
  format: responses,
  path: '/v1/responses',
  answer: {
    parts: [{ thinking: 'one', signature: 'e1' }, { call: { id: 'a', name: 't', arguments: {} } }],
  },
  body: {
    model: 'gpt-5',
    store: false,
    tools: [
      { type: 'function', name: 't', parameters: SCHEMA },
      { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR } },
    ],
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi' },
          { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'one' }], encrypted_content: 'e1' },
      { type: 'function_call', call_id: 'a', name: 't', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'x' },
      { type: 'custom_tool_call', call_id: 'b', name: 'c', input: 'go' },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'x' },
    ],
  },
  breaks: {
    'unanswered-call': (body) => body.input.splice(3, 1),
    'result-without-call': (body) => body.input.push({ type: 'function_call_output', call_id: 'z', output: 'x' }),
    'repeated-call-id': (body) => body.input.push(body.input[2], body.input[3]),
    'call-id': (body) => {
      body.input[2].call_id = LONG
      body.input[3].call_id = LONG
    },
    'call-arguments': (body) => (body.input[2].arguments = '[]'),
    'reasoning-last': (body) => body.input.push({ ...body.input[1], id: 'rs_2' }),
    'reasoning-not-stored': (body) => delete body.input[1].encrypted_content,
    encrypted: (_, headers) => (headers['authorization'] = 'Bearer another'),
    'repeated-reasoning': (body) => body.input.splice(1, 0, body.input[1]),
    'content-type': (body) => (body.input[0].content[0].type = 'output_text'),
    'output-limit': (body) => (body.max_output_tokens = 10),
    effort: (body) => Object.assign(body, { model: 'gpt-4.1', reasoning: { effort: 'low' } }),
    'tool-name': (body) => (body.tools[0].name = LONG),
    'many-tools': (body) => (body.tools = Array.from({ length: 129 }, () => body.tools[0])),
    'schema-type': (body) => (body.tools[0].parameters = { type: 'string' }),
    'schema-choice': (body) => (body.tools[0].parameters.not = {}),
    'schema-items': (body) => (body.tools[0].parameters.properties.a = { type: ['array', 'null'] }),
    'image-type': (body) => (body.input[0].content[1].image_url = `data:image/png;base64,${btoa('version https')}`),
    temperature: (body) => (body.temperature = 0),
    'custom-tool-model': (body) => (body.model = 'gpt-4.1'),
    'custom-tool-name': (body) => delete body.tools[1].name,
    'custom-tool-format': (body) => (body.tools[1].format.syntax = 'ebnf'),
    'custom-tool-grammar': (body) => (body.tools[1].format.definition = 'start: "a" rest'),
    'custom-call': (body) => (body.input[4].input = { patch: 'go' }),
    'unanswered-custom-call': (body) => (body.input[5].type = 'function_call_output'),
    'custom-result-without-call': (body) => (body.input[4].call_id = 'z'),
  },
}

const google: Example = {
  format: gemini,
  path: '/v1beta/models/gemini-3-pro:generateContent',
  answer: {
    parts: [
      { text: '', signature: 't1' },
      { call: { id: 'a', name: 't', arguments: {} }, signature: 'c1' },
    ],
  },
  body: {
    tools: [{ functionDeclarations: [{ name: 't', parameters: SCHEMA }] }],
    contents: [
      { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: PNG } }] },
      {
        role: 'model',
        parts: [
          { text: '', thoughtSignature: 't1' },
          { functionCall: { name: 't', args: {} }, thoughtSignature: 'c1' },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 't', response: {} } }] },
    ],
  },
  breaks: {
    role: (body) => (body.contents[0].role = 'system'),
    'first-role': (body) => body.contents.unshift({ role: 'model', parts: [{ text: 'hi' }] }),
    'empty-content': (body) => (body.contents[0].parts = []),
    'empty-part': (body) => (body.contents[0].parts[0].text = ''),
    'image-type': (body) => (body.contents[0].parts[1].inlineData.mimeType = 'image/gif'),
    'image-bytes': (body) => (body.contents[0].parts[1].inlineData.data = btoa('BM')),
    'call-after-user': (body) => body.contents.splice(1, 0, { role: 'model', parts: [{ text: 'x' }] }),
    'response-count': (body) => body.contents[2].parts.push(body.contents[2].parts[0]),
    'response-without-call': (body) => (body.contents[2].parts[0].functionResponse.name = 'z'),
    'signature-missing': (body) => delete body.contents[1].parts[1].thoughtSignature,
    signature: (body) => (body.contents[1].parts[0].thoughtSignature = 'odd'),
    'tool-name': (body) => (body.tools[0].functionDeclarations[0].name = '1t'),
    'schema-items': (body) => delete body.tools[0].functionDeclarations[0].parameters.properties.a.items,
    'schema-member': (body) => (body.tools[0].functionDeclarations[0].parameters.$ref = '#'),
  },
}

const HEADERS = { 'anthropic-version': '2023-06-01', 'x-api-key': 'k', authorization: 'Bearer k' }

describe.each([anthropic, chat, openAi, google])('$format.name', ({ format, path, answer, body, breaks }) => {
  let model: ScriptedModel
  beforeAll(async () => {
    model = await startScriptedModel({ respond: () => answer })
    // The answer follows the first message, whatever the rules say about the model of the request.
    for (const name of ['claude-sonnet-4-5', 'claude-haiku-5-5', 'claude-fable-5-1', 'gpt-5'])
      await ask({ ...first(body), model: name })
  })
  afterAll(() => model[Symbol.asyncDispose]())

  const ask = (asked: Loose, headers: Record<string, string> = HEADERS) =>
    fetch(model.url + path, { method: 'POST', headers, body: JSON.stringify(asked) })

  test('a history that is sent back as it came is accepted', async () => {
    const refused = await ask(body)
    expect(await refused.text()).not.toContain('"error"')
    expect(model.requests.at(-1)!.refusals).toEqual([])
  })

  test('each rule has a source and an example that breaks it', () => {
    expect(format.rules.map(({ id }) => id).toSorted()).toEqual(Object.keys(breaks).toSorted())
    expect(format.rules.filter(({ source }) => !URL.canParse(source))).toEqual([])
  })

  test.each(Object.entries(breaks))('the rule %s refuses a request that breaks it', async (id, breakIt) => {
    const [broken, headers] = [structuredClone(body), { ...HEADERS }]
    breakIt(broken, headers)
    const response = await ask(broken, headers)
    const { refusals } = model.requests.at(-1)!
    const refusal = refusals.find(({ rule }) => rule === id)
    expect(refusals.map(({ rule }) => rule)).toContain(id)
    expect(response.status).toBe(refusals[0]!.status)
    expect(refusal!.message).not.toMatch(/undefined|\[object/)
    expect(await response.json()).toMatchObject({ error: { message: refusals[0]!.message } })
  })
})

/** The request that the answer follows. */
function first(body: Loose): Loose {
  const [name] = ['messages', 'input', 'contents'].filter((member) => member in body)
  const { thinking: _, ...rest } = body
  return { ...rest, [name!]: body[name!].slice(0, 1) }
}

test('a lenient server answers what its vendor refuses, and still reports it', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'x' }], lenient: 'this test is about it' })
  const body = { messages: [{ role: 'tool', tool_call_id: 'z', content: 'x' }] }
  const response = await fetch(`${model.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  expect(response.status).toBe(200)
  expect(model.violations).toEqual([expect.stringContaining('result-without-call')])
})
