import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { command, instruct } from '../../packages/server/testing/instructed-model.ts'
import { type Bench, client, clients, type Frame, startBench } from '../../packages/server/testing/typescript-client.ts'

let bench: Bench
let manager: InstanceType<typeof client.ConversationManager>
beforeAll(async () => {
  bench = await startBench()
  manager = new client.ConversationManager(bench.options)
})
afterAll(async () => {
  manager.close()
  await bench[Symbol.asyncDispose]()
})

const options = () => ({ workingDir: bench.workingDir, initialMessage: instruct({ text: 'Here.' }) })
const isFinished = async (id: string) => (await manager.getConversation(id)).execution_status === 'finished'

test('the client reads liveness, version and tools of the server', async () => {
  const { server } = manager
  expect(await server.getAlive()).toEqual({ status: 'ok' })
  expect(await server.getHealth()).toEqual({ status: 'ok' })
  expect(await server.getReady()).toEqual({ status: 'ready' })
  expect(await server.getRoot()).toMatchObject({ docs: '/docs' })
  expect((await server.getServerInfo()).usable_tools).toEqual(expect.arrayContaining(['terminal', 'file_editor']))
})

test('every version check of the client succeeds', async () => {
  const http = new client.HttpClient({ baseUrl: bench.server.url, apiKey: bench.options.apiKey })
  for (const requirement of Object.values(clients.AgentServerFeatureRequirements))
    await clients.assertAgentServerSupports(http, requirement)
})

test('the client creates a conversation with its first message, and lists, counts and reads conversations', async () => {
  const { id } = await manager.createConversation(bench.agent(), options())
  await until(() => isFinished(id))
  expect(await manager.countConversations()).toBeGreaterThan(0)
  const status = client.ConversationExecutionStatus.FINISHED
  expect((await manager.searchConversations({ status })).items.map((info) => info.id)).toContain(id)
  const all = await manager.getAllConversations()
  expect(all.map((info) => info.id)).toContain(id)
  const [unknown, known] = await manager.getConversations(['00000000-0000-4000-8000-000000000000', id])
  expect([unknown, known?.id]).toEqual([null, id])
})

test('the client pages through conversations without gaps or duplicates', async () => {
  for (let n = 0; n < 5; n++) await manager.createConversation(bench.agent(), { workingDir: bench.workingDir })
  const seen: string[] = []
  for (let page_id: string | undefined; ;) {
    const page = await manager.searchConversations({ limit: 2, ...(page_id && { page_id }) })
    seen.push(...page.items.map(({ id }) => id))
    if (!page.next_page_id) break
    page_id = page.next_page_id
  }
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen.length).toBe(await manager.countConversations())
})

test('the client changes title and tags and deletes a conversation', async () => {
  const { id } = await manager.createConversation(bench.agent(), options())
  await manager.updateConversation(id, { title: 'Rhubarb', tags: { topic: 'pie' } })
  expect(await manager.getConversation(id)).toMatchObject({ title: 'Rhubarb', tags: { topic: 'pie' } })
  await manager.deleteConversation(id)
  await expect(manager.getConversation(id)).rejects.toMatchObject({ status: 404 })
  await expect(manager.deleteConversation(id)).rejects.toMatchObject({ status: 400 })
})

test('the generated client starts a conversation, sends a message with run, and reads the result', async () => {
  const api = new clients.ConversationClient(bench.options)
  const { id } = await api.createConversation({
    agent: bench.agent(),
    workspace: { working_dir: bench.workingDir },
  } as never)
  const message = {
    role: 'user',
    content: [{ type: 'text', text: instruct(command('echo there'), { text: 'Done.' }) }],
  }
  await api.sendEvent(id, message as never, { run: true })
  await until(() => isFinished(id))
  expect(await api.getAgentFinalResponse(id)).toEqual({ response: 'Done.' })
  expect(await api.getEventCount(id, { kind: 'ActionEvent' } as never)).toBe(1)
  const { items } = (await api.searchEvents(id, { kind: 'ObservationEvent' } as never)) as Frame
  expect(items[0].observation.content[0].text).toContain('there')
  expect(await api.getEvents(id, [items[0].id])).toMatchObject([{ id: items[0].id }])
  await expect(api.getConversation('not-an-id')).rejects.toMatchObject({ status: 422 })
})

test('the client shows the error for a wrong key', async () => {
  const stranger = new client.ConversationManager({ ...bench.options, apiKey: 'wrong' })
  await expect(stranger.countConversations()).rejects.toMatchObject({
    status: 401,
    response: { detail: 'Unauthorized' },
  })
  expect(await stranger.server.getHealth()).toEqual({ status: 'ok' })
})

test('a server without keys serves a client without one', async () => {
  await using open = await startTestServer({ PARLEY_SESSION_API_KEYS: '', PARLEY_WITHOUT_KEYS: 'true' })
  const visitor = new client.ConversationManager({ host: open.url })
  expect(await visitor.countConversations()).toBe(0)
})

test('the client reads, changes and describes settings, with masked secrets', async () => {
  const { settings } = manager
  await settings.updateSettings({
    agent_settings_diff: { llm: { model: 'openai/gpt-4o', api_key: 'settings-key' } },
  } as never)
  const hidden = (await settings.getSettings()) as Frame
  expect(hidden.agent_settings.llm.model).toBe('openai/gpt-4o')
  expect(JSON.stringify(hidden)).not.toContain('settings-key')
  const sealed = (await settings.getSettings({ exposeSecrets: 'encrypted' })) as Frame
  expect(sealed.agent_settings.llm.api_key).toMatch(/^gAAAAA/)
  expect(((await settings.getAgentSchema()) as Frame).sections.length).toBeGreaterThan(0)
  expect(((await settings.getConversationSchema()) as Frame).sections.length).toBeGreaterThan(0)
})

test('the client adds, changes and removes MCP servers of the settings', async () => {
  const { settings } = manager
  await settings.createMcpServer('fetcher', { command: 'true' } as never)
  const changed = (await settings.patchMcpServer('fetcher', { args: ['-v'] } as never)) as Frame
  expect(changed.agent_settings.mcp_config.fetcher).toMatchObject({ command: 'true', args: ['-v'] })
  const removed = (await settings.deleteMcpServer('fetcher')) as Frame
  expect(removed.agent_settings.mcp_config).toEqual({})
})

test('the client stores, lists without values, reads and deletes secrets', async () => {
  const { settings } = manager
  await settings.upsertSecret({ name: 'RHUBARB', value: 'pie', description: 'A taste' })
  expect(await settings.listSecrets()).toEqual({ secrets: [{ name: 'RHUBARB', description: 'A taste' }] })
  expect(await settings.getSecret('RHUBARB')).toBe('pie')
  expect(await settings.deleteSecret('RHUBARB')).toEqual({ deleted: true })
  await expect(settings.getSecret('RHUBARB')).rejects.toMatchObject({ status: 404 })
})
