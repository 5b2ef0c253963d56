import { access, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import {
  asksForSummary,
  startScriptedModel,
  type ModelRequest,
  type ScriptedAnswer,
} from '../../packages/server/testing/scripted-model.ts'
import { LFS_POINTER } from '../../packages/server/testing/images.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

const run = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })
const said: ScriptedAnswer = { text: 'done' }
const asks = ({ view }: ModelRequest) => view.lastUserText.includes('A question beside the task')
const summarises = ({ view }: ModelRequest) => asksForSummary(view)

/** A server and a model that answers the task from `answers` by turn, questions and summaries beside it. */
async function stage(
  answers: readonly ScriptedAnswer[],
  aside: (request: ModelRequest) => ScriptedAnswer | undefined = () => undefined,
) {
  const model = await startScriptedModel({
    respond: (request) =>
      aside(request) ??
      (asks(request) ? { text: 'an answer' } : summarises(request) ? { text: 'a summary' } : taskAnswer(request)),
  })
  // After a summary the turns can no longer be counted.
  const taskAnswer = ({ text, view }: ModelRequest) =>
    (text.includes('a summary') ? undefined : answers[view.assistantTurns]) ?? said
  const server = await startTestServer()
  const begin = (members: Record<string, any> = {}) =>
    start(server, starting(model, server.dir.file('work'), { initial_message: message('go'), ...members }))
  const condenser = { kind: 'LLMSummarizingCondenser', llm: llmOf(model) }
  const file = (name: string) => server.dir.file('work', name)
  return {
    model,
    server,
    begin,
    condenser,
    file,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
    },
  }
}

/** A command that runs until the file is there. */
const waitsFor = (path: string) => run(`touch begun; until [ -e ${path} ]; do sleep 0.05; done; echo went on`)
const exists = (path: string) => () =>
  access(path).then(
    () => true,
    () => false,
  )

describe('a question to the agent', () => {
  test('a question to the agent is answered while a command runs, and records only its cost', async () => {
    await using at = await stage([waitsFor('stop'), said])
    const task = await at.begin()
    await until(exists(at.file('begun')))
    const before = await task.events()
    expect(await task.post('ask_agent', { question: 'How is it going?' })).toEqual({
      status: 200,
      body: { response: 'an answer' },
    })
    const after = await task.events()
    const added = after.slice(before.length)
    expect(added).toMatchObject([{ kind: 'ConversationStateUpdateEvent', key: 'stats' }])
    expect((await task.info()).execution_status).toBe('running')
    await writeFile(at.file('stop'), '')
    await task.is('finished')
    const { usage_to_metrics } = (await task.info()).stats
    expect(usage_to_metrics['ask-agent-llm'].token_usages).toHaveLength(1)
    expect(usage_to_metrics.default.token_usages).toHaveLength(2)
    expect(at.model.requests.at(-1)!.text).not.toContain('How is it going?')
    expect(at.model.violations).toEqual([])
  })

  test('a question before the first step is answered without an image that no model can see', async () => {
    await using at = await stage([said])
    const image_urls = [`data:image/png;base64,${LFS_POINTER.toString('base64')}`]
    const content = [...message('go').content, { type: 'image', image_urls }]
    const task = await at.begin({ initial_message: null })
    expect((await task.post('events', { role: 'user', content, run: false })).status).toBe(200)
    expect(await task.post('ask_agent', { question: 'What do you see?' })).toMatchObject({
      status: 200,
      body: { response: 'an answer' },
    })
    expect(at.model.requests.map(asks)).toEqual([true])
    expect(at.model.requests[0]!.text).not.toContain('base64')
  })

  test.each<[string, ScriptedAnswer, number]>([
    ['a key that is refused', { status: 401, error: 'bad key' }, 400],
    ['too many requests', { status: 429, error: 'slow down' }, 429],
    ['a server that is down', { status: 503, error: 'down' }, 503],
    ['an answer without words', { toolCalls: [{ name: 'terminal', arguments: { command: 'touch never' } }] }, 503],
  ])('a question to the agent reports the failure of the model: %s', async (_name, answer, status) => {
    await using at = await stage([said], (request) => (asks(request) ? answer : undefined))
    const task = await at.begin()
    await task.is('finished')
    const answered = await task.post('ask_agent', { question: 'Why?' })
    expect(answered.status).toBe(status)
    expect(JSON.stringify(answered.body).length).toBeGreaterThan(30)
    expect((await task.info()).execution_status).toBe('finished')
    expect(await exists(at.file('never'))()).toBe(false)
  })

  test('a question to an unknown conversation returns 404, and an empty one 422', async () => {
    await using at = await stage([said])
    const task = await at.begin()
    expect(
      (
        await at.server.call('POST', '/api/conversations/00000000-0000-4000-8000-00000000dead/ask_agent', {
          question: 'x',
        })
      ).status,
    ).toBe(404)
    expect((await task.post('ask_agent', { question: '' })).status).toBe(422)
  })
})

