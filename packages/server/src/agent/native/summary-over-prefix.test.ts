import { expect, test } from 'vitest'
import type { Draft } from '@parley/protocol'
import { asksForSummary, type ScriptedAnswer } from '../../../testing/scripted-model.ts'
import { notice } from '../drafts.ts'
import { openTestAgent, type TestAgentOptions } from './native-agent.testing.ts'
import { never } from './step-driver.testing.ts'

const think: ScriptedAnswer = { toolCalls: [{ name: 'think', arguments: { thought: 'hm' } }] }
const summary: ScriptedAnswer = { text: 'what happened so far' }
const tooLong: ScriptedAnswer = { status: 400, error: 'prompt is too long: 9 tokens > 8 maximum' }
const condenser = { max_size: 8, keep_first: 1 }

/** An agent after four steps, whose next step condenses the view. */
async function worked(answers: readonly ScriptedAnswer[], options: TestAgentOptions = { condenser }, step = think) {
  const at = await openTestAgent([step, step, step, step, ...answers], options)
  for (let n = 0; n < 4; n++) {
    await at.think()
    await at.execute()
  }
  return at
}
type Bench = Awaited<ReturnType<typeof worked>>
type Request = Bench['model']['requests'][number]

const summaryOf = ({ driver }: Bench) => driver.of('Condensation').map((event) => event.summary)
const messagesOf = (request: Request) => request.body['messages'] as object[]
/** Whether each request after the four steps has the tools of the agent, or none. */
const forms = ({ model }: Bench) =>
  model.requests.slice(4).map(({ view }) => (view.tools.length === 0 ? 'record' : 'prefix'))

test("a summary by the agent's own model is requested with the same tools and messages, and one message behind them", async () => {
  await using at = await worked([summary])
  await at.think()
  const [before, asked] = at.model.requests.slice(-2) as [Request, Request]
  const { messages: _before, ...parameters } = before.body
  const { messages: _asked, ...parametersOfSummary } = asked.body
  expect(parametersOfSummary).toEqual(parameters)
  expect(messagesOf(asked).slice(0, messagesOf(before).length)).toEqual(messagesOf(before))
  expect(messagesOf(asked)).toHaveLength(messagesOf(before).length + 3)
  expect(asked.view.lastUserText).toContain('Write the summary')
  expect(summaryOf(at)).toEqual(['what happened so far'])
  expect(at.model.violations).toEqual([])
})

test('the instruction behind the view names the first and the last event that the summary replaces', async () => {
  const steps = Array.from({ length: 4 }, (_, n): ScriptedAnswer => ({
    toolCalls: [{ name: 'think', arguments: { thought: `thought ${n}` } }],
  }))
  await using at = await openTestAgent([...steps, summary], { condenser: { max_size: 8, keep_first: 2 } })
  for (let n = 0; n < 4; n++) {
    await at.think()
    await at.execute()
  }
  await at.think()
  const [condensation] = at.driver.of('Condensation')
  const forgotten = at.driver
    .of('ActionEvent')
    .filter(({ id }) => condensation!.forgotten_event_ids.includes(id))
    .map(({ tool_call }) => tool_call.arguments)
  const { lastUserText } = at.model.requests.at(-1)!.view
  expect(lastUserText).toContain(`begins with your call of think with ${JSON.stringify(forgotten[0])}`)
  expect(lastUserText).toContain('It ends with the result of think that begins with "')
})

test('a condenser with another model than the agent gets a record of the forgotten events, and no tools', async () => {
  await using at = await worked([summary], { condenser, condenserLlm: { model: 'openai/other' } })
  await at.think()
  expect(forms(at)).toEqual(['record'])
  expect(at.model.requests.at(-1)?.text).toContain('do it')
})

test('streaming and the usage id make no other model', async () => {
  await using at = await worked([summary], { condenser, condenserLlm: { usage_id: 'condenser', stream: false } })
  await at.think()
  expect(forms(at)).toEqual(['prefix'])
})

test('a model without an API for calls is asked over its prefix too, in which the tools are text', async () => {
  const call: ScriptedAnswer = { text: '<function=think>\n<parameter=thought>hm</parameter>\n</function>' }
  await using at = await worked([summary], { condenser, llm: { native_tool_calling: false } }, call)
  await at.think()
  const [before, asked] = at.model.requests.slice(-2).map(messagesOf)
  expect(asked!.slice(0, before!.length - 1)).toEqual(before!.slice(0, -1))
  expect(at.model.requests.at(-1)!.view.lastUserText).toContain('Write the summary')
  expect(summaryOf(at)).toEqual(['what happened so far'])
})

