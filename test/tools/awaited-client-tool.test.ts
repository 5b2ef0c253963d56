import { existsSync } from 'node:fs'
import { ParleyClient } from '@parley/client'
import { asConversationId, asEventId } from '@parley/protocol'
import { dataUrl, pngOf } from '../../packages/server/testing/images.ts'
import { expect, test } from 'vitest'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, type ServerProcessOptions } from '../../packages/server/testing/server-process.ts'
import { KEY, startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { conversation, message, start, starting } from '../../packages/server/testing/conversations.ts'
import { queryStore } from '../../packages/server/testing/chosen-store.ts'

const ask = {
  name: 'ask_person',
  description: 'Asks the person who is there.',
  parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
  awaits_result: true,
}
const asking = (question: string, id = 'c1'): ScriptedAnswer => ({
  toolCalls: [{ id, name: 'ask_person', arguments: { question } }],
})
const done: ScriptedAnswer = { text: 'Thank you.' }

type Caller = Pick<TestServer, 'call'>
type Started = ReturnType<typeof conversation>

/** The open calls of a conversation, as a reconnecting client reads them. */
async function open(of: Started): Promise<any[]> {
  const events = await of.events()
  const answered = new Set(
    events.flatMap(({ action_id, kind, tool_call_id }) => (kind === 'ActionEvent' ? [] : [action_id, tool_call_id])),
  )
  return events.filter(
    ({ kind, id, tool_call_id }) => kind === 'ActionEvent' && !answered.has(id) && !answered.has(tool_call_id),
  )
}

const opened = async (of: Started, count = 1) => {
  await until(async () => (await open(of)).length === count, 30_000)
  return open(of)
}

const bring = (server: Caller, of: Started, event: string, body: unknown) =>
  server.call('POST', `/api/conversations/${of.id}/events/${event}/result`, body)

const said = (model: Awaited<ReturnType<typeof startScriptedModel>>) => JSON.stringify(model.requests.at(-1)!.body)

test('an awaited client call waits for the result of its client, and the agent continues with it', async () => {
  await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), done] })
  await using server = await startTestServer()
  const other = { ...ask, name: 'open_page', awaits_result: false }
  const of = await start(
    server,
    starting(model, server.dir.file('work'), { client_tools: [ask, other], initial_message: message('go') }),
  )
  expect((await of.info()).client_tools).toMatchObject([ask, other])
  const [action] = await opened(of)
  expect(action.action).toEqual({ kind: 'ClientAction_ask_person', question: 'Tea?' })
  expect((await of.info()).execution_status).toBe('running')

  const first = (await of.events()).find(({ kind }) => kind === 'MessageEvent')
  expect(await bring(server, of, 'no-such-event', { content: 'x' })).toMatchObject({ status: 404 })
  expect(await bring(server, of, first.id, { content: 'x' })).toMatchObject({ status: 409 })
  for (const body of [{}, { content: 5 }, { content: [{ type: 'sound' }] }, { content: 'x', colour: 'red' }])
    expect(await bring(server, of, action.id, body)).toMatchObject({ status: 422 })
  const unknown = { ...of, id: '00000000-0000-4000-8000-000000000000' }
  expect(await bring(server, unknown, action.id, { content: 'x' })).toMatchObject({ status: 404 })

  expect(await bring(server, of, action.id, { content: 'Yes, with milk' })).toEqual({
    status: 200,
    body: { success: true },
  })
  await of.is('finished')
  const [answer] = await of.kinds('ObservationEvent')
  expect(answer).toMatchObject({
    action_id: action.id,
    observation: {
      kind: 'ClientToolObservation',
      is_error: false,
      content: [{ type: 'text', text: 'Yes, with milk' }],
    },
  })
  expect(said(model)).toContain('Yes, with milk')
  expect(await bring(server, of, action.id, { content: 'No' })).toMatchObject({ status: 409 })
})

