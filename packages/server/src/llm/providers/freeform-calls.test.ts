/** Tools that GPT-5 calls with a text over Responses, against the rules of its vendor. */
import type { LLMInput } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sentBack } from '../../../testing/answers.ts'
import { llmRecord } from '../../../testing/model-formats/configs.ts'
import { openTestTransport } from '../../../testing/requests.ts'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from '../../../testing/scripted-model.ts'
import { openLlm, type LlmMessage, type LlmTool, type Transport } from '../index.ts'

const NEVER = new AbortController().signal
const PATCH = '*** Begin Patch\n*** Add File: a "b".txt\n+it\'s\t1 \\n\n*** End Patch'
const GRAMMAR = 'start: "*** Begin Patch" LF /[^\\0]*/\nLF: "\\n"'
const parameters = { type: 'object', properties: { patch: { type: 'string' } }, required: ['patch'] }
const TOOLS: LlmTool[] = [
  { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
  {
    name: 'apply_patch',
    description: 'Patches.',
    parameters,
    freeform: { parameter: 'patch', grammar: GRAMMAR, description: 'A text.' },
  },
]
const USER: LlmMessage = { role: 'user', content: [{ type: 'text', text: 'go' }] }
const CALL = { id: 'call_p', name: 'apply_patch', arguments: { patch: PATCH } }
const result = (toolCallId: string, toolName = 'apply_patch'): LlmMessage => ({
  role: 'tool',
  toolCallId,
  toolName,
  content: [{ type: 'text', text: 'done' }],
  isError: false,
})

let transport: Transport
beforeAll(() => {
  transport = openTestTransport()
})
afterAll(() => transport[Symbol.dispose]())

type Format = Parameters<typeof llmRecord>[0]
const open = (format: Format, model: ScriptedModel, more: LLMInput = {}) =>
  openLlm(llmRecord(format, model.url, { num_retries: 0, ...more }), { transport })
const toolsIn = (model: ScriptedModel) => (model.requests.at(-1)!.body as any).tools as any[]
const inputOf = (model: ScriptedModel) => (model.requests.at(-1)!.body as any).input as any[]

async function offered(format: Format, more: LLMInput = {}) {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }) })
  await open(format, model, more).complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(model.violations).toEqual([])
  return JSON.stringify(toolsIn(model))
}

test('GPT-5 is offered the tool with its grammar over Responses', async () => {
  const tools = JSON.parse(await offered('responses'))
  expect(tools).toMatchObject([
    { type: 'function', name: 'look' },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'A text.',
      format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR },
    },
  ])
})

test.each<[string, Format, LLMInput]>([
  ['GPT-4.1 over Responses', 'responses', { model: 'openai/gpt-4.1' }],
  ['a chat variant', 'responses', { model: 'openai/gpt-5-chat-latest' }],
  ['GPT-5 over Chat Completions', 'chat', { model: 'openai/gpt-5' }],
  ['Claude', 'anthropic', {}],
  ['Gemini', 'gemini', {}],
  ['a model without the capability', 'responses', { capability_overrides: { supports_custom_tools: false } }],
])('%s is offered the tool with its schema', async (_name, format, more) => {
  const tools = await offered(format, more)
  expect(tools).toContain('"patch"')
  expect(tools).not.toMatch(/grammar|custom/)
})