test('an answer that calls a tool is no summary: nothing is executed, and a record is sent instead', async () => {
  await using at = await worked([{ ...think, text: 'I go on.' }, summary])
  await at.think()
  expect(forms(at)).toEqual(['prefix', 'record'])
  expect(at.model.requests.at(-1)?.text).toContain('do it')
  expect(summaryOf(at)).toEqual(['what happened so far'])
  expect(at.driver.commits.at(-1)).toEqual(['UsageRecordedEvent', 'UsageRecordedEvent', 'Condensation'])
  expect(at.driver.state.open_actions).toEqual([])
})

test.each<[string, ScriptedAnswer]>([
  ['half a call as text', { text: 'I go on.\n<tool_call>{"name": "think", "argum' }],
  ['a call as text', { text: 'I go on.\n<tool_call>{"name": "think", "arguments": {"thought": "x"}}</tool_call>' }],
  ['nothing', { text: ' \n' }],
  ['a refusal', { text: 'I would', finishReason: 'content-filter' }],
  ['an error about the length', tooLong],
])('after %s instead of a summary, a record is sent', async (_name, answer) => {
  await using at = await worked([answer, summary])
  await at.think()
  expect(forms(at)).toEqual(['prefix', 'record'])
  expect(summaryOf(at)).toEqual(['what happened so far'])
})

test('a failure that every request would have is not repeated with a record', async () => {
  await using at = await worked([{ status: 401, error: 'no' }, { text: 'go on' }])
  await at.think()
  expect(forms(at)).toEqual(['prefix', 'prefix'])
  expect(summaryOf(at)).toEqual([])
})

test('a request that would not fit the window is not sent: the summary is made of a record', async () => {
  const llm = { max_input_tokens: 1_500 }
  await using at = await worked([summary], { condenser, llm })
  await at.think()
  expect(forms(at)).toEqual(['record'])
})

test('a view that reaches the limit of its tokens is summarised over the prefix, within that limit', async () => {
  const limit = 50_000
  await using at = await openTestAgent([], {
    condenser: {},
    llm: { max_input_tokens: limit },
    respond: ({ text, view }) => ({
      text: asksForSummary(view) ? 'what happened so far' : 'ok',
      usage: { input: Math.ceil(text.length / 4), output: 5 },
    }),
  })
  while (at.driver.of('Condensation').length === 0) {
    at.driver.commit([{ ...notice('a line of a log\n'.repeat(400)), source: 'user' } as Draft])
    await at.think()
  }
  const asked = at.model.requests.filter(({ view }) => asksForSummary(view))
  expect(asked.map(({ view }) => view.tools.length > 0)).toEqual([true])
  expect(asked[0]!.text.length / 4).toBeGreaterThan(0.85 * limit)
  expect(asked[0]!.text.length / 4).toBeLessThan(limit)
})

test('a view that the model has refused is not sent again for its summary', async () => {
  await using at = await worked([tooLong, summary], { condenser: {} })
  await at.think()
  await at.think()
  expect(forms(at)).toEqual(['prefix', 'record'])
})

test('a request by a person condenses over the prefix, and a model that works on instead is asked with a record once', async () => {
  await using at = await worked([think, { text: '' }, summary], { condenser: {} })
  await at.driver.drive(at.agent.condense(at.driver.context, never))
  expect(forms(at)).toEqual(['prefix', 'record', 'record'])
  expect(summaryOf(at)).toEqual(['what happened so far'])
})

test.each([
  ['claude-sonnet-4-5', 'record'],
  ['claude-opus-4-5', 'prefix'],
])(
  '%s with reasoning in the current turn gets a %s, because of what its provider keeps of the prefix',
  async (model, form) => {
    const llm = { model: `anthropic/${model}`, reasoning_effort: 'high' as const }
    const thought: ScriptedAnswer = { ...think, thinking: [{ thinking: 'hm', signature: 's1' }] }
    await using at = await worked([summary], { condenser, llm }, thought)
    await at.think()
    expect(forms(at)).toEqual([form])
  },
)
