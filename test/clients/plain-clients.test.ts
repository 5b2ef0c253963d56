/** Methods of the published client that repeat those of a conversation or a workspace as single calls. */
import { readFileSync } from 'node:fs'
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
  startBench,
} from '../../packages/server/testing/typescript-client.ts'

let bench: Bench
beforeAll(async () => {
  bench = await startBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

test('the client for all conversations runs, pauses, decides, condenses, forks and navigates', async () => {
  const condenser = {
    kind: 'LLMSummarizingCondenser',
    llm: llmRecord('chat', bench.model.url, { usage_id: 'condenser' }),
    max_size: 20,
    keep_first: 1,
  }
  await using talk = await bench.talk({ condenser })
  const { id } = talk.conversation
  const api = new clients.ConversationClient(bench.options)
  await talk.conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  await talk.conversation.sendMessage(instruct(command('echo one'), command('echo two'), { text: 'Done.' }))
  expect(await api.runConversation(id)).toMatchObject({ success: true })
  await talk.next((frame) => isSnapshot(frame) && frame.value.execution_status === 'waiting_for_confirmation')
  expect(await api.respondToConfirmation(id, { accept: false, reason: 'not that' })).toMatchObject({ success: true })
  expect((await talk.next(({ kind }) => kind === 'UserRejectObservation')).rejection_reason).toBe('not that')
  await talk.next((frame) => isSnapshot(frame) && frame.value.execution_status === 'idle')
  await api.runConversation(id)
  await talk.next((frame) => isSnapshot(frame) && frame.value.execution_status === 'waiting_for_confirmation')
  expect(await api.respondToConfirmation(id, { accept: true, reason: '' })).toMatchObject({ success: true })
  expect((await talk.next(({ kind }) => kind === 'ObservationEvent')).observation.content[0].text).toContain('two')
  await talk.next((frame) => isSnapshot(frame) && frame.value.execution_status === 'finished')
  expect(await api.pauseConversation(id)).toMatchObject({ success: true })

  expect(await api.condenseConversation(id)).toMatchObject({ success: true })
  await talk.next(({ kind }) => kind === 'Condensation')
  const copy = await api.forkConversation(id, { title: 'A copy' })
  expect(copy).toMatchObject({ title: 'A copy', forked_from_conversation_id: id })
  expect(await api.navigateConversation(copy.id, { event_id: null })).toMatchObject({ leaf_event_id: null })
})

test('the client reads each member of the state of a conversation', async () => {
  await using talk = await bench.talk()
  const { state } = talk.conversation
  expect(await state.getAgentStatus()).toBe('idle')
  expect(await state.getConfirmationPolicy()).toMatchObject({ kind: 'NeverConfirm' })
  expect(await state.getActivatedKnowledgeSkills()).toEqual([])
  expect(await state.getAgent()).toMatchObject({ kind: 'Agent', llm: { model: 'openai/gpt-4o' } })
  expect(await state.modelDump()).toMatchObject({ id: talk.conversation.id })
  expect(JSON.parse(await state.modelDumpJson())).toMatchObject({ id: talk.conversation.id })
})

test('the WebSocket client receives events until it is stopped', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  const [frames, errors]: [Frame[], Error[]] = [[], []]
  const socket = new client.WebSocketCallbackClient({
    ...bench.options,
    conversationId: conversation.id,
    callback: (event) => void frames.push(event),
    onError: (error) => void errors.push(error),
  })
  socket.start()
  await until(() => frames.some(isSnapshot))
  await conversation.sendMessage(instruct({ text: 'Here.' }))
  await conversation.run()
  await talk.rested()
  await until(() => frames.some(({ kind, source }) => kind === 'MessageEvent' && source === 'agent'))
  socket.stop()
  const [message] = frames.filter(({ kind }) => kind === 'MessageEvent')
  expect(await conversation.state.events.getEventById(message.id)).toMatchObject({ id: message.id, source: 'user' })
  expect(errors).toEqual([])
  await conversation.stopWebSocketClient()
})

test('every upload and download method of the client works', async () => {
  const workspace = new client.RemoteWorkspace({ ...bench.options, workingDir: bench.workingDir })
  const files = new clients.FileClient(bench.options)
  const path = bench.server.dir.file('files', 'a.txt')
  expect(await workspace.fileUpload('from a workspace\n', path)).toMatchObject({ success: true })
  expect(await files.downloadTextFile(path)).toBe('from a workspace\n')
  await files.uploadTextFile('as text\n', path)
  expect(await (await workspace.downloadAsBlob(path)).text()).toBe('as text\n')
  expect(await workspace.uploadFileObject(new File(['as a file\n'], 'a.txt'), path)).toMatchObject({ success: true })
  expect(readFileSync(path, 'utf8')).toBe('as a file\n')
  workspace.close()
})