test('a call is read as JSON arguments, and sent back as its text with a result of its kind', async () => {
  await using model = await startScriptedModel({
    answers: [
      {
        reasoning: 'hm',
        signature: 'e1',
        toolCalls: [{ id: 'call_l', name: 'look', arguments: {} }, CALL],
        chunkSize: 5,
      },
      { text: 'ok' },
      { text: 'ok' },
    ],
  })
  const llm = open('responses', model)
  const first = await llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(first.toolCalls).toEqual([
    { id: 'call_l', name: 'look', arguments: '{}' },
    { id: 'call_p', name: 'apply_patch', arguments: JSON.stringify({ patch: PATCH }) },
  ])
  const history = [USER, sentBack(first), result('call_l', 'look'), result('call_p')]
  await llm.complete({ messages: history, tools: TOOLS }, () => {}, NEVER)
  expect(inputOf(model).slice(1)).toMatchObject([
    { type: 'reasoning', encrypted_content: 'e1' },
    { type: 'function_call', name: 'look', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'call_p', name: 'apply_patch', input: PATCH },
    { type: 'function_call_output', call_id: 'call_l', output: 'done' },
    { type: 'custom_tool_call_output', call_id: 'call_p', output: 'done' },
  ])
  // Without the tools, as in a request for a summary, the calls are those of functions.
  await llm.complete({ messages: history, tools: [] }, () => {}, NEVER)
  expect(inputOf(model)[3]).toMatchObject({ type: 'function_call', arguments: JSON.stringify({ patch: PATCH }) })
  expect(model.violations).toEqual([])
})

/** Lets the model of one format call the tool, and returns the request to another format with this history. */
async function switched(from: Format, to: Format): Promise<any> {
  await using model = await startScriptedModel({ answers: [{ toolCalls: [CALL] }, { text: 'ok' }] })
  const first = await open(from, model).complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  const id = first.toolCalls[0]!.id
  const messages = [USER, sentBack(first), result(id)]
  await open(to, model).complete({ messages, tools: TOOLS }, () => {}, NEVER)
  expect(model.violations).toEqual([])
  return model.requests.at(-1)!.body
}

test.each<Format>(['chat', 'anthropic', 'gemini'])(
  'calls of the %s format and freeform calls become each other',
  async (format) => {
    const { input } = await switched(format, 'responses')
    expect(input.slice(1)).toMatchObject([
      { type: 'custom_tool_call', input: PATCH },
      { type: 'custom_tool_call_output', output: 'done' },
    ])
    const body = await switched('responses', format)
    const call =
      body.messages?.[1].tool_calls?.[0].function.arguments ??
      body.messages?.[1].content[0].input ??
      body.contents[1].parts[0].functionCall.args
    expect(typeof call === 'string' ? JSON.parse(call) : call).toEqual({ patch: PATCH })
  },
)

test.each([
  '`custom` tools are not supported on this endpoint',
  'tools.1.custom.input_schema: Input does not match the expected shape.',
  "Invalid value: 'custom'. Supported values are: 'function'.",
  'Lark grammar: unknown directive in line 3.',
  "Invalid 'tools[1].format': expected an object.",
])('a server that refuses custom tools, "%s", is asked with functions from then on', async (error) => {
  const refusing = ({ text }: { text: string }): ScriptedAnswer =>
    text.includes('"custom"') ? { status: 400, error } : { toolCalls: [CALL] }
  await using model = await startScriptedModel({ respond: refusing })
  const llm = open('responses', model)
  const ask = () => llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  for (let n = 0; n < 2; n++) expect((await ask()).toolCalls[0]!.arguments).toBe(JSON.stringify({ patch: PATCH }))
  expect(model.requests.map(({ text }) => text.includes('"custom"'))).toEqual([true, false, false])
})

test('a refusal about another part of the request is not repeated', async () => {
  await using model = await startScriptedModel({
    respond: () => ({ status: 400, error: 'No tool output found for custom tool call call_p.' }),
  })
  const asked = open('responses', model).complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/^LLM/) })
  expect(model.requests).toHaveLength(1)
})

test.each([1, 7, 400_000])(
  'a call that the output limit has cut off has what arrived of its text, in pieces of %i characters',
  async (chunkSize) => {
    const half = `*** Begin Patch\n*** Add File: ä\n+${'½'.repeat(chunkSize)}`
    await using model = await startScriptedModel({
      answers: [{ toolCalls: [{ ...CALL, arguments: half }], finishReason: 'length', chunkSize }],
    })
    const answer = await open('responses', model).complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
    expect(answer).toMatchObject({
      finishReason: 'length',
      toolCalls: [{ arguments: JSON.stringify({ patch: half }) }],
    })
  },
)