test('the result of a client call may be an error, and may contain an image', async () => {
  await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), asking('Why?', 'c2'), done] })
  await using server = await startTestServer()
  const of = await start(
    server,
    starting(model, server.dir.file('work'), { client_tools: [ask], initial_message: message('go') }),
  )
  const [tea] = await opened(of)
  const typed = new ParleyClient({ baseUrl: server.url, apiKey: KEY }).conversation(asConversationId(of.id))
  await typed.postResult(asEventId(tea.id), { content: 'Nobody is there', is_error: true })
  await expect(typed.postResult(asEventId(tea.id), { content: 'x' })).rejects.toMatchObject({ status: 409 })
  await until(async () => (await of.kinds('ActionEvent')).length === 2)
  const [why] = await opened(of)
  const image = { type: 'image', image_urls: [dataUrl('image/png', pngOf({ width: 2, height: 2 }))] }
  expect(await bring(server, of, why.id, { content: [{ type: 'text', text: 'Look' }, image] })).toMatchObject({
    status: 200,
  })
  await of.is('finished')
  expect((await of.kinds('ObservationEvent')).map(({ observation }) => observation)).toMatchObject([
    { is_error: true, content: [{ text: 'Nobody is there' }] },
    { is_error: false, content: [{ text: 'Look' }, image] },
  ])
  // Secrets in the results are masked in the log, and only there.
  expect(await queryStore(server.dir.file('data'), 'SELECT about FROM notes')).toEqual([])
  expect(existsSync(server.dir.file('data', 'conversations', of.id, 'client_calls'))).toBe(false)
})

test('a result of a client call after its timeout is refused', async () => {
  await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), done] })
  await using server = await startTestServer()
  const tools = { client_tools: [{ ...ask, result_timeout: 1 }], initial_message: message('go') }
  const of = await start(server, starting(model, server.dir.file('work'), tools))
  const [action] = await opened(of)
  await of.is('finished')
  const [{ observation }] = await of.kinds('ObservationEvent')
  expect(observation).toMatchObject({ is_error: true })
  expect(observation.content[0].text).toMatch(/did not bring the result of ask_person within 1 seconds/)
  expect(await bring(server, of, action.id, { content: 'Yes' })).toMatchObject({ status: 409 })
})

test('a call of an ordinary client tool accepts no result, and a call that waits for approval does not accept one yet', async () => {
  await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), done] })
  await using server = await startTestServer()
  const of = await start(
    server,
    starting(model, server.dir.file('work'), {
      client_tools: [{ ...ask, awaits_result: undefined }],
      confirmation_policy: { kind: 'AlwaysConfirm' },
      initial_message: message('go'),
    }),
  )
  await of.is('waiting_for_confirmation')
  const [plain] = await open(of)
  expect(await bring(server, of, plain.id, { content: 'Yes' })).toMatchObject({ status: 400 })

  const waiting = await start(
    server,
    starting(model, server.dir.file('work2'), {
      client_tools: [ask],
      confirmation_policy: { kind: 'AlwaysConfirm' },
      initial_message: message('go'),
    }),
  )
  await waiting.is('waiting_for_confirmation')
  const [action] = await open(waiting)
  const early = await bring(server, waiting, action.id, { content: 'Yes' })
  expect(early).toMatchObject({ status: 409, body: { detail: expect.stringContaining('waits for a confirmation') } })
  await waiting.post('events/respond_to_confirmation', { accept: true })
  await waiting.is('running')
  expect(await bring(server, waiting, action.id, { content: 'Yes' })).toMatchObject({ status: 200 })
  await waiting.is('finished')
})

test('client calls of one answer wait in parallel, and do not block another conversation', async () => {
  const both = { toolCalls: [...asking('One?', 'c1').toolCalls!, ...asking('Two?', 'c2').toolCalls!] }
  await using model = await startScriptedModel({
    respond: ({ text, view }) => (text.includes('quick') || view.assistantTurns > 0 ? done : both),
  })
  await using server = await startTestServer({ PARLEY_MAX_CONCURRENT_RUNS: '1' })
  const of = await start(
    server,
    starting(model, server.dir.file('work'), {
      client_tools: [ask],
      agent: { tool_concurrency_limit: 2 },
      initial_message: message('go'),
    }),
  )
  const [one, two] = await opened(of, 2)
  const other = await start(server, starting(model, server.dir.file('work2'), { initial_message: message('quick') }))
  await other.is('finished')
  expect(await bring(server, of, two.id, { content: '2' })).toMatchObject({ status: 200 })
  expect(await bring(server, of, one.id, { content: '1' })).toMatchObject({ status: 200 })
  await of.is('finished')
  const answers = await of.kinds('ObservationEvent')
  expect(answers.map(({ observation }) => observation.content[0].text)).toEqual(['1', '2'])
})

