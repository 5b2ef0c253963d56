/** Attacks of a user on the model key of the server's configuration: none of them sends it to an address that the user named. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startRecordingOrigin, type RecordingOrigin } from '../../packages/server/testing/recording-origin.ts'
import { startBench, type Bench } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

const SERVERS_KEY = canary('llm_key')

let server: Bench
/** The address of the attacker, bob. */
let origin: RecordingOrigin

beforeAll(async () => {
  origin = await startRecordingOrigin({
    respond: () => ({ toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] }),
  })
  server = await startBench({
    PARLEY_MODE: 'shared',
    PARLEY_LLM_MODEL: 'openai/of-the-server',
    PARLEY_LLM_API_KEY: SERVERS_KEY,
  })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await origin[Symbol.asyncDispose]()
})

const asBob = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  server.call(method, path, body, { ...server.bob, ...headers })

const say = (id: string) =>
  asBob('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text: 'hello' }], run: true })

/** Waits until the conversation rests, and returns the texts of its errors. */
async function errorsOf(id: string): Promise<string> {
  await until(async () => {
    const { body } = await asBob('GET', `/api/conversations/${id}`)
    return !['idle', 'running'].includes(body.execution_status)
  })
  const { body } = await asBob('GET', `/api/conversations/${id}/events/search?limit=100`)
  return JSON.stringify(body.items.filter(({ kind }: { kind: string }) => kind === 'ConversationErrorEvent'))
}

const starting = (agent: object) => ({
  workspace: { working_dir: server.dir.file('work') },
  agent: { kind: 'Agent', tools: [], ...agent },
  autotitle: false,
})

test('a model name that names no model does not lead the key of the server to the address beside it', async () => {
  const llm = { model: 'openai/', base_url: `${origin.url}/v1`, num_retries: 0 }
  const { body } = await asBob('POST', '/api/conversations', starting({ llm }))
  await say(body.id)
  expect(await errorsOf(body.id)).toMatch(/names no model.*llm_api_key/)
  expect(origin.containing(SERVERS_KEY)).toEqual([])
})

test('a conversation with the model of the server shows no key in any form, and none that can be sent elsewhere', async () => {
  const { conversation_id: id } = (await asBob('POST', '/api/conversations', {}, { Prefer: 'wait=15' })).body
  const path = `/api/conversations/${id}`
  expect((await asBob('GET', path)).body.agent.llm).toMatchObject({ model: 'openai/of-the-server', api_key: null })
  const shown = await asBob('GET', path, undefined, { 'X-Expose-Secrets': 'encrypted' })
  const { agent } = shown.body
  expect([agent.llm.api_key, agent.condenser.llm.api_key]).toEqual([null, null])
  const llm = { model: 'openai/x', base_url: `${origin.url}/v1`, api_key: agent.llm.api_key, num_retries: 0 }
  await asBob('POST', `${path}/switch_llm`, { llm })
  await say(id)
  await errorsOf(id)
  expect(origin.containing(SERVERS_KEY)).toEqual([])
})

test('an administrator does not read the key of the server in clear text either', async () => {
  const { conversation_id: id } = (await server.call('POST', '/api/conversations', {})).body
  const { body } = await server.call('GET', `/api/conversations/${id}`, undefined, { 'X-Expose-Secrets': 'plaintext' })
  expect([body.agent.llm.api_key, body.agent.condenser.llm.api_key]).toEqual([null, null])
})

test('the default agent profile does not give the key of the server to a critic that its user named', async () => {
  const { profiles } = (await asBob('GET', '/api/agent-profiles')).body
  const [{ id }] = profiles
  const verification = { critic_enabled: true, critic_mode: 'finish_and_message', critic_server_url: origin.url }
  const profile = { agent_kind: 'openhands', id, name: 'default', llm_profile_ref: 'default', verification }
  expect((await asBob('POST', '/api/agent-profiles/default', profile)).status).toBe(201)
  const body = { workspace: { working_dir: server.dir.file('work') }, agent_profile_id: id }
  const refused = await asBob('POST', '/api/conversations', body)
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('critic_api_key')])
})
