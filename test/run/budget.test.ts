/** Budgets of conversations across restarts and unloading: spending is never forgotten. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

/** US dollars of every answer: a thousand tokens. */
const PRICE = 0.01
const BUDGET = 4 * PRICE

type Model = Awaited<ReturnType<typeof startScriptedModel>>
type Task = ReturnType<typeof conversation>

const request = (model: Model, work: string) =>
  starting(model, work, {
    agent: { llm: llmOf(model, { input_cost_per_token: PRICE / 1000, output_cost_per_token: 0 }) },
    initial_message: message('go'),
    max_budget_per_task: BUDGET,
  })

/** Works without an end, one answer per step; `answerOf` makes the answer of each step. */
const startModel = (answerOf: (step: number) => ScriptedAnswer) =>
  startScriptedModel({
    respond: ({ view }) => ({ usage: { input: 1000, output: 0 }, ...answerOf(view.assistantTurns) }),
  })

const command = (text: string): ScriptedAnswer => ({
  toolCalls: [{ name: 'terminal', arguments: { command: text } }],
})

async function spentBy(task: Task): Promise<number> {
  const { usage_to_metrics } = (await task.info()).stats
  const costs = Object.values<{ accumulated_cost: number }>(usage_to_metrics).map((each) => each.accumulated_cost)
  return Number(costs.reduce((sum, cost) => sum + cost, 0).toFixed(6))
}

/** It stopped where it had to, having paid for exactly what it was given. */
async function expectUsedUp(task: Task, model: Model): Promise<void> {
  expect((await task.info()).execution_status).toBe('paused')
  expect(await spentBy(task)).toBe(BUDGET)
  expect(model.requests).toHaveLength(BUDGET / PRICE)
  const reached = (await task.kinds('ConversationErrorEvent')).filter(({ code }) => code === 'MaxBudgetReached')
  expect(reached).toHaveLength(1)
  expect(reached[0].detail).toContain(`The budget of ${BUDGET} US dollars is used up`)
}

/** After the budget is raised, the conversation continues until that is spent too. */
async function expectRaisable(task: Task, server: Pick<ServerProcess, 'call'>, model: Model): Promise<void> {
  await server.call('PATCH', `/api/conversations/${task.id}`, { max_budget_per_task: 6 * PRICE })
  await task.post('run')
  await until(
    async () => (await spentBy(task)) === 6 * PRICE && (await task.info()).execution_status === 'paused',
    30_000,
  )
  expect(model.requests).toHaveLength(6)
}

test('kill -9 with half of a budget spent leaves the other half, to the cent', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await using model = await startModel((step) => command(step === 1 ? 'echo two; sleep 5.0815' : `echo ${step}`))
  const first = await startServerProcess({ dataDir })
  const before = await start(first, request(model, dir.file('work')))
  await until(async () => (await processesOf(dataDir, 'sleep 5.0815')).length > 0, 30_000)
  expect(await spentBy(before)).toBe(BUDGET / 2)
  await first.kill()

  await using second = await startServerProcess({ dataDir })
  const task = conversation(second, before.id)
  await task.is('paused', 'error', 'finished')
  await expectUsedUp(task, model)
  await expectRaisable(task, second, model)
  await second.call('DELETE', `/api/conversations/${task.id}`)
}, 120_000)

test('a used-up budget survives kill -9, and a message does not evade it', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await using model = await startModel((step) => command(`echo ${step}`))
  const first = await startServerProcess({ dataDir })
  const before = await start(first, request(model, dir.file('work')))
  await before.is('paused', 'error')
  await expectUsedUp(before, model)
  await first.kill()

  await using second = await startServerProcess({ dataDir })
  const task = conversation(second, before.id)
  expect(await spentBy(task)).toBe(BUDGET)
  const told = async () =>
    (await task.kinds('ConversationErrorEvent')).filter(({ code }) => code === 'MaxBudgetReached').length
  await task.say('and on')
  await until(async () => (await told()) === 2)
  await task.is('paused')
  expect(await spentBy(task)).toBe(BUDGET)
  expect(model.requests).toHaveLength(BUDGET / PRICE)
  await second.call('DELETE', `/api/conversations/${task.id}`)
}, 120_000)

test('a conversation that left memory with half of its budget spent keeps the other half', async () => {
  await using server = await startTestServer({ PARLEY_IDLE_UNLOAD_SECONDS: '0.05' })
  await using model = await startModel((step) => (step === 1 ? { text: 'half done' } : command(`echo ${step}`)))
  const task = await start(server, request(model, server.dir.file('work')))
  await task.is('finished', 'error')
  expect(await spentBy(task)).toBe(BUDGET / 2)
  const loads = async (): Promise<unknown> =>
    (await queryStore(server.dir.file('data'), 'SELECT epoch FROM conversations WHERE id = ?', task.id))[0]?.['epoch']
  const before = await loads()
  // A command that changes nothing loads it again once it has left; between two of them there is time to leave.
  while ((await loads()) === before) {
    await sleep(150)
    await task.post('pause')
  }

  await task.say('go on')
  await task.is('paused', 'error')
  await expectUsedUp(task, model)
  await expectRaisable(task, server, model)
}, 60_000)

test('a run with a budget is refused before its model is asked, when the price of the model is not known', async () => {
  await using server = await startTestServer()
  await using model = await startModel(() => ({ text: 'hello' }))
  const limited = { initial_message: message('go'), max_budget_per_task: BUDGET }
  const task = await start(server, starting(model, server.dir.file('work'), limited))
  await task.is('error', 'finished', 'paused')
  const [refused] = await task.kinds('ConversationErrorEvent')
  expect(refused).toMatchObject({
    code: 'LLMPriceUnknown',
    detail: expect.stringMatching(
      /openai\/scripted is not known.*max_budget_per_task.*`input_cost_per_token`/,
    ) as string,
  })
  expect(model.requests).toEqual([])

  const llm = llmOf(model, { input_cost_per_token: PRICE / 1000, output_cost_per_token: 0, usage_id: 'priced' })
  expect((await task.post('switch_llm', { llm })).status).toBe(200)
  await task.post('run')
  await task.is('finished')
  expect(await spentBy(task)).toBe(PRICE)
}, 60_000)
