import { afterEach, beforeEach, expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { type Bench, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
beforeEach(async () => {
  server = await startBench()
})
afterEach(() => server[Symbol.asyncDispose]())

const MASK = '**********'
const LLM = { model: 'openai/gpt-5.5', api_key: 'sk-first', base_url: 'https://llm.example.org/v1' }

const save = (name: string, llm: object = LLM, more = {}) =>
  server.call('POST', `/api/profiles/${name}`, { llm, ...more })
const read = async (name: string, exposure?: string, headers = {}) =>
  server.call('GET', `/api/profiles/${name}`, undefined, {
    ...(exposure && { 'X-Expose-Secrets': exposure }),
    ...headers,
  })

test('an LLM profile is saved, listed, read in three exposures, and belongs to one user', async () => {
  expect(await server.call('GET', '/api/profiles')).toEqual({
    status: 200,
    body: { profiles: [], active_profile: null },
  })
  expect(await save('work')).toEqual({ status: 201, body: { name: 'work', message: "Profile 'work' saved" } })
  await save('a.second-1', { model: 'ollama/llama' })
  expect((await server.call('GET', '/api/profiles')).body.profiles).toEqual([
    {
      name: 'a.second-1',
      model: 'ollama/llama',
      base_url: null,
      provider_connection_id: null,
      provider_connection_broken: false,
      api_key_set: false,
    },
    {
      name: 'work',
      model: LLM.model,
      base_url: LLM.base_url,
      provider_connection_id: null,
      provider_connection_broken: false,
      api_key_set: true,
    },
  ])
  const hidden = await read('work')
  expect(hidden.body).toMatchObject({ name: 'work', api_key_set: true })
  expect(hidden.body.config).toMatchObject({ model: LLM.model, api_key: MASK, is_subscription: false, num_retries: 5 })
  expect(hidden.body.config).not.toHaveProperty('fallback_strategy')
  expect((await read('work', 'plaintext')).body.config.api_key).toBe('sk-first')
  const encrypted = (await read('work', 'encrypted')).body.config.api_key
  expect(encrypted).toMatch(/^gAAAAA/)
  expect((await read('work', 'other')).status).toBe(400)
  expect((await read('work', 'plaintext', server.bob)).status).toBe(403)
  expect((await read('work', undefined, server.bob)).status).toBe(404)
  await save('copy', { ...LLM, api_key: encrypted })
  expect((await read('copy', 'plaintext')).body.config.api_key).toBe('sk-first')
})

test('saving an LLM profile again replaces it; a mask keeps the stored secret, and secrets can be omitted', async () => {
  await save('work')
  await save('work', { model: 'openai/gpt-5.5', api_key: MASK, temperature: 1 })
  expect((await read('work', 'plaintext')).body.config).toMatchObject({
    api_key: 'sk-first',
    temperature: 1,
    base_url: null,
  })
  await save('work', LLM, { include_secrets: false })
  expect((await read('work')).body).toMatchObject({ api_key_set: false, config: { base_url: LLM.base_url } })
})

test('LLM profiles with invalid names or bodies, and beyond the limit, are refused', async () => {
  expect((await save('-bad')).status).toBe(422)
  expect((await save('work', { model: '' })).body.detail[0]).toMatchObject({ loc: ['body', 'llm', 'model'] })
  expect(await read('absent')).toEqual({ status: 404, body: { detail: "Profile 'absent' not found" } })
  for (let n = 0; n < 50; n++) await save(`p${n}`)
  expect((await save('one-more')).status).toBe(409)
  expect((await save('p7')).status).toBe(201)
})

test('an LLM profile is renamed together with its references, and deleted only without references', async () => {
  await save('old')
  await save('other')
  await save('backup', { ...LLM, fallback_strategy: { fallback_llms: ['old'] } })
  await server.call('POST', '/api/agent-profiles/mine', { llm_profile_ref: 'old' })
  await server.call('POST', '/api/profiles/old/activate')
  const rename = (from: string, to: string) => server.call('POST', `/api/profiles/${from}/rename`, { new_name: to })
  expect((await rename('old', 'other')).status).toBe(409)
  expect((await rename('absent', 'new')).status).toBe(404)
  expect((await rename('old', 'a/b')).status).toBe(422)
  expect((await rename('old', 'new')).body).toMatchObject({ name: 'new' })
  expect((await server.call('GET', '/api/agent-profiles/mine')).body.profile.llm_profile_ref).toBe('new')
  expect((await server.call('GET', '/api/profiles')).body.active_profile).toBe('new')
  const refused = await server.call('DELETE', '/api/profiles/new')
  expect(refused.status).toBe(409)
  expect(refused.body.detail).toContain("agent profile 'mine', the fallbacks of profile 'backup'")
  await server.call('DELETE', '/api/agent-profiles/mine')
  await server.call('DELETE', '/api/profiles/backup')
  for (let times = 0; times < 2; times++)
    expect(await server.call('DELETE', '/api/profiles/new')).toMatchObject({ status: 200, body: { name: 'new' } })
  expect((await server.call('GET', '/api/profiles')).body.active_profile).toBeNull()
})

test('activating an LLM profile copies its model into the settings', async () => {
  await save('daily', { ...LLM, temperature: 0.5 })
  expect(await server.call('POST', '/api/profiles/daily/activate')).toEqual({
    status: 200,
    body: { name: 'daily', message: "Profile 'daily' activated", llm_applied: true },
  })
  const { body } = await server.call('GET', '/api/settings', undefined, { 'X-Expose-Secrets': 'plaintext' })
  expect(body).toMatchObject({ active_profile: 'daily', llm_api_key_is_set: true })
  expect(body.agent_settings.llm).toMatchObject({ ...LLM, temperature: 0.5 })
  await save('other', { model: 'anthropic/claude-sonnet-5' })
  expect((await server.call('PATCH', '/api/settings', { active_profile: 'other' })).body).toMatchObject({
    active_profile: 'other',
    agent_settings: { llm: { model: 'anthropic/claude-sonnet-5', temperature: null, api_key: null } },
  })
  expect((await server.call('PATCH', '/api/settings', { active_profile: 'absent' })).status).toBe(404)
  expect((await server.call('POST', '/api/profiles/absent/activate')).status).toBe(404)
})

test('a change of the model wins over the profile that the same request activates', async () => {
  await save('daily', { ...LLM, temperature: 0.5 })
  const request = { active_profile: 'daily', agent_settings_diff: { llm: { model: 'openai/gpt-5.4' } } }
  expect((await server.call('PATCH', '/api/settings', request)).body).toMatchObject({
    active_profile: 'daily',
    agent_settings: { llm: { model: 'openai/gpt-5.4', temperature: 0.5, base_url: LLM.base_url } },
  })
})

test('validating an LLM profile requests the model, and invalid values are reported in the answer', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'pong' }] })
  const validate = (body: object) => server.call('POST', '/api/profiles/any/validate', body)
  const good = { model: 'openai/gpt-4o', api_key: 'k', base_url: model.url, api_mode: 'chat' }
  expect(await validate({ llm: good })).toEqual({ status: 200, body: { valid: true, error: null } })
  expect((await validate({ llm: { model: 'openai/gpt-5.5' } })).body).toMatchObject({
    valid: false,
    error: { type: 'LLMNotConfigured' },
  })
  expect((await validate({ llm: { temperature: 'warm' } })).body).toMatchObject({
    valid: false,
    error: { type: 'ValidationError', message: expect.stringContaining('temperature') },
  })
  expect((await validate({})).status).toBe(422)
})

