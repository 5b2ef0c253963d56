/** ConversationInfo as a started server returns it after real work. */
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel, type ScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'

let model: ScriptedModel
let server: TestServer
let work: string
let info: any

const llm = () => ({ model: 'openai/gpt-4o', base_url: `${model.url}/v1`, api_key: canary('llm_key') })
const agent = () => ({
  kind: 'Agent',
  llm: llm(),
  tools: [{ name: 'TerminalTool' }, { name: 'FileEditorTool' }, { name: 'TaskTrackerTool' }],
})

async function start(members: Record<string, unknown> = {}): Promise<any> {
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: work },
    agent: agent(),
    autotitle: false,
    ...members,
  })
  expect([status, body.detail]).toEqual([201, undefined])
  return body
}

const read = async (id: string): Promise<any> => (await server.call('GET', `/api/conversations/${id}`)).body
const events = async (id: string): Promise<any[]> =>
  (await server.call('GET', `/api/conversations/${id}/events/search`)).body.items
const finished = (id: string) => until(async () => (await read(id)).execution_status === 'finished')
const say = (id: string, text: string, run = false) =>
  server.call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run })

beforeAll(async () => {
  model = await startScriptedModel({
    by: 'turn',
    answers: [
      { toolCalls: [{ name: 'terminal', arguments: { command: 'echo from-the-terminal > made.txt; pwd' } }] },
      { toolCalls: [{ name: 'task_tracker', arguments: { command: 'plan', task_list: [{ title: 'one' }] } }] },
      { text: 'All done.' },
      { text: 'Again.' },
    ],
  })
  server = await startTestServer()
  work = server.dir.file('work')
  const made = await start({ initial_message: { content: [{ type: 'text', text: 'go' }] }, tags: { team: 'core' } })
  await finished(made.id)
  info = await read(made.id)
}, 60_000)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

describe('a conversation that has worked', () => {
  verifies(
    ['seed.service.conversation', 'seed.service.info-describes'],
    'the info of a conversation describes it and its progress',
    () => {
      expect(info).toMatchObject({
        workspace: { kind: 'LocalWorkspace', working_dir: work },
        agent: { kind: 'Agent' },
        execution_status: 'finished',
        confirmation_policy: { kind: 'NeverConfirm' },
        security_analyzer: null,
        hook_config: null,
        activated_knowledge_skills: [],
        invoked_skills: [],
        tags: { team: 'core' },
        current_model_id: null,
        available_models: [],
        client_tools: [],
      })
    },
  )

  verifies(
    [
      'seed.service.agent-commands',
      'seed.service.agent-files',
      'seed.conversation-info.workspace.meaning',
      'seed.workspace.local.host',
      'seed.agent.tool.terminal',
      'seed.agent.tool.file-editor',
      'seed.agent.tool.task-tracker',
    ],
    'an agent works in its workspace on this host with the tools of its record',
    async () => {
      expect(await readFile(`${work}/made.txt`, 'utf8')).toBe('from-the-terminal\n')
      const terminal = (await events(info.id)).find(({ observation }) => observation?.kind === 'TerminalObservation')
      expect(terminal.observation.content[0].text).toContain(work)
      expect(work).not.toBe(process.cwd())
      const offered = (await events(info.id))
        .find(({ kind }) => kind === 'SystemPromptEvent')
        .tools.map(({ title }: any) => title)
      expect(offered).toEqual(expect.arrayContaining(['terminal', 'file_editor', 'task_tracker']))
    },
  )

  verifies(['seed.conversation-info.stats.meaning'], 'the info of a conversation counts the usage of its model', () => {
    expect(info.stats.usage_to_metrics.default.token_usages).toHaveLength(3)
  })

  verifies(
    [
      'seed.conversation-info.last_user_message_id.meaning',
      'seed.conversation-info.leaf_event_id.parent',
      'seed.conversation-info.leaf_event_id.navigate',
    ],
    'the info names the newest message and the leaf, and the next event has that leaf as parent',
    async () => {
      const before = await events(info.id)
      const message = before.find(({ kind, source }) => kind === 'MessageEvent' && source === 'user')
      expect(info.last_user_message_id).toBe(message.id)
      const moved = await server.call('POST', `/api/conversations/${info.id}/navigate`, { event_id: message.id })
      expect(moved.body.leaf_event_id).toBe(message.id)
      await say(info.id, 'another way')
      const added = (await events(info.id)).at(-1)
      const newest =
        added.kind === 'MessageEvent' ? added : (await events(info.id)).findLast(({ kind }) => kind === 'MessageEvent')
      expect(newest.parent_id).toBe(message.id)
      expect(await read(info.id)).toMatchObject({ leaf_event_id: newest.id, last_user_message_id: newest.id })
    },
  )
})

verifies('seed.conversation-info.leaf_event_id.null', 'a conversation without events has no leaf', async () => {
  expect((await start()).leaf_event_id).toBeNull()
})

verifies(
  [
    'seed.conversation-info.created_at.meaning',
    'seed.conversation-info.updated_at.meaning',
    'seed.conversation-info.title.meaning',
  ],
  'a person can set the title of a conversation, which counts as an update',
  async () => {
    const from = Date.now()
    const made = await start()
    expect(Math.abs(Date.parse(made.created_at) - from)).toBeLessThan(5000)
    await server.call('PATCH', `/api/conversations/${made.id}`, { title: 'My task' })
    const after = await read(made.id)
    expect(after).toMatchObject({ title: 'My task', created_at: made.created_at })
    expect(Date.parse(after.updated_at)).toBeGreaterThanOrEqual(Date.parse(made.updated_at))
  },
)

