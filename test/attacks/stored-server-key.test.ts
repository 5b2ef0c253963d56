/** Conversations with the model key of the server after a restart: stored records do not contain it, and older ones are read as if they did not. */
import { expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startRecordingOrigin } from '../../packages/server/testing/recording-origin.ts'
import { KEY } from '../../packages/server/testing/server.ts'
import { storeKeys } from '../../packages/server/testing/stored-keys.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { readConfig, startServer } from '../../packages/server/src/index.ts'
import { storeSettings } from '../../packages/server/testing/store-choice.ts'

const SERVERS_KEY = canary('llm_key')
const NEXT_KEY = canary('profile_key')
const respond = () => ({ toolCalls: [{ name: 'finish', arguments: { message: 'done' } }] })

/** A server in the mode `shared` on the data directory of `dir`, which earlier ones may have used; `call` is a request of bob. */
async function open(dir: TempDir, env: Record<string, string>) {
  const own = {
    PARLEY_SESSION_API_KEYS: KEY,
    PARLEY_LOG_LEVEL: 'silent',
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
    PARLEY_MODE: 'shared',
    PARLEY_USER_EGRESS: 'any',
    PARLEY_WORKSPACE_ROOTS: dir.path,
  }
  const [bob = ''] = await storeKeys(dir.file('data'), ['bob', 'user'])
  const flags = { 'data-dir': dir.file('data'), port: '0', 'allow-root': true }
  const { config } = readConfig({
    flags,
    env: { ...own, ...(await storeSettings(dir.file('data'))), ...env },
    cwd: dir.path,
    home: dir.path,
  })
  const server = await startServer(config)
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(server.url + path, {
      method,
      headers: { 'X-Session-API-Key': bob, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, any> }
  }
  return {
    call,
    /** Sends a message and waits for the end of the run; returns the errors of the conversation. */
    async say(id: string): Promise<string> {
      const count = async () =>
        (await call('GET', `/api/conversations/${id}/events/count?kind=ConversationStateUpdateEvent`)).body
      const before = Number(await count())
      await call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text: 'hello' }], run: true })
      await until(async () => {
        const { execution_status } = (await call('GET', `/api/conversations/${id}`)).body
        return Number(await count()) > before && ['finished', 'error', 'stuck'].includes(execution_status)
      })
      const { items } = (await call('GET', `/api/conversations/${id}/events/search?limit=100`)).body
      return JSON.stringify(items.filter(({ kind }: { kind: string }) => kind === 'ConversationErrorEvent'))
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const model = (url: string, key: string) => ({
  PARLEY_LLM_MODEL: 'openai/of-the-server',
  PARLEY_LLM_BASE_URL: `${url}/v1`,
  PARLEY_LLM_API_KEY: key,
})

test('a conversation with the model of the server uses the key and the address that the server has now', async () => {
  await using dir = await tempDir()
  await using before = await startRecordingOrigin({ respond })
  await using after = await startRecordingOrigin({ respond })
  let id: string
  {
    await using server = await open(dir, model(before.url, SERVERS_KEY))
    id = (await server.call('POST', '/api/conversations', { initial_user_msg: 'hello' })).body['conversation_id']
    await until(
      async () => (await server.call('GET', `/api/conversations/${id}`)).body['execution_status'] === 'finished',
    )
  }
  expect(before.containing(SERVERS_KEY).length).toBeGreaterThan(0)
  await using server = await open(dir, model(after.url, NEXT_KEY))
  expect(await server.say(id)).toBe('[]')
  expect(after.containing(NEXT_KEY).length).toBeGreaterThan(0)
  expect(after.containing(SERVERS_KEY)).toEqual([])
})

test('a stored record with the key of the server shows none, and leads it to no address that a user named', async () => {
  await using dir = await tempDir()
  await using origin = await startRecordingOrigin({ respond })
  const named = { model: 'openai/x', base_url: `${origin.url}/v1`, api_key: SERVERS_KEY, num_retries: 0 }
  let id: string
  {
    // To a server without a key of its own, this one is an ordinary key of a user, and it is stored as version 0.1.0 stored both.
    await using server = await open(dir, {})
    const agent = { kind: 'Agent', tools: [], llm: named, condenser: { kind: 'LLMSummarizingCondenser', llm: named } }
    const critic = { kind: 'APIBasedCritic', server_url: origin.url, api_key: SERVERS_KEY }
    const workspace = { working_dir: dir.file('work') }
    const body = { workspace, agent: { ...agent, critic }, autotitle: false }
    id = (await server.call('POST', '/api/conversations', body)).body['id']
    await server.call('PATCH', '/api/settings', { agent_settings_diff: { llm: named } })
    await server.call('POST', '/api/profiles/kept', { llm: named })
  }
  await using server = await open(dir, { PARLEY_LLM_MODEL: 'openai/of-the-server', PARLEY_LLM_API_KEY: SERVERS_KEY })
  for (const path of [`/api/conversations/${id}`, '/api/settings', '/api/profiles/kept'])
    for (const [exposure, expected] of [
      ['encrypted', 200],
      ['plaintext', 403],
    ] as const) {
      const { status, body } = await server.call('GET', path, undefined, { 'X-Expose-Secrets': exposure })
      expect([path, status, JSON.stringify(body).match(/gAAAAA|"api_key":"[^"]/)]).toEqual([path, expected, null])
    }
  expect(await server.say(id)).toMatch(/sent to its own address alone.*llm_api_key/)
  await server.call('POST', `/api/conversations/${id}/switch_profile`, { profile_name: 'kept' })
  expect(await server.say(id)).toMatch(/sent to its own address alone/)
  expect(origin.containing(SERVERS_KEY)).toEqual([])
})
