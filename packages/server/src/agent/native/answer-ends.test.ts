/** Every end of an answer, in every format, with and without tool calls of the API: the state that follows, as data. */
import { readdir, rm } from 'node:fs/promises'
import { Agent, type LLMInput } from '@parley/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FORMAT_NAMES, llmRecord } from '../../../testing/model-formats/configs.ts'
import type { ScriptedFinish } from '../../../testing/model-formats/answer.ts'
import { startScriptedModel, type ScriptedAnswer, type ScriptedModel } from '../../../testing/scripted-model.ts'
import { LlmError } from '../../llm/index.ts'
import { notice } from '../drafts.ts'
import { openTestAgent } from './native-agent.testing.ts'
import { never, StepDriver, texts } from './step-driver.testing.ts'

type Format = (typeof FORMAT_NAMES)[number]
type Content = 'text' | 'call' | 'cut' | 'nothing'
/**
 * `finished`; `runs`: the call is executed; `refused`: the call gets an error, and nothing is executed; `continued`: the text is kept and
 * the model asked again; `asked`: the model is asked again; `+ condensed`: before that the view is condensed; or a code of an error.
 */
type State = string
type Row = Record<Content, State>

const ORDINARY: Row = { text: 'finished', call: 'runs', cut: 'refused', nothing: 'asked' }
const REFUSED: Row = {
  text: 'LLMRefusalError',
  call: 'LLMRefusalError',
  cut: 'LLMRefusalError',
  nothing: 'LLMRefusalError',
}
const FAILED = 'LLMServiceUnavailableError'

const NATIVE: Record<ScriptedFinish, Row> = {
  stop: ORDINARY,
  'tool-calls': { ...ORDINARY, text: 'continued' },
  length: { text: 'continued', call: 'runs', cut: 'refused', nothing: 'asked' },
  'context-window': {
    text: 'continued + condensed',
    call: 'runs + condensed',
    cut: 'refused + condensed',
    nothing: 'asked + condensed',
  },
  'content-filter': REFUSED,
  'malformed-call': { text: 'continued', call: 'asked', cut: 'asked', nothing: 'asked' },
  failed: { text: FAILED, call: FAILED, cut: FAILED, nothing: FAILED },
  unknown: ORDINARY,
}

/** Reasons that a vendor has a word for, and rows that differ there. */
const WORDS: Record<Format, Partial<Record<ScriptedFinish, Partial<Row>>>> = {
  chat: { stop: {}, 'tool-calls': {}, length: {}, 'context-window': {}, 'content-filter': {}, failed: {}, unknown: {} },
  responses: { stop: {}, length: {}, 'content-filter': {}, unknown: {} },
  anthropic: { stop: {}, 'tool-calls': {}, length: {}, 'context-window': {}, 'content-filter': {}, unknown: {} },
  // A call that was cut off is not part of an answer of Gemini.
  gemini: {
    stop: { cut: 'refused' },
    length: { cut: 'asked' },
    'content-filter': {},
    'malformed-call': {},
    unknown: {},
  },
}

const call = (path: string) => ({ command: 'create', path, file_text: 'first line\nsecond line\n' })

function nativeAnswer(content: Content, path: string): ScriptedAnswer {
  const whole = JSON.stringify(call(path))
  switch (content) {
    case 'text':
      return { text: 'Half of it.' }
    case 'call':
      return { toolCalls: [{ name: 'file_editor', arguments: whole }] }
    case 'cut':
      return { toolCalls: [{ name: 'file_editor', arguments: whole.slice(0, -12) }] }
    case 'nothing':
      return {}
  }
}

function promptedAnswer(content: Content, path: string): ScriptedAnswer {
  const parameters = Object.entries(call(path)).map(([key, value]) => `<parameter=${key}>${value}</parameter>\n`)
  const whole = `<function=file_editor>\n${parameters.join('')}</function>`
  if (content === 'call') return { text: whole }
  return content === 'cut' ? { text: whole.slice(0, whole.indexOf('second')) } : nativeAnswer(content, path)
}

/** Asks once and executes what the answer calls; returns the state that follows. */
async function stateAfter(answer: ScriptedAnswer): Promise<State> {
  const driver = begin([answer])
  try {
    await think(driver)
  } catch (error) {
    if (!(error instanceof LlmError)) throw error
    expect(driver.open()).toEqual([])
    return error.code
  }
  const open = driver.open()
  await execute(driver)
  const hasText = driver
    .of('MessageEvent')
    .some(({ source, llm_message }) => source === 'agent' && llm_message.content.length > 0)
  const state =
    open.length > 0
      ? 'runs'
      : driver.of('AgentErrorEvent').length > 0
        ? 'refused'
        : !driver.state.owes_step
          ? 'finished'
          : hasText
            ? 'continued'
            : 'asked'
  return `${state}${driver.context.isCondensationRequested() ? ' + condensed' : ''}`
}

