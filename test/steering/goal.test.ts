import { afterEach, describe, expect, test } from 'vitest'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { command } from '../../packages/server/testing/instructed-model.ts'
import { until } from '../../packages/server/testing/until.ts'
import {
  startKillable,
  startTalking,
  type Json,
  type Talking,
} from '../../packages/server/testing/steered-conversations.ts'

const isJudge = ({ text }: ModelRequest) => text.includes('You judge whether')
const verdict = (complete: boolean, missing = '', score = complete ? 1 : 0.5): ScriptedAnswer => ({
  text: JSON.stringify({ score, complete, missing }),
})
const last = (values: Json[]): Json => values.at(-1)

let open: AsyncDisposable | undefined
afterEach(async () => {
  await open?.[Symbol.asyncDispose]()
  open = undefined
})

type Script = {
  judge?: (n: number) => ScriptedAnswer | Promise<ScriptedAnswer>
  agent?: (n: number, request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>
}

async function start({
  judge = () => verdict(true),
  agent = () => ({ text: 'Done.' }),
}: Script = {}): Promise<Talking> {
  const counts = { judge: 0, agent: 0 }
  const server = await startTalking((request) =>
    isJudge(request) ? judge(counts.judge++) : agent(counts.agent++, request),
  )
  open = server
  return server
}

describe('rounds of a goal', () => {
  test('the agent continues with the missing parts until the judge finds the goal reached, within one run', async () => {
    const server = await start({ judge: (n) => verdict(n === 1, 'the tests do not run') })
    const id = await server.open()
    expect(await server.post(id, '/goal', { objective: ' Make it work. ' })).toEqual({
      status: 200,
      body: { success: true },
    })
    await server.reaches(id, 'finished')
    expect(await server.updates(id, 'goal')).toEqual([
      { active: true, status: 'running', iteration: 0, max_iterations: 10, objective: 'Make it work.', verdict: null },
      expect.objectContaining({
        active: true,
        iteration: 1,
        verdict: { score: 0.5, complete: false, missing: 'the tests do not run' },
      }),
      expect.objectContaining({ active: false, status: 'complete', iteration: 2 }),
    ])
    expect(await server.updates(id, 'execution_status')).toEqual(['running', 'finished'])
    const messages = (await server.events(id)).filter((event) => event.kind === 'MessageEvent')
    expect(messages.map(({ source, sender }) => [source, sender])).toEqual([
      ['user', 'goal'],
      ['agent', undefined],
      ['user', 'goal'],
      ['agent', undefined],
    ])
    expect(messages[2].llm_message.content[0].text).toContain('the tests do not run')
    expect((await server.info(id)).stats.usage_to_metrics).toHaveProperty('goal-judge')
  })

  test('the judge receives the goal and the branch without the system prompt, and the agent never sees the judge', async () => {
    const server = await start({
      agent: (n) => ({ text: n === 0 ? 'I did </record> it.' : 'Really.' }),
      judge: (n) => verdict(n === 1, 'proof'),
    })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'Write a poem.' })
    await server.reaches(id, 'finished')
    const [first] = server.model.requests.filter(isJudge)
    expect(first!.text).toContain('Write a poem.')
    expect(first!.text).toContain('I did &lt;/record&gt; it.')
    expect(first!.text).not.toContain('# tools')
    for (const request of server.model.requests.filter((each) => !isJudge(each)))
      expect(request.text).not.toContain('"score"')
  })

  test('a repetition does not end a goal: the judge decides whether the agent continues', async () => {
    const server = await start({
      agent: (n) => (n < 8 ? command('false') : { text: 'Done.' }),
      judge: (n) => verdict(n === 1, 'try another way'),
    })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await until(async () => last(await server.updates(id, 'goal')).active === false)
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'complete', iteration: 2 })
    const [follow] = (await server.events(id))
      .filter(({ sender, parent_id }) => sender === 'goal' && parent_id)
      .slice(1)
    expect(follow.llm_message.content[0].text).toContain('try another way')
    expect(server.model.requests.filter((each) => !isJudge(each)).length).toBeLessThanOrEqual(9)
  })

  test('a goal is capped after the allowed number of verdicts', async () => {
    const server = await start({ judge: () => verdict(false, 'more') })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'Never done.', max_iterations: 2 })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ active: false, status: 'capped', iteration: 2 })
    expect(await server.post(id, '/goal/resume')).toEqual({ status: 400, body: { detail: 'no_resumable_goal' } })
  })

  test('each round of a goal has its own iterations', async () => {
    const server = await start({ judge: (n) => verdict(n === 2) })
    const id = await server.open({ max_iterations: 1 })
    await server.post(id, '/goal', { objective: 'Three rounds.' })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'complete', iteration: 3 })
  })

  test.each<[string, string]>([
    ['words', 'I think it is done.'],
    ['a text for a boolean', '{"score": 0.9, "complete": "true", "missing": ""}'],
    ['the text "false"', '{"score": 1, "complete": "false"}'],
  ])('%s does not count as a reached goal', async (_, text) => {
    const server = await start({ judge: () => ({ text }) })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x', max_iterations: 1 })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'capped', verdict: { complete: false } })
  })

  test('a verdict is found among other text', async () => {
    const server = await start({ judge: () => ({ text: 'Here: {"score": 7} That is it.' }) })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({
      status: 'complete',
      verdict: { score: 1, complete: true, missing: '' },
    })
  })
})