test('an interrupt ends the wait for a client call', async () => {
  await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), done] })
  await using server = await startTestServer()
  const of = await start(
    server,
    starting(model, server.dir.file('work'), { client_tools: [ask], initial_message: message('go') }),
  )
  const [action] = await opened(of)
  await of.post('interrupt')
  await of.is('paused')
  expect(await bring(server, of, action.id, { content: 'Yes' })).toMatchObject({ status: 409 })
  await of.say('go on')
  await of.is('finished')
})

test.each<[string, { crash?: ServerProcessOptions['crash'] }]>([
  ['before it was posted', {}],
  ['after it was taken, before it was recorded', { crash: { at: 'ObservationEvent', when: 'before' } }],
])(
  'the result of a client call survives a kill of the server %s',
  async (_, crash) => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({ by: 'turn', answers: [asking('Tea?'), done] })
    const dataDir = dir.file('data')
    const first = await startServerProcess({ dataDir, ...crash } as ServerProcessOptions)
    const { id } = await start(
      first,
      starting(model, dir.file('work'), { client_tools: [ask], initial_message: message('go') }),
    )
    const [action] = await opened(conversation(first, id))
    if (crash.crash === undefined) await first.kill()
    else {
      // The result and the kill race; the state of the next server decides.
      await bring(first, conversation(first, id), action.id, { content: 'Yes' }).catch(() => undefined)
      await first.exited
    }

    await using second = await startServerProcess({ dataDir })
    const of = conversation(second, id)
    if (crash.crash === undefined) {
      const info = await of.info()
      expect(info.client_tools).toMatchObject([ask])
      const [found] = await opened(of)
      expect(found.id).toBe(action.id)
      expect(await bring(second, of, found.id, { content: 'Yes' })).toMatchObject({ status: 200 })
    }
    await of.is('finished')
    const answers = await of.kinds('ObservationEvent')
    expect(answers.map(({ observation }) => observation.content[0].text)).toEqual(['Yes'])
    expect(await of.kinds('AgentErrorEvent')).toEqual([])
  },
  60_000,
)

test.each([
  ['twice', { client_tools: [ask, ask] }, /'ask_person' is given twice/],
  [
    'twice and not alike',
    { client_tools: [ask], agent: { tools: [{ name: 'ask_person', params: { spec: { ...ask, description: 'x' } } }] } },
    /declared twice, and not alike/,
  ],
  [
    'with parameters that are no object',
    { client_tools: [{ ...ask, parameters: { type: 'array' } }] },
    /type 'object'/,
  ],
  ['with no time at all', { client_tools: [{ ...ask, result_timeout: 0 }] }, /greater than or equal to 1/],
])('a client tool that is declared %s is refused', async (_, members, reason) => {
  await using model = await startScriptedModel()
  await using server = await startTestServer()
  const { status, body } = await server.call(
    'POST',
    '/api/conversations',
    starting(model, server.dir.file('work'), members),
  )
  expect(status).toBe(422)
  expect(JSON.stringify(body)).toMatch(reason)
})

test('an argument called kind reaches the client beside the kind of the action', async () => {
  const tool = { ...ask, parameters: { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] } }
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [{ toolCalls: [{ id: 'c1', name: 'ask_person', arguments: { kind: 'tea' } }] }, done],
  })
  await using server = await startTestServer()
  const of = await start(
    server,
    starting(model, server.dir.file('work'), { client_tools: [tool], initial_message: message('go') }),
  )
  const [action] = await opened(of)
  expect(action.action).toEqual({ kind: 'ClientAction_ask_person', kind_: 'tea' })
  await bring(server, of, action.id, { content: 'green' })
  await of.is('finished')
  expect(said(model)).toContain('tea')
})