const CONTENTS: readonly Content[] = ['text', 'call', 'cut', 'nothing']

/** One agent for all tests; each begins a history of its own. */
let model: ScriptedModel
let at: Awaited<ReturnType<typeof openTestAgent>>
let answers: ScriptedAnswer[] = []
beforeAll(async () => {
  model = await startScriptedModel({ respond: () => answers.shift()! })
  at = await openTestAgent([], { agent: { tools: [{ name: 'FileEditorTool' }] } })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

/** Sets the model of the agent, and whether it has a condenser. */
function choose(format: Format, more: LLMInput = {}, hasCondenser = false): void {
  const llm = llmRecord(format, model.url, { num_retries: 0, ...more })
  const condenser = hasCondenser ? { kind: 'LLMSummarizingCondenser' as const, llm, max_size: 100 } : undefined
  at.agent.reconfigure(Agent.parse({ ...at.config, llm, ...(condenser === undefined ? {} : { condenser }) }))
}

function begin(next: readonly ScriptedAnswer[]): StepDriver {
  answers = [...next]
  const driver = new StepDriver()
  driver.commit(at.agent.preamble(driver.state))
  driver.commit([{ ...notice('do it'), source: 'user' } as ReturnType<typeof notice>])
  return driver
}

const think = (driver: StepDriver) => driver.drive(at.agent.think(driver.context, never))
const execute = (driver: StepDriver) => driver.drive(at.agent.execute(driver.open(), driver.context, never))
const files = () => readdir(at.at('.'))

test.each(FORMAT_NAMES.flatMap((format) => [true, false].map((isNative) => ({ format, isNative }))))(
  'each end of an answer leads to its state in the format $format, with tool calls of the API: $isNative',
  async ({ format, isNative }) => {
    choose(format, { native_tool_calling: isNative }, true)
    const states: Record<string, Row> = {}
    const expected: Record<string, Row> = {}
    for (const [reason, own] of Object.entries(WORDS[format]) as [ScriptedFinish, Partial<Row>][]) {
      const row: Partial<Row> = {}
      for (const content of CONTENTS) {
        const answer = isNative ? nativeAnswer : promptedAnswer
        row[content] = await stateAfter({ ...answer(content, at.at('a.txt')), finishReason: reason })
        expect(await files(), `${reason} ${content}`).toEqual(row[content].startsWith('runs') ? ['a.txt'] : [])
        await rm(at.at('a.txt'), { force: true })
      }
      states[reason] = row as Row
      expected[reason] = { ...NATIVE[reason], ...(isNative ? own : {}) }
    }
    expect(states).toEqual(expected)
  },
)

test('of an answer with several calls that was cut off, the complete calls are executed and the last one is explained', async () => {
  choose('chat')
  const driver = begin([
    {
      text: 'Two files.',
      toolCalls: [
        { name: 'file_editor', arguments: call(at.at('a.txt')) },
        { name: 'file_editor', arguments: JSON.stringify(call(at.at('b.txt'))).slice(0, -9) },
      ],
      finishReason: 'length',
      usage: { output: 4096 },
    },
    { text: 'ok' },
  ])
  await think(driver)
  await execute(driver)
  expect(await files()).toEqual(['a.txt'])
  await rm(at.at('a.txt'))
  expect(texts(driver.log)).toEqual([
    expect.stringMatching(/cut off after 4096 tokens.*not executed.*in parts/),
    expect.stringContaining('created'),
  ])
  await think(driver)
  expect(model.violations).toEqual([])
})

test('arguments without an end are explained as such, also where the server reports a complete call', async () => {
  choose('chat')
  const args = JSON.stringify(call(at.at('a.txt'))).slice(0, -9)
  const driver = begin([{ toolCalls: [{ name: 'file_editor', arguments: args }] }])
  await think(driver)
  expect(texts(driver.log)).toEqual([expect.stringContaining('end before they are complete')])
})

test('a text that is cut off is continued three times, and then the run fails with a message', async () => {
  choose('chat')
  const driver = begin(
    Array.from({ length: 4 }, () => ({ text: 'More.', finishReason: 'length' as const, usage: { output: 50 } })),
  )
  for (let n = 0; n < 3; n++) await think(driver)
  expect(driver.of('MessageEvent').filter(({ source }) => source === 'environment')).toHaveLength(3)
  await expect(think(driver)).rejects.toMatchObject({
    code: 'LLMOutputLimitError',
    message: expect.stringMatching(/limit of 50 tokens, 4 times in a row.*max_output_tokens/),
  })
  expect(driver.of('MessageEvent').at(-1)).toMatchObject({
    source: 'agent',
    llm_message: { content: [{ text: 'More.' }] },
  })
})

test('after a call, an answer that is cut off is continued anew', async () => {
  choose('chat')
  const cut = { text: 'More.', finishReason: 'length' as const }
  const driver = begin([cut, cut, cut, { toolCalls: [{ name: 'think', arguments: { thought: 'x' } }] }, cut])
  for (let n = 0; n < 4; n++) await think(driver)
  await execute(driver)
  await think(driver)
  expect(driver.state.owes_step).toBe(true)
})

test('a commentary of the Responses API is continued, and the final answer ends the run', async () => {
  choose('responses')
  const driver = begin([
    { parts: [{ text: 'I look at it now.', phase: 'commentary' }] },
    { parts: [{ text: 'Done.', phase: 'final_answer' }] },
  ])
  await think(driver)
  expect(driver.state.owes_step).toBe(true)
  await think(driver)
  expect(driver.state.owes_step).toBe(false)
})

test('a full window without a condenser ends the run with a way out', async () => {
  choose('chat')
  const driver = begin([{ text: 'Half', finishReason: 'context-window' }])
  await expect(think(driver)).rejects.toMatchObject({
    code: 'LLMContextWindowExceedError',
    message: expect.stringContaining('Give its agent a condenser'),
  })
})

test('a server that reports a cut answer as complete is recognised by the number of tokens', async () => {
  choose('chat', { max_output_tokens: 64 })
  const args = JSON.stringify({ command: 'str_replace', path: '/x', old_str: 'all of it' })
  const calling = begin([{ toolCalls: [{ name: 'file_editor', arguments: args }], usage: { output: 64 } }])
  await think(calling)
  expect(calling.open()).toEqual([])
  expect(texts(calling.log)).toEqual([expect.stringContaining('cut off after 64 tokens')])
  const saying = begin([{ text: 'Half', usage: { output: 64 } }])
  await think(saying)
  expect(saying.state.owes_step).toBe(true)
})

test.each<[string, ScriptedAnswer, RegExp]>([
  [
    'a call without an end',
    { text: '<tool_call>\n{"name": "think", "arguments": {"thought": "x' },
    /The call has no end/,
  ],
  ['an unknown tool', { text: '<tool_call>{"name": "fly", "arguments": {}}</tool_call>' }, /no tool fly/],
  ['a call that cannot be read', { text: '<tool_call>think now</tool_call>' }, /cannot be read/],
])('%s in the text of an answer is explained to the model', async (_name, answer, expected) => {
  choose('chat')
  const driver = begin([answer])
  await think(driver)
  expect(driver.open()).toEqual([])
  expect(driver.of('MessageEvent').at(-1)).toMatchObject({
    source: 'environment',
    llm_message: { content: [{ text: expect.stringMatching(expected) }] },
  })
})

test('a call that is written as text is executed, with the text and the reasoning before it', async () => {
  choose('chat')
  const driver = begin([
    {
      text: '<think>hm</think>\n\nI note it.\n<tool_call>\n{"name": "think", "arguments": {"thought": "x"}}\n</tool_call>',
    },
    { text: 'ok' },
  ])
  await think(driver)
  const [action] = driver.of('ActionEvent')
  expect(action).toMatchObject({ thought: [{ text: 'I note it.' }], reasoning_content: 'hm', tool_name: 'think' })
  await execute(driver)
  expect(texts(driver.log)).toEqual(['Your thought has been logged.'])
  await think(driver)
  expect(model.violations).toEqual([])
})

test('reasoning that a server leaves in the text is no part of the answer', async () => {
  choose('chat')
  const driver = begin([
    { text: '<think>\nplan\n</think>\n\nDone.' },
    { text: 'plan\n</think>\nDone.' },
    { text: '<think>no end' },
  ])
  await think(driver)
  await think(driver)
  const answers = driver.of('MessageEvent').filter(({ source }) => source === 'agent')
  expect(answers.map(({ llm_message }) => [llm_message.reasoning_content, llm_message.content])).toMatchObject([
    ['plan', [{ text: 'Done.' }]],
    ['plan', [{ text: 'Done.' }]],
  ])
  await think(driver)
  expect(driver.state.owes_step).toBe(true)
})