test('validating tells a model that does not answer from one that refuses, and a mask from a key', async () => {
  await using model = await startScriptedModel({
    respond: ({ account }) =>
      account.endsWith('right') ? { text: 'pong' } : { status: 401, error: 'Incorrect API key' },
  })
  const validate = async (llm: object) => (await server.call('POST', '/api/profiles/any/validate', { llm })).body
  const here = { model: 'openai/scripted', base_url: `${model.url}/v1` }
  const stored = { llm_model: here.model, llm_base_url: here.base_url, llm_api_key: 'right' }
  await server.call('POST', '/api/settings', stored)
  expect(await validate({ ...here, api_key: '**********' })).toEqual({ valid: true, error: null })
  expect(await validate({ ...here, api_key: 'wrong' })).toMatchObject({
    valid: false,
    error: { type: 'LLMAuthenticationError' },
  })
  const elsewhere = { ...here, base_url: `${model.url}/other/v1`, api_key: '**********' }
  expect(await validate(elsewhere)).toMatchObject({ valid: false })
  expect(model.requests.at(-1)?.account).not.toContain('right')
  await model[Symbol.asyncDispose]()
  expect(await validate({ ...here, api_key: 'right' })).toEqual({
    valid: true,
    error: null,
    unconfirmed: { type: 'LLMServiceUnavailableError', message: expect.stringContaining('connection refused') },
  })
  await server.call('POST', '/api/settings', { llm_model: null, llm_base_url: null, llm_api_key: null })
})

