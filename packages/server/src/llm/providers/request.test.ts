import { openTestTransport } from '../../../testing/requests.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LLMInput } from '@parley/protocol'
import { llmRecord } from '../../../testing/model-formats/configs.ts'
import { startScriptedModel } from '../../../testing/scripted-model.ts'
import { openLlm, type LlmMessage, type Transport } from '../index.ts'

const NEVER = new AbortController().signal
const MESSAGES: LlmMessage[] = [
  { role: 'system', content: [{ type: 'text', text: 'be brief' }] },
  { role: 'user', content: [{ type: 'text', text: 'hi' }] },
]

let transport: Transport
beforeAll(() => {
  transport = openTestTransport()
})
afterAll(() => transport[Symbol.dispose]())

async function bodyOf(
  format: Parameters<typeof llmRecord>[0],
  more: LLMInput,
  lenient?: string,
): Promise<Record<string, unknown>> {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }), lenient })
  await openLlm(llmRecord(format, model.url, more), { transport }).complete(
    { messages: MESSAGES, tools: [] },
    () => {},
    NEVER,
  )
  return model.requests[0]?.body ?? {}
}

test('Chat Completions get all settings', async () => {
  const body = await bodyOf('chat', {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    seed: 7,
    max_output_tokens: 500,
    litellm_extra_body: { custom: { x: 1 } },
  })
  expect(body).toMatchObject({
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    seed: 7,
    max_tokens: 500,
    custom: { x: 1 },
    stream: true,
  })
  expect(body).not.toHaveProperty('reasoning_effort')
  expect(body).not.toHaveProperty('tools')
})

test('a reasoning model behind a base URL gets its effort and no sampling settings', async () => {
  const body = await bodyOf('chat', {
    model: 'openai/gpt-5',
    temperature: 0.5,
    max_output_tokens: 500,
    reasoning_effort: 'low',
  })
  expect(body).toMatchObject({ reasoning_effort: 'low', max_completion_tokens: 500 })
  expect(body).not.toHaveProperty('temperature')
  expect(body).not.toHaveProperty('max_tokens')
})

test('an unknown effort is passed on', async () => {
  expect(await bodyOf('chat', { model: 'openai/gpt-9', reasoning_effort: 'ultra' })).toMatchObject({
    reasoning_effort: 'ultra',
  })
})

test('Responses get effort, limit and extra members', async () => {
  const body = await bodyOf('responses', {
    max_output_tokens: 500,
    reasoning_effort: 'medium',
    reasoning_summary: 'auto',
    litellm_extra_body: { custom: true },
  })
  expect(body).toMatchObject({
    max_output_tokens: 500,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    custom: true,
    prompt_cache_retention: '24h',
  })
})

test('newer Anthropic models get adaptive thinking; unknown ones get none', async () => {
  expect(await bodyOf('anthropic', { model: 'anthropic/claude-opus-4-6', max_output_tokens: 9000 })).toMatchObject({
    max_tokens: 9000,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  })
  expect(
    await bodyOf('anthropic', { model: 'anthropic/claude-3-5-haiku-20241022', temperature: 0.3, top_k: 5 }),
  ).toMatchObject({ temperature: 0.3, top_k: 5 })
  expect(await bodyOf('anthropic', { model: 'anthropic/claude-3-5-haiku-20241022' })).not.toHaveProperty('thinking')
})

test('Gemini gets sampling, limit and thoughts', async () => {
  const body = await bodyOf('gemini', {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    max_output_tokens: 500,
    reasoning_effort: 'low',
  })
  expect(body).toMatchObject({
    generationConfig: {
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 500,
      thinkingConfig: { includeThoughts: true },
    },
  })
})

test('Claude behind a proxy gets cache breakpoints on content parts, and none without caching', async () => {
  const name = { model: 'litellm_proxy/anthropic/claude-sonnet-4-5' }
  const marked = [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }]
  expect(await bodyOf('chat', name)).toMatchObject({
    model: 'anthropic/claude-sonnet-4-5',
    messages: [
      { role: 'system', content: marked },
      { role: 'user', content: [{ cache_control: { type: 'ephemeral' } }] },
    ],
  })
  expect(JSON.stringify(await bodyOf('chat', { ...name, caching_prompt: false }))).not.toContain('cache_control')
  expect(JSON.stringify(await bodyOf('anthropic', { caching_prompt: false }))).not.toContain('cache_control')
})

test('`prompt_cache_retention: 1h` keeps what breakpoints of Claude mark for an hour, and other values for five minutes', async () => {
  for (const [retention, expected] of [
    ['1h', { type: 'ephemeral', ttl: '1h' }],
    ['5m', { type: 'ephemeral' }],
    ['24h', { type: 'ephemeral' }],
    [null, { type: 'ephemeral' }],
  ]) {
    const { system } = await bodyOf('anthropic', { prompt_cache_retention: retention as string | null })
    expect(system).toMatchObject([{ cache_control: expected }])
  }
})

test('a Gemini with a thinking budget keeps it within the output limit', async () => {
  const { generationConfig } = await bodyOf('gemini', { max_output_tokens: 10_000, reasoning_effort: 'medium' })
  expect(generationConfig).toMatchObject({ maxOutputTokens: 10_000, thinkingConfig: { thinkingBudget: 3000 } })
})

test('`drop_params: false` sends settings that a model may refuse', async () => {
  const settings = { model: 'openai/gpt-5', temperature: 0.5, drop_params: false }
  const body = await bodyOf('chat', settings, 'the model refuses the setting')
  expect(body).toMatchObject({ temperature: 0.5 })
})

test.each<[LLMInput, (string | undefined)[]]>([
  [{}, [undefined, undefined]],
  [{ openrouter_site_url: 'https://example.org', openrouter_app_name: 'Ours' }, ['https://example.org', 'Ours']],
])('OpenRouter gets the site and the application from the configuration: %o', async (more, expected) => {
  await using model = await startScriptedModel({ respond: () => ({ text: 'ok' }) })
  const llm = openLlm(llmRecord('chat', model.url, { model: 'openrouter/some/model', ...more }), { transport })
  await llm.complete({ messages: MESSAGES, tools: [] }, () => {}, NEVER)
  const { headers } = model.requests[0]!
  expect([headers['http-referer'], headers['x-title']]).toEqual(expected)
})

test.each<[string, LLMInput, number]>([
  ['a model of another vendor: its longest answer', { model: 'anthropic/kimi-k2-0711-preview' }, 16_384],
  ['a longer answer: a quarter of the window', { model: 'anthropic/kimi-k2.5' }, 65_536],
  ['a plan that names its model otherwise', { model: 'anthropic/code', model_canonical_name: 'glm-4.5' }, 32_768],
  ['a model whose limit is not known', { model: 'anthropic/unheard-of' }, 32_000],
  ['a configured limit', { model: 'anthropic/glm-4.6', max_output_tokens: 500 }, 500],
])("Anthropic's format gets an output limit for %s", async (_name, more, limit) => {
  expect(await bodyOf('anthropic', more)).toMatchObject({ max_tokens: limit })
})
