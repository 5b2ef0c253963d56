import type { Draft } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { ScriptedAnswer } from '../../../testing/scripted-model.ts'
import { openTestAgent, type TestAgentOptions } from './native-agent.testing.ts'
import { never } from './step-driver.testing.ts'
import { notice } from '../drafts.ts'

const think: ScriptedAnswer = { toolCalls: [{ name: 'think', arguments: { thought: 'hm' } }] }
const said: ScriptedAnswer = { text: 'all done' }
const summary: ScriptedAnswer = { text: 'what happened so far' }
const tooLong: ScriptedAnswer = { status: 400, error: 'prompt is too long: 9 tokens > 8 maximum' }
const condenser = { max_size: 8, keep_first: 1 }

/** An agent that has called think `steps` times. */
async function worked(steps: number, answers: readonly ScriptedAnswer[], options: TestAgentOptions = {}) {
  const at = await openTestAgent([...Array.from({ length: steps }, () => think), ...answers], options)
  for (let step = 0; step < steps; step++) {
    await at.think()
    await at.execute()
  }
  return at
}
type Bench = Awaited<ReturnType<typeof openTestAgent>>
const kindsOfView = ({ driver }: Bench) => driver.context.view().map(({ kind }) => kind)
const requestsOf = ({ model }: Bench) => model.requests.map(({ text }) => text)

test('a view that is too long is replaced by a summary before the request, in a commit of its own', async () => {
  await using at = await worked(4, [summary, said], { condenser })
  await at.think()
  expect(at.driver.commits.at(-1)).toEqual(['UsageRecordedEvent', 'Condensation'])
  expect(kindsOfView(at).slice(0, 2)).toEqual(['SystemPromptEvent', 'CondensationSummaryEvent'])
  expect(at.driver.state).toMatchObject({ condensations: 1, owes_step: true, iterations: 4 })
  await at.think()
  expect(requestsOf(at).at(-1)).toContain('what happened so far')
  expect(requestsOf(at).at(-1)).not.toContain('"content":"do it"')
  expect(at.driver.state).toMatchObject({ condensations: 0, owes_step: false })
  const costs = at.driver.of('UsageRecordedEvent').map(({ usage_id }) => usage_id)
  expect(costs.slice(-2)).toEqual(['condenser', 'agent'])
  expect(at.model.violations).toEqual([])
})

test('a message that arrives while the summary is written is neither lost nor summarised', async () => {
  await using at = await worked(4, [{ ...summary, delayMs: 100 }, said], { condenser })
  const step = at.agent.think(at.driver.context, never)
  const drafted = step.next([])
  at.driver.commit([{ ...notice('and one more thing'), source: 'user' } as Draft])
  const stored = at.driver.commit((await drafted).value as Draft[])
  await step.next(stored)
  expect(kindsOfView(at).at(-1)).toBe('MessageEvent')
  await at.think()
  expect(requestsOf(at).at(-1)).toContain('and one more thing')
})

describe('refused views', () => {
  test('a view that the model refuses is condensed and then accepted', async () => {
    await using at = await worked(3, [tooLong, summary, said], { condenser: {} })
    await at.think()
    expect(at.driver.commits.at(-1)).toEqual(['CondensationRequest'])
    await at.think()
    expect(at.driver.commits.at(-1)).toEqual(['UsageRecordedEvent', 'Condensation'])
    await at.think()
    expect(at.driver.state.owes_step).toBe(false)
    expect(at.model.violations).toEqual([])
  })

  test('a run ends with a clear error after three condensations in a row without an answer (F41)', async () => {
    const refusals = [tooLong, summary, tooLong, summary, tooLong, summary, tooLong]
    await using at = await worked(8, refusals, { condenser: {} })
    for (let step = 0; step < 3; step++) {
      await at.think()
      await at.think()
      at.driver.commit([notice('meanwhile')])
    }
    await expect(at.think()).rejects.toThrow(/made shorter 3 times in a row, and is still too long/)
    expect(at.driver.of('CondensationRequest')).toHaveLength(3)
  })

  test('a view that the model refuses ends the run when no condenser takes requests', async () => {
    await using at = await worked(1, [tooLong], { agent: { condenser: { kind: 'NoOpCondenser' } } })
    await expect(at.think()).rejects.toMatchObject({ code: 'LLMContextWindowExceedError' })
  })

  test('a view that the model refuses ends the run with the reason when the summary fails', async () => {
    await using at = await worked(3, [tooLong, { status: 401, error: 'no' }, { status: 401, error: 'no' }], {
      condenser: {},
    })
    await at.think()
    await expect(at.think()).rejects.toThrow(/^Shortening the conversation failed/)
  })

  test('a view that the model refuses for its form is condensed, or reported to the model without a condenser', async () => {
    const malformed = { status: 400, error: 'tool_use ids were found without tool_result blocks' }
    await using at = await worked(3, [malformed, summary, said], { condenser: {} })
    await at.think()
    expect(at.driver.commits.at(-1)).toEqual(['CondensationRequest'])
    await using without = await worked(3, [malformed, said])
    await without.think()
    expect(without.driver.commits.at(-1)).toEqual(['MessageEvent'])
  })
})