test('profiles use the key and address of a provider connection, which is deleted only when unused', async () => {
  const path = '/api/llm/provider-connections'
  const made = await server.call('POST', path, { display_name: 'Work', api_key: 'sk-shared', base_url: LLM.base_url })
  expect(made).toEqual({
    status: 201,
    body: {
      id: expect.any(String),
      display_name: 'Work',
      provider: 'custom',
      base_url: LLM.base_url,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
      api_key_set: true,
    },
  })
  const { id } = made.body
  await save('bound', { model: 'openai/gpt-5.5', api_key: 'own', provider_connection_id: id })
  expect((await read('bound', 'plaintext')).body.config).toMatchObject({ api_key: 'sk-shared', base_url: LLM.base_url })
  const changed = await server.call('PATCH', `${path}/${id}`, { api_key: 'sk-new' })
  expect(changed).toMatchObject({ status: 200, body: { display_name: 'Work' } })
  expect((await read('bound', 'plaintext')).body.config.api_key).toBe('sk-new')
  expect((await server.call('GET', path)).body).toEqual([changed.body])
  expect((await server.call('GET', path, undefined, server.bob)).body).toEqual([])
  expect((await server.call('DELETE', `${path}/${id}`)).status).toBe(409)
  await server.call('DELETE', '/api/profiles/bound')
  expect(await server.call('DELETE', `${path}/${id}`)).toEqual({ status: 200, body: changed.body })
  expect((await server.call('DELETE', `${path}/${id}`)).status).toBe(404)
  expect((await save('bound', { provider_connection_id: id })).status).toBe(422)
})

test('a provider connection that the settings use is not deleted', async () => {
  const path = '/api/llm/provider-connections'
  const { id } = (await server.call('POST', path, { display_name: 'Work', api_key: 'sk-shared' })).body
  await save('bound', { model: 'openai/gpt-5.5', provider_connection_id: id })
  await server.call('POST', '/api/profiles/bound/activate')
  await server.call('DELETE', '/api/profiles/bound')
  expect(await server.call('DELETE', `${path}/${id}`)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('used by the settings') },
  })
  await server.call('PATCH', '/api/settings', { agent_settings_diff: { llm: { provider_connection_id: null } } })
  expect((await server.call('DELETE', `${path}/${id}`)).status).toBe(200)
})

test.each([
  [{}, 'name at least one member to change'],
  [{ api_key: null }, 'api_key cannot be cleared'],
  [{ display_name: '' }, 'String should have at least 1 character'],
  [{ other: 1 }, 'Extra inputs are not permitted'],
])('the change %j of a provider connection is refused', async (body, words) => {
  const refused = await server.call('PATCH', '/api/llm/provider-connections/any', body)
  expect([refused.status, refused.body.detail[0].msg]).toEqual([422, expect.stringContaining(words)])
})

test.each([
  [{}],
  [{ display_name: 'x' }],
  [{ display_name: 'x', api_key: ' ' }],
  [{ display_name: 'x'.repeat(129), api_key: 'k' }],
])('the provider connection %j is refused', async (body) => {
  expect((await server.call('POST', '/api/llm/provider-connections', body)).status).toBe(422)
})

test('tools, providers and models are listed in alphabetical order', async () => {
  const tools = await server.call('GET', '/api/tools/')
  expect(tools.body).toEqual(tools.body.toSorted())
  expect(tools.body).toContain('terminal')
  const slashless = await fetch(`${server.url}/api/tools`, { redirect: 'manual' })
  expect([slashless.status, slashless.headers.get('location')]).toEqual([307, '/api/tools/'])
  const { providers } = (await server.call('GET', '/api/llm/providers')).body
  expect(providers).toEqual(providers.toSorted())
  expect(providers).toEqual(expect.arrayContaining(['anthropic', 'openai', 'gemini']))
  const models = async (query = '') => (await server.call('GET', `/api/llm/models${query}`)).body.models
  const some = await models('?provider=anthropic')
  expect(some.length).toBeGreaterThan(5)
  expect(some.every((name: string) => name.startsWith('anthropic/'))).toBe(true)
  expect(some).toEqual(some.toSorted())
  expect(await models()).toEqual(expect.arrayContaining(some))
  expect(await models('?provider=nobody')).toEqual([])
  const verified = (await server.call('GET', '/api/llm/models/verified')).body.models
  for (const [provider, names] of Object.entries<string[]>(verified)) {
    expect([provider, names.length > 0, names]).toEqual([provider, true, names.toSorted()])
  }
})
