/** Attacks with tokens of `X-Expose-Secrets: encrypted`: they are for their user and for places of one kind. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeFernet } from '../../packages/server/src/secrets/fernet.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { excused } from '../../packages/server/testing/canaries/watch.ts'
import { startRecordingOrigin, type RecordingOrigin } from '../../packages/server/testing/recording-origin.ts'
import { startBench, type Bench } from '../../packages/server/testing/two-user-server.ts'

const PASSPHRASE = 'hunter2'
const VALUE = canary('profile_key')
const ENCRYPTED = { 'X-Expose-Secrets': 'encrypted' }

let server: Bench
/** An address of the attacker. */
let origin: RecordingOrigin
/** Tokens that the user `default` has read: of the key of a model, and of a variable of an MCP server. */
let key: string
let variable: string

beforeAll(async () => {
  origin = await startRecordingOrigin({ respond: () => ({ text: 'hello' }) })
  server = await startBench({ PARLEY_MODE: 'shared', PARLEY_SECRET_KEY: PASSPHRASE })
  const mcp_config = { local: { command: 'true', env: { TOKEN: canary('mcp_env') }, enabled: false } }
  const agent_settings_diff = { llm: { model: 'openai/x', api_key: VALUE }, mcp_config }
  await server.call('PATCH', '/api/settings', { agent_settings_diff })
  await server.call('POST', '/api/profiles/kept', { llm: { model: 'openai/x', api_key: VALUE } })
  const { agent_settings } = (await server.call('GET', '/api/settings', undefined, ENCRYPTED)).body
  key = agent_settings.llm.api_key
  variable = agent_settings.mcp_config.local.env.TOKEN
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await origin[Symbol.asyncDispose]()
})

/** Requests that take a key of a model, each with the token in its place. */
const withKey = (token: string): [string, string, object][] => {
  const llm = { model: 'openai/x', base_url: `${origin.url}/v1`, api_key: token }
  const workspace = { working_dir: server.dir.file('work') }
  const start = { workspace, secrets_encrypted: true }
  const agent = { kind: 'Agent', tools: [], llm: { model: 'openai/x' } }
  return [
    ['PATCH', '/api/settings', { agent_settings_diff: { llm } }],
    ['POST', '/api/settings', { llm_api_key: token }],
    ['POST', '/api/profiles/mine', { llm }],
    ['POST', '/api/llm/provider-connections', { display_name: 'x', api_key: token, base_url: origin.url }],
    ['POST', '/api/conversations', { ...start, agent: { ...agent, llm } }],
    [
      'POST',
      '/api/conversations',
      { ...start, agent: { ...agent, condenser: { kind: 'LLMSummarizingCondenser', llm } } },
    ],
    [
      'POST',
      '/api/conversations',
      { ...start, agent: { ...agent, critic: { kind: 'APIBasedCritic', api_key: token } } },
    ],
    ['POST', '/api/conversations', { ...start, agent_settings: { llm } }],
    [
      'POST',
      '/api/conversations',
      { ...start, agent_settings: { verification: { critic_enabled: true, critic_api_key: token } } },
    ],
  ]
}

/** Requests that would hand a key of a model to a command, a program, or an address that is no model. */
const elsewhere = (token: string): [string, string, object][] => {
  const agent = { kind: 'Agent', tools: [], llm: { model: 'openai/x' } }
  const start = { workspace: { working_dir: server.dir.file('work') }, secrets_encrypted: true }
  const mcp = (one: object) => ({ ...start, agent: { ...agent, mcp_config: { x: one } } })
  const url = `${origin.url}/mcp`
  return [
    ['POST', '/api/conversations', { ...start, agent, secrets: { X: { kind: 'StaticSecret', value: token } } }],
    ['POST', '/api/conversations', { ...start, agent, secrets: { X: token } }],
    ['POST', '/api/conversations', { ...start, agent: { ...agent, agent_context: { secrets: { X: token } } } }],
    ['POST', '/api/conversations', mcp({ command: 'env', env: { X: token } })],
    ['POST', '/api/conversations', mcp({ url, headers: { Authorization: token } })],
    ['POST', '/api/conversations', mcp({ url, auth: { strategy: 'bearer', value: token } })],
    ['POST', '/api/settings/mcp/x', { command: 'env', env: { X: token } }],
    ['POST', '/api/settings', { search_api_key: token }],
    ['POST', '/api/settings', { mcp_config: { sse_servers: [{ url, api_key: token }] } }],
  ]
}

test('a read-only key reads no secret, neither encrypted nor in clear text', async () => {
  const { id } = (
    await server.call('POST', '/api/conversations', {
      workspace: { working_dir: server.dir.file('work') },
      agent: { kind: 'Agent', llm: { model: 'openai/x', api_key: VALUE } },
    })
  ).body
  for (const path of ['/api/settings', '/api/profiles/kept', `/api/conversations/${id}`]) {
    for (const exposure of ['encrypted', 'true', 'plaintext']) {
      const { status, body } = await server.call('GET', path, undefined, {
        ...server.reader,
        'X-Expose-Secrets': exposure,
      })
      expect([path, exposure, status, body.detail]).toEqual([
        path,
        exposure,
        403,
        expect.stringContaining('may not read secrets'),
      ])
    }
    expect((await server.call('GET', path, undefined, server.reader)).status).toBe(200)
  }
})

describe('a token of a model key', () => {
  test('is accepted from its user wherever a key of a model is expected', async () => {
    for (const [method, path, body] of withKey(key)) {
      const { status } = await server.call(method, path, body)
      expect([path, JSON.stringify(body), status < 300]).toEqual([path, expect.any(String), true])
    }
    const read = () => server.call('GET', '/api/profiles/mine', undefined, { 'X-Expose-Secrets': 'plaintext' })
    expect((await excused('clear text', read)).body.config.api_key).toBe(VALUE)
  })

  test('is refused from another user with 422', async () => {
    for (const [method, path, body] of withKey(key)) {
      const answer = await server.call(method, path, body, server.bob)
      expect([path, answer.status, JSON.stringify(answer.body)]).toEqual([
        path,
        422,
        expect.stringContaining('is encrypted for another user or place, by an earlier version, or by another server'),
      ])
    }
  })

  test('is refused from its user where a command, a program or an address that is no model would get it', async () => {
    for (const [method, path, body] of elsewhere(key)) {
      const answer = await server.call(method, path, body)
      expect([path, JSON.stringify(body), answer.status, JSON.stringify(answer.body)]).toEqual([
        path,
        expect.any(String),
        422,
        expect.stringContaining('was read from another kind of place'),
      ])
    }
  })
})

test('a token of a variable of an MCP server is refused as the key of a model, and accepted as a variable', async () => {
  for (const [method, path, body] of withKey(variable))
    expect([path, (await server.call(method, path, body)).status]).toEqual([path, 422])
  const second = { command: 'true', env: { OTHER: variable }, enabled: false }
  expect((await server.call('POST', '/api/settings/mcp/second', second)).status).toBeLessThan(300)
})

test('a token that an earlier version made is refused, and a hash of the passphrase opens no token', async () => {
  const guessed = makeFernet(createHash('sha256').update(PASSPHRASE).digest())
  expect([guessed.decrypt(key), guessed.decrypt(variable)]).toEqual([null, null])
  for (const [method, path, body] of withKey(guessed.encrypt(VALUE)))
    expect([path, (await server.call(method, path, body)).status]).toEqual([path, 422])
})

test('no token was sent to the attacker, encrypted or not', () => {
  expect([VALUE, key, variable].flatMap((text) => origin.containing(text))).toEqual([])
})
