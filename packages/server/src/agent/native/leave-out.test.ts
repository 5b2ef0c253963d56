/** Recovery from a refused part, with the texts of the vendors: the part leaves the view, and the request is repeated once. */
import { Agent, type ClientToolSpec, type LLMInput } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pngOf } from '../../../testing/images.ts'
import { llmRecord } from '../../../testing/model-formats/configs.ts'
import {
  startScriptedModel,
  type ModelRequest,
  type ScriptedAnswer,
  type ScriptedModel,
} from '../../../testing/scripted-model.ts'
import { messageEvent } from '../view/events.testing.ts'
import { openTestAgent } from './native-agent.testing.ts'
import { never, StepDriver } from './step-driver.testing.ts'

/** An image of its own for each seed. */
const image = (seed: number) => pngOf({ width: 2, height: 2, seed }).toString('base64')
const GOOD = image(1)
const BAD = image(2)
const png = (data: string) => `data:image/png;base64,${data}`

let model: ScriptedModel
let at: Awaited<ReturnType<typeof openTestAgent>>
let respond: (request: ModelRequest) => ScriptedAnswer
const LOOKUP = {
  name: 'lookup',
  description: 'Looks it up.',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  annotations: null,
} as ClientToolSpec
beforeAll(async () => {
  const lenient = 'these servers refuse what the tests say'
  model = await startScriptedModel({ respond: (request) => respond(request), lenient })
  at = await openTestAgent([], { deps: { clientTools: [LOOKUP] } })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

type Format = Parameters<typeof llmRecord>[0]

/** A history of this agent with a first message. */
function begin(format: Format, images: readonly string[] = [], more: LLMInput = {}, url = model.url): StepDriver {
  const llm = llmRecord(format, url, { num_retries: 0, ...more })
  at.agent.reconfigure(Agent.parse({ ...at.config, llm }))
  const driver = new StepDriver()
  driver.commit(at.agent.preamble(driver.state))
  say(driver, 'look', images)
  return driver
}

function say(driver: StepDriver, text: string, images: readonly string[] = []): void {
  const { id: _, timestamp: __, parent_id: ___, ...message } = messageEvent('m', text)
  message.llm_message.content.push(
    ...images.map((url) => ({ type: 'image' as const, image_urls: [url], cache_prompt: false })),
  )
  driver.commit([message])
}

const think = (driver: StepDriver) => driver.drive(at.agent.think(driver.context, never))
const sent = () => model.requests.at(-1)!.text
const noted = (driver: StepDriver) => driver.of('ConversationErrorEvent').map(({ code, detail }) => ({ code, detail }))

/** The place of a text in a body, as JSON path segments. */
function placeOf(node: unknown, text: string, path: (string | number)[] = []): (string | number)[] | null {
  if (typeof node === 'string') return node.includes(text) ? path : null
  if (typeof node !== 'object' || node === null) return null
  for (const [key, value] of Object.entries(node)) {
    const found = placeOf(value, text, [...path, Array.isArray(node) ? Number(key) : key])
    if (found !== null) return found
  }
  return null
}
const dotted = (path: readonly (string | number)[]) => path.join('.')
const bracketed = (path: readonly (string | number)[]) =>
  path.map((name, n) => (typeof name === 'number' ? `[${name}]` : n === 0 ? name : `.${name}`)).join('')

/** Refuses requests that hold the text. */
const refusing =
  (text: string, message: (place: (string | number)[]) => string, status = 400) =>
  (request: ModelRequest): ScriptedAnswer => {
    const place = placeOf(request.body, text)
    return place === null ? { text: 'Done.' } : { status, error: message(place) }
  }

test.each<[string, Format, (place: (string | number)[]) => string, number?]>([
  [
    'Anthropic, for its size',
    'anthropic',
    (place) =>
      `${dotted(place).replace('source.data', 'image.source.base64')}: image exceeds 5 MB maximum: 6521204 bytes > 5242880 bytes`,
  ],
  [
    'Anthropic, for its type',
    'anthropic',
    (place) =>
      `${dotted(place).replace('source.data', 'image.source.base64.data')}: Image does not match the provided media type image/png`,
  ],
  [
    'a chat server',
    'chat',
    (place) =>
      `Invalid value: ${bracketed(place)}: You uploaded an unsupported image. Please make sure your image is valid.`,
  ],
  [
    'Responses',
    'responses',
    (place) => `${bracketed(place)}: You uploaded an unsupported image. Please make sure your image is valid.`,
  ],
])('an image that %s refuses leaves the requests, and the others stay', async (_name, format, message, status) => {
  respond = refusing(BAD, message, status)
  const driver = begin(format, [png(GOOD), png(BAD), png(GOOD)])
  await think(driver)
  expect(noted(driver)).toEqual([
    { code: 'LLMPartLeftOut', detail: expect.stringMatching(/^An image is not sent to models any more: /) },
  ])
  expect(driver.state.owes_step).toBe(true)
  await think(driver)
  expect(driver.state.owes_step).toBe(false)
  expect(sent()).toContain(GOOD)
  expect(sent()).not.toContain(BAD)
  expect(sent()).toContain('[An image is left out: ')
  expect(driver.state.left_out).toMatchObject([{ part: 'image', index: 1 }])
  expect(JSON.stringify(driver.of('MessageEvent')[0])).toContain(BAD)
  say(driver, 'and now?')
  await think(driver)
  expect(sent()).not.toContain(BAD)
})

test('where a server does not say which image it refuses, those after the last answer are meant', async () => {
  respond = () => ({ text: 'Seen.' })
  const driver = begin('gemini', [png(GOOD)])
  await think(driver)
  say(driver, 'and this?', [png(BAD)])
  respond = refusing(BAD, () => 'Unable to process input image. Please retry or report in the docs.')
  await think(driver)
  await think(driver)
  expect(driver.state.owes_step).toBe(false)
  expect(sent()).toContain(GOOD)
})

test('a model without images gets none of the conversation, also where its server reports a failure of its own', async () => {
  respond = refusing('image_url', () => 'image input is not supported - hint: you may need to provide the mmproj', 500)
  const driver = begin('chat', [png(GOOD), png(BAD)], { num_retries: 5 })
  const before = model.requests.length
  await think(driver)
  await think(driver)
  expect(model.requests.length - before).toBe(2)
  expect(driver.state.left_out).toHaveLength(2)
})

test('where a server takes a number of images, the newest stay', async () => {
  respond = ({ text }) =>
    text.split('image_url').length > 4
      ? { status: 400, error: 'At most 2 image(s) may be provided in one request.' }
      : { text: 'ok' }
  const driver = begin('chat', [png(image(3)), png(image(4)), png(GOOD), png(BAD)])
  await think(driver)
  expect(driver.state.left_out).toMatchObject([{ index: 0 }, { index: 1 }])
})

test('a refusal that remains fails the run', async () => {
  respond = () => ({ status: 400, error: 'You uploaded an unsupported image.' })
  const driver = begin('chat', [png(GOOD)])
  await think(driver)
  await expect(think(driver)).rejects.toMatchObject({ code: 'LLMBadRequestError' })
})

const CALL = { name: 'think', arguments: { thought: 'x' } }

test.each<[string, Format, ScriptedAnswer, string]>([
  [
    'Anthropic',
    'anthropic',
    { thinking: [{ thinking: 'hm', signature: 'seal-1' }], toolCalls: [CALL] },
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  [
    'Responses',
    'responses',
    { reasoning: 'hm', signature: 'seal-1', toolCalls: [CALL] },
    'The encrypted content seal...1 could not be verified.',
  ],
  ['Gemini', 'gemini', { signature: 'seal-1', toolCalls: [CALL] }, 'Corrupted thought signature.'],
])('reasoning that %s refuses leaves the requests, and its calls stay', async (_name, format, answer, message) => {
  respond = () => answer
  const driver = begin(format, [], { max_output_tokens: 8000 })
  await think(driver)
  await driver.drive(at.agent.execute(driver.open(), driver.context, never))
  respond = refusing('seal-1', () => message)
  await think(driver)
  expect(noted(driver)).toEqual([
    { code: 'LLMPartLeftOut', detail: expect.stringMatching(/^The reasoning of an earlier answer is not sent/) },
  ])
  await think(driver)
  expect(driver.state.owes_step).toBe(false)
  expect(sent()).not.toContain('seal-1')
  expect(model.requests.at(-1)!.refusals).toEqual([])
  expect(model.requests.at(-1)!.view.toolResults).toHaveLength(1)
})

const toolIndex = ({ body }: ModelRequest, name: string) => {
  const place = placeOf(body['tools'], name) ?? []
  return place.filter((step): step is number => typeof step === 'number')
}

test.each<[string, Format, (index: number[]) => string]>([
  ['Anthropic', 'anthropic', ([n]) => `tools.${n}.custom.input_schema: JSON schema is invalid.`],
  ['a chat server', 'chat', () => "Invalid schema for function 'lookup': array schema missing items."],
  ['Responses', 'responses', ([n]) => `Invalid 'tools[${n}].name': string does not match pattern.`],
  [
    'Gemini',
    'gemini',
    ([a, b]) =>
      `* GenerateContentRequest.tools[${a}].function_declarations[${b}].parameters.properties[what].items: missing field.`,
  ],
])('a tool that %s refuses is not offered any more', async (_name, format, message) => {
  respond = (request) =>
    request.view.tools.includes('lookup')
      ? { status: 400, error: message(toolIndex(request, 'lookup')) }
      : { text: 'ok' }
  const driver = begin(format)
  await think(driver)
  expect(noted(driver)).toEqual([
    { code: 'LLMPartLeftOut', detail: expect.stringMatching(/^The tool 'lookup' is not sent/) },
  ])
  await think(driver)
  expect(model.requests.at(-1)!.view.tools).toContain('file_editor')
  expect(driver.state.owes_step).toBe(false)
})
