import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'

const spec = {
  name: 'open_page',
  description: 'Opens a page in front of the person.',
  parameters: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
}

test('a tool of the client is offered to the model, shown as an action, and answered at once', async () => {
  await using model = await startScriptedModel({
    by: 'turn',
    answers: [
      { toolCalls: [{ id: 'c1', name: 'open_page', arguments: {} }] },
      { toolCalls: [{ id: 'c2', name: 'open_page', arguments: { page: 'home' } }] },
      { text: 'It is open.' },
    ],
  })
  await using server = await startTestServer()
  const { body: info } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    agent: { kind: 'Agent', llm: { model: 'openai/x', base_url: `${model.url}/v1`, api_key: canary('llm_key') } },
    client_tools: [spec],
    autotitle: false,
    initial_message: { content: [{ type: 'text', text: 'open it' }] },
  })
  expect(info.client_tools).toMatchObject([spec])
  await until(
    async () => (await server.call('GET', `/api/conversations/${info.id}`)).body.execution_status === 'finished',
  )
  const { body: page } = await server.call('GET', `/api/conversations/${info.id}/events/search`)
  const answers = page.items.filter(
    ({ tool_call_id, kind }: any) => tool_call_id !== undefined && kind !== 'ActionEvent',
  )
  expect(answers.map(({ kind, tool_call_id }: any) => [kind, tool_call_id])).toEqual([
    ['AgentErrorEvent', 'c1'],
    ['ObservationEvent', 'c2'],
  ])
  expect(answers[1].observation).toMatchObject({
    kind: 'ClientToolObservation',
    content: [{ text: 'Tool call dispatched to client.' }],
  })
  const action = page.items.find(({ kind, tool_call_id }: any) => kind === 'ActionEvent' && tool_call_id === 'c2')
  expect(action.action).toEqual({ kind: 'ClientAction_open_page', page: 'home' })
  expect(JSON.stringify(model.requests[0]!.body)).toContain('open_page')
})

test('a client tool with the name of a built-in tool is refused', async () => {
  await using server = await startTestServer()
  const { status } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    agent: { kind: 'Agent', llm: { model: 'openai/x' }, tools: [{ name: 'terminal' }] },
    client_tools: [{ ...spec, name: 'terminal' }],
  })
  expect(status).toBe(422)
})

test('the server lists exactly the tools that an agent may have', async () => {
  await using server = await startTestServer()
  const { body: details } = await server.call('GET', '/server_info')
  const { body: names } = await server.call('GET', '/api/tools/')
  expect(details.usable_tools).toEqual(names)
  const builtIn = ['finish', 'think', 'switch_llm', 'vision_inspect', 'invoke_skill']
  for (const name of details.usable_tools) {
    const isBuiltIn = builtIn.includes(name)
    const { status } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: server.dir.file('work') },
      agent: {
        kind: 'Agent',
        llm: { model: 'openai/x' },
        ...(isBuiltIn ? { include_default_tools: [name] } : { tools: [{ name }] }),
      },
    })
    expect([name, status]).toEqual([name, 201])
  }
  for (const name of ['terminal', 'file_editor', 'grep', 'glob', 'apply_patch', 'browser_tool_set', 'finish'])
    expect(details.usable_tools).toContain(name)
})