describe('condensing by hand', () => {
  test('a finished conversation is condensed at once and stays finished', async () => {
    await using at = await stage([run('echo one'), run('echo two'), said, said])
    const task = await at.begin({ agent: { condenser: at.condenser } })
    await task.is('finished')
    expect(await task.post('condense')).toEqual({ status: 200, body: { success: true } })
    const kinds = (await task.events()).map(({ kind }) => kind).filter((kind) => /Condens/.test(kind))
    expect(kinds).toEqual(['CondensationRequest', 'Condensation'])
    expect((await task.info()).execution_status).toBe('finished')
    await task.say('and now?')
    await task.is('finished')
    expect(at.model.requests.at(-1)!.text).toContain('a summary')
    expect(at.model.violations).toEqual([])
  })

  test('a condensation executes no pending action (F47), which can be approved afterwards', async () => {
    await using at = await stage([run('echo one'), run('touch performed'), said])
    const task = await at.begin({ agent: { condenser: at.condenser }, confirmation_policy: { kind: 'AlwaysConfirm' } })
    await task.is('waiting_for_confirmation')
    await task.post('run')
    await until(async () => (await task.kinds('ActionEvent')).length === 2)
    await task.is('waiting_for_confirmation')
    expect((await task.post('condense')).status).toBe(200)
    expect(await exists(at.file('performed'))()).toBe(false)
    expect((await task.info()).execution_status).toBe('waiting_for_confirmation')
    expect(await task.kinds('Condensation')).toHaveLength(1)
    await task.post('run')
    await task.is('finished', 'waiting_for_confirmation')
    await until(exists(at.file('performed')))
    expect(at.model.violations).toEqual([])
  })

  test('a running conversation is condensed between two steps, and the run continues', async () => {
    await using at = await stage([run('echo one'), run('echo two'), waitsFor('stop'), said])
    const task = await at.begin({ agent: { condenser: at.condenser } })
    await until(exists(at.file('begun')))
    const condensed = task.post('condense')
    await writeFile(at.file('stop'), '')
    expect((await condensed).status).toBe(200)
    await task.is('finished')
    const kinds = (await task.events())
      .map(({ kind }) => kind)
      .filter((kind) => /Observation|Condens|Message/.test(kind))
    expect(kinds.slice(-4)).toEqual(['ObservationEvent', 'CondensationRequest', 'Condensation', 'MessageEvent'])
    expect(at.model.violations).toEqual([])
  })

  test('a condensation without a condenser is refused with the reason, and a failing model changes nothing', async () => {
    await using at = await stage([said], (request) =>
      summarises(request) ? { status: 401, error: 'bad key' } : undefined,
    )
    const without = await at.begin()
    await without.is('finished')
    expect(await without.post('condense')).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('no condenser') },
    })
    const failing = await at.begin({ agent: { condenser: at.condenser } })
    await failing.is('finished')
    const before = await failing.events()
    expect(await failing.post('condense')).toMatchObject({ status: 400, body: { code: 'LLMAuthenticationError' } })
    expect(await failing.events()).toEqual(before)
    expect((await failing.info()).execution_status).toBe('finished')
  })

  test('a condensation can be interrupted', async () => {
    await using at = await stage([run('echo one'), said], (request) =>
      summarises(request) ? { hang: 'headers' } : undefined,
    )
    const task = await at.begin({ agent: { condenser: at.condenser } })
    await task.is('finished')
    const condensed = task.post('condense')
    await until(() => at.model.requests.some(summarises))
    await task.post('interrupt')
    expect(await condensed).toMatchObject({ status: 409, body: { detail: expect.stringContaining('interrupted') } })
    expect((await task.info()).execution_status).toBe('finished')
  })
})
