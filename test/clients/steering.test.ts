/** Steering with the published client: goals, models, secrets of a conversation, hooks of a project. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { writeScript } from '../../packages/server/testing/acp-conversations.ts'
import { until } from '../../packages/server/testing/until.ts'
import { command, instruct } from '../../packages/server/testing/instructed-model.ts'
import {
  type Bench,
  client,
  clients,
  type Frame,
  startBench,
  type Talk,
} from '../../packages/server/testing/typescript-client.ts'

const HOOKS = {
  pre_tool_use: [{ matcher: 'terminal', hooks: [{ type: 'command', command: 'exit 0' }] }],
}

let stack: AsyncDisposableStack
let bench: Bench
let project: string
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  project = dir.file('project')
  mkdirSync(`${project}/.openhands`, { recursive: true })
  writeFileSync(`${project}/.openhands/hooks.json`, JSON.stringify(HOOKS))
  bench = stack.use(await startBench({ PARLEY_TRUSTED_HOOKS: project }))
})
afterAll(() => stack.disposeAsync())

const isGoal = (status: string) => (frame: Frame) => frame.key === 'goal' && frame.value.status === status
const answer = async (talk: Talk, text: string): Promise<Frame> => {
  await talk.conversation.sendMessage(text)
  await talk.conversation.run()
  return talk.next(({ kind, source }) => kind === 'MessageEvent' && source === 'agent')
}

/** A model whose agent answers on demand, and whose goal judge accepts. */
async function pursuing() {
  let gate = Promise.withResolvers<ScriptedAnswer>()
  // Calls of the goal judge and for titles have no tools.
  const isAgent = ({ tools }: { tools: readonly unknown[] }) => tools.length > 0
  const model = await startScriptedModel({
    respond: ({ text }) =>
      text.includes('You judge whether') ? { text: '{"score":1,"complete":true}' } : gate.promise,
  })
  return {
    model,
    llm: llmRecord('chat', model.url),
    /** Releases one answer of the agent and holds later ones. */
    go(text: string) {
      const { resolve } = gate
      gate = Promise.withResolvers()
      resolve({ text })
    },
    asked: () => model.requests.filter(({ view }) => isAgent(view)).length,
    [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
  }
}

test.each(['of the conversation', 'of the client'])(
  'a goal is started, stopped, resumed and reached with the methods %s',
  async (where) => {
    await using agent = await pursuing()
    await using talk = await bench.talk({ llm: agent.llm })
    const { conversation } = talk
    const api = new clients.ConversationClient(bench.options)
    const { id } = conversation
    const [start, stop, resume] =
      where === 'of the conversation'
        ? [
            () => conversation.startGoal('Make it work.', 3),
            () => conversation.stopGoal(),
            () => conversation.resumeGoal(),
          ]
        : [
            () => api.startGoal(id, { objective: 'Make it work.', max_iterations: 3 }),
            () => api.stopGoal(id),
            () => api.resumeGoal(id),
          ]
    await start()
    expect((await talk.next(isGoal('running'))).value).toMatchObject({ objective: 'Make it work.', max_iterations: 3 })
    await expect(start()).rejects.toMatchObject({ status: 409 })
    await until(() => agent.asked() === 1)
    await stop()
    await talk.next(isGoal('interrupted'))
    agent.go('Not yet.')
    await talk.rested()
    await resume()
    await talk.next(isGoal('running'))
    await until(() => agent.asked() === 2)
    agent.go('Now it works.')
    expect((await talk.next(isGoal('complete'))).value).toMatchObject({ active: false, verdict: { complete: true } })
    await expect(resume()).rejects.toMatchObject({ status: 400 })
  },
)

test('a switched model answers from the next message on, given in full or by the name of a profile', async () => {
  await using second = await startScriptedModel({ respond: ({ view }) => ({ text: `I am ${view.model}.` }) })
  const llm = (name: string) => llmRecord('chat', second.url, { model: `openai/${name}`, usage_id: name })
  await using talk = await bench.talk()
  const { conversation } = talk
  const api = new clients.ConversationClient(bench.options)
  const manager = new client.ConversationManager(bench.options)
  const profiles = new clients.ProfilesClient(bench.options)
  const said = async (text: string) => (await answer(talk, text)).llm_message.content[0].text
  expect(await said(instruct({ text: 'I am the first.' }))).toBe('I am the first.')

  await conversation.switchLlm(llm('by-conversation') as never)
  expect(await said('And now?')).toBe('I am by-conversation.')
  await api.switchLLM(conversation.id, llm('by-client') as never)
  expect(await said('And now?')).toBe('I am by-client.')
  for (const name of ['profile-one', 'profile-two', 'profile-three'])
    await profiles.saveProfile(name, {
      llm: { ...llm(name), api_key: canary('llm_key') },
      include_secrets: true,
    } as never)
  await conversation.switchProfile('profile-one')
  expect(await said('And now?')).toBe('I am profile-one.')
  await api.switchProfile(conversation.id, 'profile-two')
  expect(await said('And now?')).toBe('I am profile-two.')
  await manager.switchProfile(conversation.id, 'profile-three')
  expect(await said('And now?')).toBe('I am profile-three.')
  await expect(conversation.switchProfile('nobody')).rejects.toMatchObject({ status: 404 })
  // Only an ACP agent accepts a model by name.
  await expect(conversation.switchAcpModel('opus')).rejects.toMatchObject({ status: 400 })
  manager.close()
})

test('an ACP agent is started, listed and switched to another model', async () => {
  const models = { currentModelId: 'opus', availableModels: [{ modelId: 'opus', name: 'Opus' }] }
  const more = { ...models, availableModels: [...models.availableModels, { modelId: 'haiku', name: 'Haiku' }] }
  const acp = writeScript(bench.server.dir, { name: 'claude-agent-acp', session: { models: more } })
  const manager = new client.ConversationManager(bench.options)
  const made = await manager.acp.createConversation(acp.agent() as never, {
    workingDir: bench.workingDir,
    initialMessage: 'hello',
  })
  const info = async () => (await manager.acp.getConversation(made.id)) as Frame
  await until(async () => (await info()).execution_status === 'finished')
  expect(await info()).toMatchObject({ agent: { kind: 'ACPAgent' }, current_model_id: 'opus' })
  const ids = (found: readonly Frame[]) => found.map((each) => each?.id)
  expect(ids((await manager.acp.searchConversations({ limit: 1 })).items)).toEqual([made.id])
  expect(ids(await manager.acp.getAllConversations())).toContain(made.id)
  expect(ids(await manager.acp.getConversations([made.id]))).toEqual([made.id])
  expect(await manager.acp.countConversations()).toBeGreaterThan(0)
  await new clients.ConversationClient(bench.options).switchAcpModel(made.id, 'haiku')
  expect((await info()).current_model_id).toBe('haiku')
  manager.close()
})

test('secrets of a conversation reach the commands that name them and are masked in their output', async () => {
  await using talk = await bench.talk()
  const { conversation } = talk
  const value = canary('conversation_secret')
  await conversation.updateSecrets({ DEPLOY_KEY: value, LATE_KEY: () => `${value}-late` })
  await new clients.ConversationClient(bench.options).updateSecrets(conversation.id, {
    secrets: { THIRD_KEY: `${value}-third` },
  } as never)
  const line = 'echo ${#DEPLOY_KEY} ${#LATE_KEY} ${#THIRD_KEY}; echo "it is $DEPLOY_KEY"'
  await conversation.sendMessage(instruct(command(line), { text: 'Done.' }))
  await conversation.run()
  const { observation } = await talk.next(({ kind }) => kind === 'ObservationEvent')
  const text: string = observation.content[0].text
  expect(text).toContain(`${value.length} ${value.length + 5} ${value.length + 6}`)
  expect(text).toContain('it is <secret-hidden>')
})

test('hooks of a trusted project are read and stored with a conversation', async () => {
  const hooks = new clients.HooksClient(bench.options)
  const { hook_config } = (await hooks.loadHooks({ project_dir: project } as never)) as Frame
  expect(hook_config.pre_tool_use[0]).toMatchObject({ matcher: 'terminal', hooks: [{ command: 'exit 0' }] })
  expect(await hooks.loadHooks({ project_dir: bench.workingDir } as never)).toMatchObject({ hook_config: null })
  hooks.close()

  const workspace = new client.RemoteWorkspace({ ...bench.options, workingDir: bench.workingDir })
  const conversation = new client.RemoteConversation(bench.agent(), workspace, {})
  await conversation.start()
  const loaded = await conversation.loadHooks(project)
  expect(loaded).toEqual(hook_config)
  expect(await conversation.getHookConfig()).toBeNull()
  await conversation.close()
  const hooked = new client.RemoteConversation(bench.agent(), workspace, { hookConfig: loaded! })
  await hooked.start()
  expect(await hooked.getHookConfig()).toMatchObject({ pre_tool_use: [{ matcher: 'terminal' }] })
  await hooked.close()
})
