import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { until } from '../../packages/server/testing/until.ts'
import { command, instruct } from '../../packages/server/testing/instructed-model.ts'
import {
  type Bench,
  client,
  clients,
  type Frame,
  isSnapshot,
  isState,
  startBench,
} from '../../packages/server/testing/typescript-client.ts'

let bench: Bench
beforeAll(async () => {
  bench = await startBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

/** Number of model calls for steps; calls for titles have no tools. */
const steps = () => bench.model.requests.filter(({ view }) => view.tools.length > 0).length
const kinds = (frames: readonly Frame[]) =>
  frames.map(({ kind, key }) => (kind === 'ConversationStateUpdateEvent' ? key : kind))
const finish = (message: string) => ({ toolCalls: [{ name: 'finish', arguments: { message } }] })

test('a task runs from the first message to the final response', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  expect(await conversation.state.getExecutionStatus()).toBe('idle')
  await conversation.sendMessage(instruct(command('echo from the shell'), finish('It is done.')))
  await conversation.run()
  const rest = await talk.rested()
  expect(rest.value.execution_status).toBe('finished')

  const seen = kinds(talk.frames)
  expect(seen[0]).toBe('full_state')
  const order = [
    'SystemPromptEvent',
    'MessageEvent',
    'ActionEvent',
    'ObservationEvent',
    'ActionEvent',
    'ObservationEvent',
  ]
  expect(seen.filter((kind) => /^(System|Message|Action|Observation)/.test(kind))).toEqual(order)
  expect(seen.at(-1)).toBe('full_state')
  const observed = talk.frames.find(({ observation }) => observation?.kind === 'TerminalObservation')
  expect(observed.observation.content[0].text).toContain('from the shell')

  expect(await conversation.getAgentFinalResponse()).toBe('It is done.')
  expect(await conversation.state.getExecutionStatus()).toBe('finished')
  const stats = await conversation.conversationStats()
  expect((stats as Frame).usage_to_metrics.default.accumulated_token_usage.prompt_tokens).toBeGreaterThan(0)
  expect(talk.errors).toEqual([])
})

test('the TypeScript client receives text deltas from a streaming model', async () => {
  await using talk = await bench.talk()
  await talk.conversation.sendMessage(instruct({ text: 'One word after the other, in order.', chunkSize: 5 }))
  await talk.conversation.run()
  await talk.rested()
  const deltas = talk.frames.filter(({ kind }) => kind === 'StreamingDeltaEvent')
  expect(deltas.length).toBeGreaterThan(1)
  expect(deltas.map(({ content }) => content).join('')).toBe('One word after the other, in order.')
  for (const delta of deltas)
    expect(delta).toMatchObject({ id: expect.any(String), timestamp: expect.any(String), source: 'agent' })
})

test('every frame has the members by which clients identify and order events', async () => {
  await using talk = await bench.talk()
  await talk.conversation.sendMessage(instruct(command('true'), { text: 'Ready.' }))
  await talk.conversation.run()
  await talk.rested()
  for (const frame of talk.frames) {
    expect(frame.id).toMatch(/^[0-9a-f-]{36}$/)
    expect(frame.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
    expect(['agent', 'user', 'environment', 'hook']).toContain(frame.source)
    expect(JSON.stringify(frame)).not.toContain('test-key-0123456789')
  }
  const stored = talk.frames.filter((frame) => !isSnapshot(frame) && frame.kind !== 'StreamingDeltaEvent')
  expect(new Set(stored.map(({ id }) => id)).size).toBe(stored.length)
  const log = await talk.conversation.state.events.search({ limit: 100 })
  expect(log.items).toEqual(expect.arrayContaining(stored))
})

test('accepting a pending batch runs it without another model call', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  expect(await conversation.state.refresh()).toMatchObject({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  await conversation.sendMessage(instruct(command('echo accepted'), { text: 'Ready.' }))
  await conversation.run()
  expect((await talk.rested()).value.execution_status).toBe('waiting_for_confirmation')
  const asked = steps()
  await conversation.sendConfirmationResponse(true)
  const answer = await talk.next(({ kind }) => kind === 'ObservationEvent')
  expect(answer.observation.content[0].text).toContain('accepted')
  expect((await talk.rested()).value.execution_status).toBe('finished')
  expect(steps()).toBe(asked + 1)
})

test('rejecting a pending batch answers every action with the reason, which the model sees in the next run', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  await conversation.sendMessage(instruct(command('echo never'), { text: 'Then not.' }))
  await conversation.run()
  await talk.rested()
  await conversation.sendConfirmationResponse(false, 'Not on this machine.')
  const refusal = await talk.next(({ kind }) => kind === 'UserRejectObservation')
  expect(refusal).toMatchObject({
    rejection_reason: 'Not on this machine.',
    rejection_source: 'user',
    tool_name: 'terminal',
  })
  expect((await talk.rested()).value.execution_status).toBe('idle')
  await conversation.run()
  expect((await talk.rested()).value.execution_status).toBe('finished')
  expect(bench.model.requests.some(({ text }) => text.includes('Not on this machine.'))).toBe(true)
})

test('run accepts a pending batch', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  await conversation.sendMessage(instruct(command('echo by run'), { text: 'Ready.' }))
  await conversation.run()
  await talk.rested()
  await conversation.run()
  const answer = await talk.next(({ kind }) => kind === 'ObservationEvent')
  expect(answer.observation.content[0].text).toContain('by run')
})

test('pause lets the running command end and makes no further model call', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  const go = bench.server.dir.file('go')
  await conversation.sendMessage(
    instruct(command(`touch began; while [ ! -e ${go} ]; do sleep 0.05; done; echo over`), { text: 'Ready.' }),
  )
  await conversation.run()
  await until(() => existsSync(`${bench.workingDir}/began`))
  await expect(conversation.run()).rejects.toMatchObject({ status: 409 })
  await conversation.pause()
  await talk.next(({ kind }) => kind === 'PauseEvent')
  const asked = steps()
  writeFileSync(go, '')
  await talk.next(({ kind }) => kind === 'ObservationEvent')
  await until(
    async () =>
      (await bench.server.call('GET', `/api/conversations/${conversation.id}`)).body.execution_status === 'paused',
  )
  expect(steps()).toBe(asked)
  await conversation.run()
  await talk.next(({ kind, source }) => kind === 'MessageEvent' && source === 'agent')
  expect(await talk.next((frame) => isSnapshot(frame) && frame.value.execution_status === 'finished')).toBeDefined()
})