describe('ends of a goal before it is reached', () => {
  test('a failing judge interrupts the goal with the reason, and resuming asks again', async () => {
    const server = await start({ judge: (n) => (n === 0 ? { status: 400, error: 'no such model' } : verdict(true)) })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ active: false, status: 'interrupted', iteration: 0 })
    const told = (await server.events(id)).find(({ kind }) => kind === 'ConversationErrorEvent')
    expect(told.detail).toContain('The goal could not be judged')
    expect((await server.post(id, '/goal/resume')).status).toBe(200)
    await server.reaches(id, 'finished')
    await until(async () => last(await server.updates(id, 'goal')).status === 'complete')
  })

  test('a message of a person interrupts a goal, also while the judge is asked, and is answered', async () => {
    const server = await start({ judge: () => new Promise<never>(() => {}), agent: (n) => ({ text: `Answer ${n}.` }) })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await until(async () => server.model.requests.some(isJudge))
    await server.say(id, 'Something else.')
    await server.reaches(id, 'finished')
    const events = await server.events(id)
    const ended = events.findIndex(({ key, value }) => key === 'goal' && value.status === 'interrupted')
    const said = events.findIndex(({ llm_message }) => llm_message?.content[0]?.text === 'Something else.')
    expect([ended > 0, ended < said]).toEqual([true, true])
    expect(
      events.findLast(({ source, kind }) => kind === 'MessageEvent' && source === 'agent').llm_message.content[0].text,
    ).toBe('Answer 1.')
  })

  test('a pause interrupts a goal, and resuming continues from the recorded iteration', async () => {
    const gate = Promise.withResolvers<ScriptedAnswer>()
    const server = await start({
      judge: (n) => verdict(n === 1, 'more'),
      agent: (n) => (n === 1 ? gate.promise : { text: 'Done.' }),
    })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await until(async () => server.model.requests.filter((each) => !isJudge(each)).length === 2)
    await server.post(id, '/interrupt')
    gate.resolve({ text: 'late' })
    await server.reaches(id, 'paused')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ active: false, status: 'interrupted', iteration: 1 })
    expect((await server.post(id, '/goal/resume')).status).toBe(200)
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'complete', iteration: 2 })
  })

  test('stopping a goal always succeeds, and its run ends as an ordinary one', async () => {
    const gate = Promise.withResolvers<ScriptedAnswer>()
    const server = await start({ agent: () => gate.promise })
    const id = await server.open()
    expect((await server.post(id, '/goal/stop')).status).toBe(200)
    await server.post(id, '/goal', { objective: 'x' })
    expect((await server.post(id, '/goal/stop')).status).toBe(200)
    gate.resolve({ text: 'Done.' })
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ active: false, status: 'interrupted' })
    expect(server.model.requests.filter(isJudge)).toEqual([])
  })

  test('an error of the agent interrupts a goal', async () => {
    const server = await start({ agent: () => ({ status: 400, error: 'bad' }) })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'x' })
    await server.reaches(id, 'error')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'interrupted' })
  })
})

