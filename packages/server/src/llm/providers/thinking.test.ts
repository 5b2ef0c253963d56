import { openTestTransport } from '../../../testing/requests.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { llmRecord } from '../../../testing/model-formats/configs.ts'
import { startScriptedModel } from '../../../testing/scripted-model.ts'
import { openLlm, type LlmAnswer, type LlmMessage, type LlmTool, type Transport } from '../index.ts'

const NEVER = new AbortController().signal
const USER: LlmMessage = { role: 'user', content: [{ type: 'text', text: 'go' }] }
const TOOLS: LlmTool[] = [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }]
const CALL = [{ id: 'call_look', name: 'look', arguments: {} }]
const RESULT: LlmMessage = {
  role: 'tool',
  toolCallId: 'call_look',
  toolName: 'look',
  content: [{ type: 'text', text: 'seen' }],
  isError: false,
}

let transport: Transport
beforeAll(() => {
  transport = openTestTransport()
})
afterAll(() => transport[Symbol.dispose]())

const asMessage = ({ text, toolCalls, reasoning, thinkingBlocks, reasoningItem }: LlmAnswer): LlmMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  toolCalls,
  ...(reasoning === null ? {} : { reasoning }),
  thinkingBlocks,
  reasoningItem: reasoningItem ?? null,
})

/** Signatures are opaque: any change of a byte makes the vendor refuse them. */
const SIGNATURE = `EqoBCkgI+/=${'aZ09+/'.repeat(300)}==`

test('thinking blocks are sent back to Anthropic first, byte for byte and in order', async () => {
  const thinking = [
    { thinking: 'First "this"\n\tthen\u2028 that 🦜', signature: SIGNATURE },
    { redacted: 'cGFycm90/+==' },
  ]
  await using model = await startScriptedModel({
    answers: [{ thinking, text: 'I look.', toolCalls: CALL, chunkSize: 3 }, { text: 'done' }],
  })
  const llm = openLlm(llmRecord('anthropic', model.url), { transport })
  const answer = await llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(answer.thinkingBlocks).toEqual([
    { type: 'thinking', thinking: 'First "this"\n\tthen\u2028 that 🦜', signature: SIGNATURE },
    { type: 'redacted_thinking', data: 'cGFycm90/+==' },
  ])
  // As after a restart: through JSON.
  const stored = JSON.parse(JSON.stringify(asMessage(answer))) as LlmMessage
  await llm.complete({ messages: [USER, stored, RESULT], tools: TOOLS }, () => {}, NEVER)
  const sent = model.requests[1]?.body.messages as { content: Record<string, unknown>[] }[]
  expect(sent[1]?.content.slice(0, 2)).toEqual([
    { type: 'thinking', thinking: 'First "this"\n\tthen\u2028 that 🦜', signature: SIGNATURE },
    { type: 'redacted_thinking', data: 'cGFycm90/+==' },
  ])
  expect(model.violations).toEqual([])
})

test('the thinking budget is part of the configured output limit, not added to it', async () => {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }) })
  const llm = openLlm(llmRecord('anthropic', model.url, { max_output_tokens: 8000 }), { transport })
  await llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(model.requests[0]?.body).toMatchObject({
    max_tokens: 8000,
    thinking: { type: 'enabled', budget_tokens: 4800 },
  })
})

test('a tool loop begun by another model is continued without a thinking budget', async () => {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }) })
  const foreign: LlmMessage = {
    role: 'assistant',
    content: [],
    toolCalls: [{ id: 'call_look', name: 'look', arguments: '{}' }],
    thinkingBlocks: [{ type: 'thinking', thinking: 'x', signature: 'gemini:abc' }],
  }
  const llm = openLlm(llmRecord('anthropic', model.url), { transport })
  await llm.complete({ messages: [USER, foreign, RESULT], tools: TOOLS }, () => {}, NEVER)
  expect(model.violations).toEqual([])
  expect(model.requests[0]?.text).not.toContain('gemini:abc')
})

test('encrypted reasoning is sent back to the Responses API, and nothing is stored there', async () => {
  await using model = await startScriptedModel({
    answers: [{ reasoning: 'a summary', signature: 'gAAAA-encrypted', toolCalls: CALL }, { text: 'done' }],
  })
  const llm = openLlm(llmRecord('responses', model.url), { transport })
  const answer = await llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(answer).toMatchObject({
    reasoning: 'a summary',
    reasoningItem: { summary: ['a summary'], encrypted_content: 'gAAAA-encrypted' },
  })
  await llm.complete(
    { messages: [USER, asMessage(answer), RESULT], tools: TOOLS, cacheKey: 'conversation-1' },
    () => {},
    NEVER,
  )
  const body = model.requests[1]?.body
  expect(body?.input).toContainEqual(
    expect.objectContaining({
      type: 'reasoning',
      encrypted_content: 'gAAAA-encrypted',
      summary: [{ type: 'summary_text', text: 'a summary' }],
    }),
  )
  expect(body).toMatchObject({
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'conversation-1',
  })
  expect(model.violations).toEqual([])
})

test('the thought signature of a Gemini call is sent back with that call', async () => {
  await using model = await startScriptedModel({
    answers: [{ reasoning: 'hm', signature: 'c2lnbmVk', toolCalls: CALL }, { text: 'done' }],
  })
  const llm = openLlm(llmRecord('gemini', model.url), { transport })
  const answer = await llm.complete({ messages: [USER], tools: TOOLS }, () => {}, NEVER)
  expect(answer).toMatchObject({
    reasoning: 'hm',
    thinkingBlocks: [{ type: 'thinking', signature: 'gemini:c2lnbmVk' }],
  })
  await llm.complete({ messages: [USER, asMessage(answer), RESULT], tools: TOOLS }, () => {}, NEVER)
  expect(model.requests[1]?.body.contents).toMatchObject([
    {},
    { role: 'model', parts: [{ functionCall: { name: 'look' }, thoughtSignature: 'c2lnbmVk' }] },
    {},
  ])
  expect(model.violations).toEqual([])
})

test('reasoning text is sent back only to models that need it', async () => {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }) })
  const before: LlmMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'hm' }],
    toolCalls: [],
    reasoning: 'thought so',
  }
  for (const name of ['deepseek/deepseek-reasoner', 'openai/gpt-4o']) {
    const llm = openLlm(llmRecord('chat', model.url, { model: name }), { transport })
    await llm.complete({ messages: [USER, before, USER], tools: [] }, () => {}, NEVER)
  }
  expect(model.requests.map(({ text }) => text.includes('thought so'))).toEqual([true, false])
})