test('interrupt cancels the running call and answers open actions', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  const api = new clients.ConversationClient(bench.options)
  await conversation.sendMessage(instruct(command('touch started; sleep 600')))
  await conversation.run()
  await until(() => existsSync(`${bench.workingDir}/started`))
  await api.interruptConversation(conversation.id)
  const error = await talk.next(({ kind }) => kind === 'AgentErrorEvent')
  expect(error.tool_name).toBe('terminal')
  await talk.next(({ kind }) => kind === 'InterruptEvent')
  expect((await talk.rested()).value.execution_status).toBe('paused')
})

test('a fork has the same history and continues independently', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.sendMessage(instruct({ text: 'First.' }))
  await conversation.run()
  await talk.rested()
  const copy = await conversation.fork({ title: 'A second way' })
  expect(copy.id).not.toBe(conversation.id)
  const info = await copy.state.refresh()
  expect(info).toMatchObject({
    execution_status: 'idle',
    forked_from_conversation_id: conversation.id,
    title: 'A second way',
  })
  const text = async (remote: typeof conversation) =>
    (await remote.state.events.getEvents())
      .filter(({ kind }) => kind === 'MessageEvent')
      .map((event: Frame) => event.llm_message.content[0].text)
  expect(await text(copy)).toEqual(await text(conversation))
  await copy.sendMessage(instruct({ text: 'Another end.' }))
  await copy.run()
  await until(async () => (await text(copy)).length === 4)
  expect((await text(conversation)).length).toBe(2)
})

test('navigation returns to an earlier event, and the other branch stays in the log', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.sendMessage(instruct({ text: 'The first answer.' }))
  await conversation.run()
  await talk.rested()
  const events = await conversation.state.events.getEvents()
  const prompt = events.find(({ kind }) => kind === 'SystemPromptEvent')
  await conversation.navigateTo(prompt!.id)
  expect(await conversation.state.refresh()).toMatchObject({ leaf_event_id: prompt!.id })
  await conversation.sendMessage(instruct({ text: 'The second answer.' }))
  await conversation.run()
  await talk.next(({ kind, source }) => kind === 'MessageEvent' && source === 'agent')
  expect(await conversation.getAgentFinalResponse()).toBe('The second answer.')
  const after = await conversation.state.events.getEvents()
  const texts = after
    .filter(({ kind }) => kind === 'MessageEvent')
    .map((event: Frame) => event.llm_message.content[0].text)
  expect(texts).toContain('The first answer.')
  await expect(conversation.navigateTo('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({ status: 404 })
  await conversation.navigateTo(null)
  expect(await conversation.state.refresh()).toMatchObject({ leaf_event_id: null })
})

test('events are searched, counted, paged and read one by one', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.sendMessage(instruct(command('true'), { text: 'The word is rhubarb.' }))
  await conversation.run()
  await talk.rested()
  const { events } = conversation.state
  const all = await events.getEvents()
  expect(await events.count()).toBe(
    all.filter((frame: Frame) => !isSnapshot(frame) && frame.kind !== 'StreamingDeltaEvent').length,
  )
  const path = 'openhands.sdk.event.llm_convertible.message.MessageEvent'
  expect(await events.count({ kind: path })).toBe(2)
  expect(await events.count({ kind: 'MessageEvent', source: 'agent' })).toBe(1)
  expect((await events.search({ body: 'RHUBARB', source: 'agent' })).items).toHaveLength(1)
  const newest = await events.search({ limit: 1, sort_order: client.EventSortOrder.TIMESTAMP_DESC })
  const second = await events.search({
    limit: 1,
    sort_order: client.EventSortOrder.TIMESTAMP_DESC,
    page_id: newest.next_page_id!,
  })
  expect(second.items[0]!.id).toBe(newest.next_page_id)
  const [known, unknown] = await events.getEventsById([newest.items[0]!.id, '00000000-0000-4000-8000-000000000000'])
  expect([known?.id, unknown]).toEqual([newest.items[0]!.id, null])
  const late = await events.search({ timestamp__gte: '2199-01-01T00:00:00' })
  expect(late.items).toEqual([])
})