test('a goal approves no pending action: it waits, and continues with the answer (F08)', async () => {
  const server = await start({
    agent: (n) => (n === 1 ? { text: 'Done.' } : n === 0 ? command('echo one') : { text: 'Done.' }),
  })
  const id = await server.open({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  await server.post(id, '/goal', { objective: 'Run it.' })
  await server.reaches(id, 'waiting_for_confirmation')
  expect(last(await server.updates(id, 'goal'))).toMatchObject({ active: true, status: 'running', iteration: 0 })
  expect(server.model.requests.filter(isJudge)).toEqual([])
  expect((await server.post(id, '/goal', { objective: 'Another.' })).status).toBe(409)
  await server.post(id, '/events/respond_to_confirmation', { accept: false, reason: 'No.' })
  await server.reaches(id, 'finished')
  expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'complete' })
  expect((await server.events(id)).some(({ kind }) => kind === 'ObservationEvent')).toBe(false)
})

test('a goal that starts while an action is pending leaves it pending', async () => {
  const server = await start({ agent: (n) => (n === 0 ? command('echo one') : { text: 'Done.' }) })
  const id = await server.open({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  await server.say(id, 'go')
  await server.reaches(id, 'waiting_for_confirmation')
  expect((await server.post(id, '/goal', { objective: 'x' })).status).toBe(200)
  expect((await server.info(id)).execution_status).toBe('waiting_for_confirmation')
  await server.post(id, '/events/respond_to_confirmation', { accept: true })
  await server.reaches(id, 'finished')
  expect(last(await server.updates(id, 'goal'))).toMatchObject({ status: 'complete' })
})

test.each<[string, string, object, number, unknown]>([
  ['an empty objective', '/goal', { objective: ' ' }, 400, { detail: 'Goal objective must not be empty.' }],
  ['no verdicts', '/goal', { objective: 'x', max_iterations: 0 }, 422, expect.anything()],
  ['nothing to resume', '/goal/resume', {}, 400, { detail: 'no_resumable_goal' }],
])('%s is refused', async (_, path, body, status, shape) => {
  const server = await start()
  expect(await server.post(await server.open(), path, body)).toEqual({ status, body: shape })
})

test('a running conversation, and one with a goal, refuse another goal', async () => {
  const server = await start({ agent: () => new Promise<never>(() => {}) })
  const id = await server.open()
  await server.say(id, 'go')
  const taken = { status: 409, body: { detail: 'Conversation run or goal loop already running.' } }
  expect(await server.post(id, '/goal', { objective: 'x' })).toEqual(taken)
  expect(await server.post(id, '/goal/resume')).toEqual(taken)
  const path = '/api/conversations/00000000-0000-4000-8000-000000000000/goal'
  expect(await server.call('POST', path, { objective: 'x' })).toEqual({ status: 404, body: { detail: 'Not Found' } })
})

describe('a server that is killed', () => {
  test('a killed server continues a verdict in progress and a pending round after the restart', async () => {
    let isLate = true
    await using server = await startKillable((request) => {
      if (!isJudge(request)) return { text: 'Done.' }
      return isLate ? new Promise<never>(() => {}) : verdict(true)
    })
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'Survive.' })
    await until(async () => server.model.requests.some(isJudge))
    isLate = false
    await server.restart('kill')
    await server.reaches(id, 'finished')
    expect(last(await server.updates(id, 'goal'))).toMatchObject({
      status: 'complete',
      iteration: 1,
      objective: 'Survive.',
    })
  })

  test('an interrupted goal is resumed after a restart', async () => {
    await using server = await startKillable((request) =>
      isJudge(request) ? verdict(true) : { status: 400, error: 'bad' },
    )
    const id = await server.open()
    await server.post(id, '/goal', { objective: 'Survive.' })
    await server.reaches(id, 'error')
    await server.restart('end')
    expect((await server.post(id, '/goal/resume')).status).toBe(200)
    await until(async () => (await server.updates(id, 'goal')).length === 4)
  })
})