test("a window that is known from the model's answers limits the view", async () => {
  const stats = (context_window: number) => ({
    agent: {
      model_name: 'm',
      accumulated_cost: 0,
      max_budget_per_task: null,
      accumulated_token_usage: { context_window } as never,
    },
  })
  for (const [window, shortens] of [
    [6000, true],
    [1_000_000, false],
  ] as const) {
    await using at = await openTestAgent([summary, said], { condenser: {} })
    for (let n = 0; n < 4; n++) at.driver.commit([notice('x'.repeat(5000))])
    at.driver.state = { ...at.driver.state, stats: stats(window) }
    await at.think()
    expect(at.driver.of('Condensation')).toHaveLength(shortens ? 1 : 0)
  }
})

test('the model is asked after three summaries in a row, whatever the token estimate says', async () => {
  await using at = await openTestAgent([summary, summary, summary, said], {
    condenser: {},
    llm: { max_input_tokens: 6000 },
  })
  for (let step = 0; step < 3; step++) {
    at.driver.commit([notice('x'.repeat(30_000))])
    await at.think()
  }
  expect(at.driver.of('Condensation')).toHaveLength(3)
  at.driver.commit([notice('x'.repeat(30_000))])
  await at.think()
  expect(at.driver.of('MessageEvent').at(-1)).toMatchObject({ source: 'agent' })
})

test('a skill whose text is forgotten can be activated again (F61)', async () => {
  await using at = await openTestAgent([summary], {
    condenser,
    state: { activated_knowledge_skills: ['git', 'other'] },
  })
  at.driver.commit([{ ...notice('about git'), source: 'user', activated_skills: ['git'] } as Draft])
  for (let n = 0; n < 8; n++) at.driver.commit([notice('more')])
  await at.think()
  expect(at.driver.state.activated_knowledge_skills).toEqual(['other'])
})

describe('requested condensation', () => {
  test('a requested condensation is one commit with its request, and open calls stay open (F47)', async () => {
    await using at = await worked(3, [think, summary], { condenser: {} })
    await at.think()
    const open = at.driver.state.open_actions
    await at.driver.drive(at.agent.condense(at.driver.context, never))
    expect(at.driver.commits.at(-1)).toEqual(['CondensationRequest', 'UsageRecordedEvent', 'Condensation'])
    expect(at.driver.state.open_actions).toEqual(open)
    expect(open).toHaveLength(1)
    expect(at.driver.context.isCondensationRequested()).toBe(false)
    expect(kindsOfView(at).at(-1)).toBe('ActionEvent')
  })

  test('a requested condensation without anything to forget drafts nothing', async () => {
    await using at = await openTestAgent([], { condenser: {} })
    at.driver.context.view = () => []
    await at.driver.drive(at.agent.condense(at.driver.context, never))
    expect(at.model.requests).toEqual([])
  })

  test('a requested condensation whose summary fails changes nothing', async () => {
    await using at = await worked(
      3,
      [
        { status: 401, error: 'no' },
        { status: 401, error: 'no' },
      ],
      { condenser: {} },
    )
    const { seq } = at.driver.state
    await expect(at.driver.drive(at.agent.condense(at.driver.context, never))).rejects.toThrow()
    expect(at.driver.state.seq).toBe(seq)
  })
})

describe('side questions', () => {
  test('a side question is answered from the same history while a call waits, and only its cost is recorded', async () => {
    await using at = await worked(1, [think, { text: ' I am thinking. ', usage: { input: 5, output: 2 } }])
    await at.think()
    const view = [...at.driver.context.view()]
    const { text, drafts } = await at.agent.ask('What are you doing?', at.driver.context, never)
    expect(text).toBe('I am thinking.')
    expect(drafts).toMatchObject([
      { kind: 'UsageRecordedEvent', usage_id: 'ask-agent-llm', tokens: { prompt_tokens: 5 } },
    ])
    expect(drafts[0]).not.toHaveProperty('seen_seq')
    expect(at.driver.context.view()).toEqual(view)
    const asked = at.model.requests.at(-1)!
    expect(asked.view.tools).toEqual(at.model.requests[0]!.view.tools)
    expect(asked.view.lastUserText).toContain('What are you doing?')
    expect(asked.view.assistantTurns).toBe(1)
    expect(at.model.violations).toEqual([])
    // The next request of the task does not hold it.
    await at.execute()
    await at.think().catch(() => undefined)
    expect(requestsOf(at).at(-1)).not.toContain('What are you doing?')
  })

  test('a side question that the model answers with a call has an empty answer, and the call is not executed', async () => {
    await using at = await worked(0, [think])
    expect(await at.agent.ask('Why?', at.driver.context, never)).toMatchObject({ text: '', drafts: [{}] })
    expect(at.driver.state.open_actions).toEqual([])
  })
})

test('an agent whose model takes no images says so without a request to the model', async () => {
  await using at = await openTestAgent([said], { llm: { disable_vision: true } })
  const image = { type: 'image' as const, image_urls: ['data:image/png;base64,AA=='], cache_prompt: false }
  const withImage = notice('look') as Extract<Draft, { kind: 'MessageEvent' }>
  const llm_message = { ...withImage.llm_message, content: [...withImage.llm_message.content, image] }
  at.driver.commit([{ ...withImage, source: 'user', llm_message } as Draft])
  await at.think()
  expect(at.model.requests).toEqual([])
  expect(at.driver.of('MessageEvent').at(-1)).toMatchObject({
    source: 'agent',
    llm_message: { content: [{ text: expect.stringContaining('cannot see the image') }] },
  })
  expect(at.driver.state.owes_step).toBe(false)
  at.driver.commit([{ ...notice('then do without'), source: 'user' } as Draft])
  expect(at.driver.state.owes_step).toBe(true)
  await at.think()
  expect(at.model.requests).toHaveLength(1)
})
