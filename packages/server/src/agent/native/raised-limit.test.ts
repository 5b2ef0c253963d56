/** The request after an answer that was cut off at its output limit. */
import { Agent, type LLMInput } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FORMAT_NAMES, llmRecord } from '../../../testing/model-formats/configs.ts'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from '../../../testing/scripted-model.ts'
import { notice } from '../drafts.ts'
import { knownModel } from '../../llm/models/known-model.ts'
import { cutAnswerIn } from './answer-end.ts'
import { openTestAgent } from './native-agent.testing.ts'
import { never, StepDriver } from './step-driver.testing.ts'

type Format = (typeof FORMAT_NAMES)[number]

const CONFIGURED = 8000
/** The longest answers of the models in the records of the formats. */
const LONGEST: Record<Format, number> = { chat: 16_384, responses: 128_000, anthropic: 64_000, gemini: 65_536 }

let model: ScriptedModel
let at: Awaited<ReturnType<typeof openTestAgent>>
let answers: ScriptedAnswer[] = []
/** Requests of the tests before. */
let earlier = 0
beforeAll(async () => {
  model = await startScriptedModel({ respond: () => answers.shift()! })
  at = await openTestAgent([], { agent: { tools: [{ name: 'FileEditorTool' }] } })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

const say = (driver: StepDriver, text: string) =>
  driver.commit([{ ...notice(text), source: 'user' } as ReturnType<typeof notice>])

function begin(format: Format, next: readonly ScriptedAnswer[], more: LLMInput = {}): StepDriver {
  answers = [...next]
  earlier = model.requests.length
  const llm = llmRecord(format, model.url, { num_retries: 0, max_output_tokens: CONFIGURED, ...more })
  at.agent.reconfigure(Agent.parse({ ...at.config, llm }))
  const driver = new StepDriver()
  driver.commit(at.agent.preamble(driver.state))
  say(driver, 'do it')
  return driver
}

const think = (driver: StepDriver) => driver.drive(at.agent.think(driver.context, never))
const execute = (driver: StepDriver) => driver.drive(at.agent.execute(driver.open(), driver.context, never))

/** Takes the limit out of a body. */
function split(body: any): { limit: number | undefined; rest: any } {
  const { max_tokens, max_output_tokens, max_completion_tokens, generationConfig, ...others } = body
  const { maxOutputTokens, ...config } = generationConfig ?? {}
  const { messages: _m, input: _i, contents: _c, ...rest } = others
  return {
    limit: max_tokens ?? max_output_tokens ?? max_completion_tokens ?? maxOutputTokens,
    rest: { ...rest, config },
  }
}
const sent = () => model.requests.slice(earlier).map(({ body }) => split(body))
const limits = () => sent().map(({ limit }) => limit)

const THOUGHT = { thinking: [{ thinking: 'hm', signature: 's' }] }
const CUT_CALL = { name: 'file_editor', arguments: '{"command": "create", "path": "/a.txt", "file_text": "first li' }
const ENDS: Record<string, ScriptedAnswer> = {
  'a text': { text: 'Half' },
  'a call': { toolCalls: [CUT_CALL] },
  thinking: {},
}

test.each(FORMAT_NAMES.flatMap((format) => Object.entries(ENDS).map(([name, end]) => ({ format, name, end }))))(
  'over $format, the request after $name that was cut off has a higher limit and nothing else that differs',
  async ({ format, end }) => {
    const driver = begin(format, [
      { ...THOUGHT, ...end, finishReason: 'length', usage: { output: CONFIGURED } },
      { ...THOUGHT, text: 'Whole' },
      { text: 'And more' },
    ])
    await think(driver)
    await execute(driver)
    await think(driver)
    say(driver, 'go on')
    await think(driver)
    expect(limits()).toEqual([CONFIGURED, LONGEST[format], CONFIGURED])
    const [first, second, third] = sent()
    expect(second!.rest).toEqual(first!.rest)
    expect(third!.rest).toEqual(first!.rest)
    expect(model.violations).toEqual([])
  },
)

test('after a call, the limit is the usual one again', async () => {
  const complete = { name: 'file_editor', arguments: { command: 'view', path: at.at('.') } }
  const driver = begin('chat', [
    { text: 'Half', finishReason: 'length' },
    { toolCalls: [complete] },
    { toolCalls: [complete] },
    { text: 'Done' },
  ])
  for (let n = 0; n < 4; n++) {
    await think(driver)
    await execute(driver)
  }
  expect(limits()).toEqual([CONFIGURED, 16_384, CONFIGURED, CONFIGURED])
})

test('a limit of the server that an answer reached is raised, too', async () => {
  const cut = { text: 'Half', finishReason: 'length' as const, usage: { output: 4096 } }
  const driver = begin('chat', [cut, { text: 'Whole' }], { model: 'openai/glm-4.6', max_output_tokens: null })
  await think(driver)
  await think(driver)
  // Half of the window: the longest answer of the model is longer.
  expect(limits()).toEqual([undefined, knownModel('glm-4.6')!.window! / 2])
})

test.each<[string, LLMInput, number]>([
  ['the table does not have', { model: 'openai/unheard-of' }, CONFIGURED],
  ['has no longer answers', { model: 'openai/gpt-4o', max_output_tokens: 16_384 }, 16_384],
])('the limit of a model that %s stays', async (_name, more, limit) => {
  const driver = begin('chat', [{ text: 'Half', finishReason: 'length' }, { text: 'Whole' }], more)
  await think(driver)
  await think(driver)
  expect(limits()).toEqual([limit, limit])
})

test.each<[string, number, number, number]>([
  ['takes half of what the window has left', 100_000, 200_000, 50_000],
  ['stays where the window has too little left', 190_000, 200_000, CONFIGURED],
  ['follows a smaller window that the server reports', 10_000, 64_000, 27_000],
])('a raised limit %s', async (_name, per_turn_token, context_window, limit) => {
  const driver = begin('anthropic', [{ text: 'Half', finishReason: 'length' }, { text: 'Whole' }])
  await think(driver)
  const usage = { per_turn_token, context_window }
  driver.state = { ...driver.state, stats: { default: { accumulated_token_usage: usage } } as never }
  await think(driver)
  expect(limits()).toEqual([CONFIGURED, limit])
})

test('a server that refuses the higher limit is asked with the usual one', async () => {
  const driver = begin('chat', [
    { text: 'Half', finishReason: 'length', usage: { output: CONFIGURED } },
    { status: 400, error: 'max_tokens is too large: 16384. This model supports at most 8192 completion tokens.' },
    { text: 'Whole' },
  ])
  await think(driver)
  await think(driver)
  expect(limits()).toEqual([CONFIGURED, 16_384, CONFIGURED])
  expect(driver.state.owes_step).toBe(false)
})

test('a refusal of a request with the usual limit is not repeated', async () => {
  const driver = begin('chat', [{ status: 400, error: 'max_tokens is too large' }, { text: 'Whole' }])
  await expect(think(driver)).rejects.toMatchObject({ code: 'LLMBadRequestError' })
  expect(limits()).toEqual([CONFIGURED])
})

test('the log alone says that an answer was cut off: another agent over the same view decides the same', async () => {
  const complete = { name: 'file_editor', arguments: { command: 'view', path: at.at('.') } }
  const driver = begin('chat', [
    { toolCalls: [complete, CUT_CALL], finishReason: 'length', usage: { output: 777 } },
    { toolCalls: [complete] },
  ])
  expect(cutAnswerIn(driver.context.view())).toBeNull()
  await think(driver)
  await execute(driver)
  expect(cutAnswerIn(driver.context.view())).toBe(777)
  say(driver, 'This call of file_editor was cut off after 5 tokens, because the answer reached its output limit.')
  expect(cutAnswerIn(driver.context.view())).toBe(777)
  await think(driver)
  expect(cutAnswerIn(driver.context.view())).toBeNull()
})