test('the TypeScript client sets and removes a security analyzer', async () => {
  await using talk = await bench.talk()
  await talk.conversation.setSecurityAnalyzer({ kind: 'LLMSecurityAnalyzer' })
  await talk.next(({ key, value }) => key === 'security_analyzer' && value.kind === 'LLMSecurityAnalyzer')
  await talk.conversation.setSecurityAnalyzer(null)
  await talk.next(isState('security_analyzer', null))
})

test('the TypeScript client sets a title', async () => {
  await using talk = await bench.talk()
  await talk.conversation.setTitle('  Rhubarb  ')
  expect((await talk.conversation.state.refresh()).title).toBe('Rhubarb')
})

test('a failing model ends the run with an error that names a remedy', async () => {
  await using talk = await bench.talk()
  await talk.conversation.sendMessage(instruct({ status: 401, error: 'Incorrect API key provided' }))
  await talk.conversation.run()
  const failure = await talk.next(({ kind }) => kind === 'ConversationErrorEvent')
  expect(failure).toMatchObject({
    code: 'LLMAuthenticationError',
    classification: { kind: 'auth', user_action: 'settings' },
  })
  expect((await talk.rested()).value.execution_status).toBe('error')
})

test('a client that attaches again finds the members that it needs', async () => {
  await using talk = await bench.talk()
  await talk.conversation.sendMessage(instruct({ text: 'Here.' }))
  await talk.conversation.run()
  await talk.rested()
  const manager = new client.ConversationManager(bench.options)
  const again = await manager.loadConversation(talk.conversation.id, bench.workingDir)
  expect(again.agent).toMatchObject({ kind: 'Agent', llm: { model: 'openai/gpt-4o', api_key: null } })
  expect(await again.state.getWorkspace()).toEqual({ kind: 'LocalWorkspace', working_dir: bench.workingDir })
  expect(await again.state.getPersistenceDir()).toEqual(expect.any(String))
  expect(await again.getAgentFinalResponse()).toBe('Here.')
  expect(await again.getHookConfig()).toBeNull()
  await again.close()
  manager.close()
})

test('a side question is answered without becoming part of the conversation', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.sendMessage(instruct({ text: 'Here.' }))
  await conversation.run()
  await talk.rested()
  const messages = () => conversation.state.events.count({ kind: 'MessageEvent' })
  const before = await messages()
  expect(await conversation.askAgent(instruct({ text: 'Rhubarb.' }))).toBe('Rhubarb.')
  expect(await messages()).toBe(before)
})

test('condense shortens a history with the condenser of the agent', async () => {
  const llm = llmRecord('chat', bench.model.url, { usage_id: 'condenser' })
  await using talk = await bench.talk({
    condenser: { kind: 'LLMSummarizingCondenser', llm, max_size: 20, keep_first: 1 },
  })
  const { conversation } = talk
  await conversation.sendMessage(
    instruct(...Array.from({ length: 6 }, (_, n) => command(`echo ${n}`)), { text: 'Here.' }),
  )
  await conversation.run()
  await talk.rested()
  await conversation.condense()
  const shorter = await talk.next(({ kind }) => kind === 'Condensation')
  expect(shorter.forgotten_event_ids.length).toBeGreaterThan(0)
  await conversation.sendMessage(instruct({ text: 'Still here.' }))
  await conversation.run()
  await talk.next(({ kind, source }) => kind === 'MessageEvent' && source === 'agent')
  expect(await conversation.getAgentFinalResponse()).toBe('Still here.')
})

test('the end of a run with nothing to do is sent after its answer, so that a waiting client receives it', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  await conversation.sendMessage(instruct({ text: 'Here.' }))
  await conversation.run()
  await talk.rested()
  await conversation.run()
  const answered = talk.frames.length
  await until(() => talk.frames.slice(answered).some(isSnapshot))
})