verifies('seed.conversation-info.max_iterations.meaning', 'the iterations of each run are limited', async () => {
  const { id } = await start({ max_iterations: 1 })
  await say(id, 'go', true)
  await until(async () => (await read(id)).execution_status === 'error')
  const failure = (await events(id)).find(({ kind }) => kind === 'ConversationErrorEvent')
  expect(failure.code).toBe('MaxIterationsReached')
  await server.call('POST', `/api/conversations/${id}/run`)
  await until(async () => (await events(id)).filter(({ kind }) => kind === 'ConversationErrorEvent').length === 2)
  expect((await events(id)).filter(({ kind }) => kind === 'ActionEvent')).toHaveLength(2)
})

verifies(
  ['seed.conversation-info.forked_from_conversation_id.meaning', 'seed.conversation-info.forked_from_event_id.meaning'],
  'a fork names its source',
  async () => {
    const whole = await server.call('POST', `/api/conversations/${info.id}/fork`, {})
    expect(whole.body).toMatchObject({ forked_from_conversation_id: info.id, forked_from_event_id: null })
    const event_id = (await events(info.id)).find(({ kind }) => kind === 'MessageEvent').id
    const part = await server.call('POST', `/api/conversations/${info.id}/fork`, { from_event_id: event_id })
    expect(part.body).toMatchObject({ forked_from_conversation_id: info.id, forked_from_event_id: event_id })
    expect(await read(info.id)).toMatchObject({ forked_from_conversation_id: null, forked_from_event_id: null })
  },
)

verifies(
  ['seed.conversation-info.parent_conversation_id.meaning', 'seed.conversation-info.sub_conversation_ids.derived'],
  'a conversation names its parent, and the parent its children',
  async () => {
    const parent = await start()
    const child = await start({ parent_conversation_id: parent.id })
    expect(child.parent_conversation_id).toBe(parent.id)
    expect(await read(parent.id)).toMatchObject({ parent_conversation_id: null, sub_conversation_ids: [child.id] })
  },
)

describe('client tools', () => {
  const spec = {
    name: 'show_map',
    description: 'Shows a map to the person.',
    parameters: { type: 'object', properties: { place: { type: 'string' } } },
  }

  verifies(
    [
      'seed.client-tool.registered',
      'seed.client-tool.description.shown',
      'seed.client-tool.annotations.omitted',
      'seed.client-tool.executed-outside',
      'seed.conversation-info.client_tools.meaning',
    ],
    'client tools are offered to the model with a predicted risk, listed for clients, and executed by them',
    async () => {
      await using mapping = await startScriptedModel({
        by: 'turn',
        answers: [{ toolCalls: [{ name: 'show_map', arguments: { place: 'here' } }] }, { text: 'Shown.' }],
      })
      const made = await start({
        agent: { ...agent(), llm: { ...llm(), base_url: `${mapping.url}/v1` } },
        client_tools: [spec],
        initial_message: { content: [{ type: 'text', text: 'where?' }] },
      })
      await finished(made.id)
      const shown = await read(made.id)
      expect(shown.client_tools).toMatchObject([spec])
      const injected = { name: spec.name, params: { spec: shown.client_tools[0] } }
      expect(shown.agent.tools).toEqual([...made.agent.tools.slice(0, -1), injected])
      // The shown declaration can be sent again.
      const again = await start({ agent: { ...agent(), tools: shown.agent.tools }, client_tools: shown.client_tools })
      expect(again.agent.tools).toEqual(shown.agent.tools)
      const offered = (mapping.requests[0]!.body as any).tools.find(
        (tool: any) => tool.function.name === 'show_map',
      ).function
      expect(offered.description).toContain(spec.description)
      expect(Object.keys(offered.parameters.properties)).toContain('security_risk')
      const said = await events(made.id)
      expect(said.find(({ kind }) => kind === 'ActionEvent').action).toMatchObject({
        kind: 'ClientAction_show_map',
        place: 'here',
      })
      expect(said.find(({ kind }) => kind === 'ObservationEvent').observation.kind).toBe('ClientToolObservation')
    },
  )

  verifies('seed.client-tool.name.unique', 'a client tool with the name of another tool is refused', async () => {
    for (const names of [['terminal'], ['twice', 'twice']]) {
      const client_tools = names.map((name) => ({ ...spec, name }))
      const { status } = await server.call('POST', '/api/conversations', {
        workspace: { working_dir: work },
        agent: agent(),
        client_tools,
      })
      expect(status).toBe(422)
    }
  })
})

verifies(
  ['seed.conversation-info.launched_agent_profile.set', 'seed.conversation-info.launched_agent_profile.null'],
  'a conversation started from a profile names the profile and its revision',
  async () => {
    expect(info.launched_agent_profile).toBeNull()
    const { body: list } = await server.call('GET', '/api/agent-profiles')
    const [profile] = list.profiles
    const made = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: work },
      agent_profile_id: profile.id,
    })
    expect(made.status).toBe(201)
    expect(made.body.launched_agent_profile).toEqual({ agent_profile_id: profile.id, revision: profile.revision })
  },
)
