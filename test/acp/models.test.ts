/** The models of an external agent. Source: agent-core.md 11.4, 11.9, 11.15; interface.md, ConversationInfo, ACPModelInfo. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { startAcpConversation, errors, writeScript } from '../../packages/server/testing/acp-conversations.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const offered = [
  { modelId: 'opus[1m]', name: 'Opus', description: 'large' },
  { modelId: 'default', name: 'Default' },
  { name: 'no id' },
]
const older = { models: { currentModelId: 'default', availableModels: offered } }
const option = (currentValue: string) => [
  {
    id: 'the-model',
    category: 'model',
    type: 'select',
    name: 'Model',
    currentValue,
    options: [
      { group: 'g', name: 'G', options: [{ value: 'big', name: 'Big' }] },
      { value: 'small', name: 'Small' },
    ],
  },
]

verifies(
  [
    'seed.conversation-info.current_model_id.acp',
    'seed.conversation-info.current_model_id.unknown',
    'seed.conversation-info.available_models.verbatim',
    'seed.conversation-info.available_models.empty',
    'seed.conversation-info.supports_runtime_model_switch.true',
    'seed.conversation-info.supports_runtime_model_switch.false',
    'seed.agent.acp.acp_model.null',
  ],
  'a conversation shows the models that its ACP agent reports, from the first session on',
  async () => {
    const known = writeScript(server.dir, { name: 'claude-agent-acp', session: older })
    const conversation = await startAcpConversation(server, known, null)
    const nothing = { current_model_id: null, available_models: [], supports_runtime_model_switch: false }
    expect(await conversation.info()).toMatchObject(nothing)
    await conversation.say('hello')
    await conversation.is('finished', 'error')
    expect(await conversation.info()).toMatchObject({
      current_model_id: 'default',
      available_models: [
        { model_id: 'opus[1m]', name: 'Opus', description: 'large' },
        { model_id: 'default', name: 'Default', description: null },
      ],
      supports_runtime_model_switch: true,
    })
    expect(known.of('session/set_model')).toEqual([])
    const silent = await startAcpConversation(server, writeScript(server.dir, {}))
    await silent.is('finished', 'error')
    expect(await silent.info()).toMatchObject(nothing)
    const custom = await startAcpConversation(
      server,
      writeScript(server.dir, { session: { configOptions: option('big') } }),
    )
    await custom.is('finished', 'error')
    expect(await custom.info()).toMatchObject({
      current_model_id: 'big',
      available_models: [{ model_id: 'big' }, { model_id: 'small' }],
      supports_runtime_model_switch: false,
    })
  },
  60_000,
)

verifies(
  ['seed.agent.acp.acp_model.used', 'seed.conversation-info.available_models.override'],
  'acp_model is requested by the method that the agent supports and may be missing in its list',
  async () => {
    const first = writeScript(server.dir, { name: 'claude-agent-acp', session: older })
    const conversation = await startAcpConversation(server, first, 'hello', { agent: { acp_model: 'secret-preview' } })
    await conversation.is('finished', 'error')
    expect(first.of('session/new')[0].params._meta).toEqual({ claudeCode: { options: { model: 'secret-preview' } } })
    expect(first.of('session/set_model')[0].params).toEqual({ sessionId: 'session-1', modelId: 'secret-preview' })
    const info = await conversation.info()
    expect(info.current_model_id).toBe('secret-preview')
    expect(info.available_models.map(({ model_id }: any) => model_id)).not.toContain('secret-preview')

    const second = writeScript(server.dir, { name: 'codex-acp', session: { configOptions: option('small') } })
    const other = await startAcpConversation(server, second, 'hello', { agent: { acp_model: 'gpt-x/high' } })
    await other.is('finished', 'error')
    expect(second.of('session/set_config_option').map(({ params }) => params)).toEqual([
      { sessionId: 'session-1', configId: 'the-model', value: 'gpt-x' },
      { sessionId: 'session-1', configId: 'reasoning_effort', value: 'high' },
    ])
  },
)

test('a model that the agent refuses is not shown as the current one', async () => {
  const fails = { 'session/set_model': { code: -32602, message: 'no such model' } }
  const acp = writeScript(server.dir, { session: older, fails })
  const conversation = await startAcpConversation(server, acp, 'hello', { agent: { acp_model: 'nonsense' } })
  await conversation.is('finished', 'error')
  expect(errors(await conversation.events())).toEqual([])
  expect((await conversation.info()).current_model_id).toBe('default')
})

verifies(
  'seed.acp-model-info.model_id.switch',
  'a listed model_id switches the model during a session and before the first one',
  async () => {
    const acp = writeScript(server.dir, {
      name: 'claude-agent-acp',
      session: older,
      turns: [[{ say: 'a' }], [{ hang: true }]],
    })
    const conversation = await startAcpConversation(server, acp, null)
    const change = (model: string) => conversation.post('switch_acp_model', { model })
    expect((await change('first-choice')).status).toBe(200)
    expect((await conversation.info()).current_model_id).toBeNull()
    await conversation.say('hello')
    await conversation.is('finished', 'error')
    expect((await conversation.info()).current_model_id).toBe('first-choice')
    const [{ model_id }] = (await conversation.info()).available_models
    // The switch works during a prompt too.
    await conversation.say('work')
    await until(() => acp.prompts().length === 2)
    expect((await change(model_id)).status).toBe(200)
    expect(acp.of('session/set_model').map(({ params }) => params.modelId)).toEqual(['first-choice', 'opus[1m]'])
    const info = await conversation.info()
    expect([info.current_model_id, info.agent.acp_model, info.execution_status]).toEqual([
      'opus[1m]',
      'opus[1m]',
      'running',
    ])
    expect((await change(' ')).status).toBe(400)
    acp.write({ fails: { 'session/set_model': { code: -32602, message: 'no' } } })
    await conversation.post('interrupt')
  },
)

test('a model switch that the agent refuses changes nothing', async () => {
  const acp = writeScript(server.dir, {
    session: older,
    fails: { 'session/set_model': { code: -32602, message: 'unknown model' } },
  })
  const conversation = await startAcpConversation(server, acp)
  await conversation.is('finished')
  const { status, body } = await conversation.post('switch_acp_model', { model: 'x' })
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('unknown model')
  const info = await conversation.info()
  expect([info.current_model_id, info.agent.acp_model]).toEqual(['default', null])
})

verifies(
  'seed.conversation-info.current_model_id.native',
  'a native agent shows the model of its record and refuses switch_acp_model',
  async () => {
    const { body } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: server.dir.file('work') },
      agent: { kind: 'Agent', llm: { model: 'openai/x' } },
    })
    const nothing = { current_model_id: null, available_models: [], supports_runtime_model_switch: false }
    expect(body).toMatchObject({ ...nothing, agent: { llm: { model: 'openai/x' } } })
    const { status } = await server.call('POST', `/api/conversations/${body.id}/switch_acp_model`, { model: 'x' })
    expect(status).toBe(400)
  },
)
