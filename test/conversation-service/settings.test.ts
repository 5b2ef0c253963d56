import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { verifies } from '../verifies.ts'
import { bytesOf, serve, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

let dir: TempDir
let serving: Serving
beforeAll(async () => {
  dir = await tempDir()
  serving = await serve(dir.file('data'))
})
afterAll(async () => {
  await serving[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

const PATH = '/api/settings'
const MASK = '**********'
const store = (body: unknown, key?: string) => serving.call('POST', PATH, body, key === undefined ? {} : { key })
const read = async (key?: string, headers: Record<string, string> = {}): Promise<Loose> =>
  (await serving.call('GET', PATH, undefined, { headers, ...(key === undefined ? {} : { key }) })).json

const scalars = {
  language: 'de',
  agent: 'CodeActAgent',
  max_iterations: 77,
  security_analyzer: 'pattern',
  confirmation_mode: true,
  llm_model: 'openai/gpt-test',
  llm_base_url: 'https://models.example/v1',
  remote_runtime_resource_factor: 2,
  enable_default_condenser: false,
  enable_sound_notifications: true,
  enable_proactive_conversation_starters: false,
  enable_solvability_analysis: false,
  user_consents_to_analytics: false,
  sandbox_base_container_image: 'base:1',
  sandbox_runtime_container_image: 'runtime:1',
  max_budget_per_task: 2.5,
  email: 'a@b.example',
  email_verified: true,
  git_user_name: 'Ann',
  git_user_email: 'ann@b.example',
}

describe('Store Settings', () => {
  verifies(
    [
      'seed.auth.settings',
      'seed.endpoint.settings.auth',
      'seed.endpoint.settings.route',
      'seed.endpoint.settings.ok',
      'design.settings.200',
      'seed.settings.all-optional',
    ],
    'takes its key from the header and answers 200 with a message',
    async () => {
      expect((await serving.call('POST', PATH, {}, { key: null })).status).toBe(401)
      expect((await serving.call('POST', PATH, {}, { key: 'wrong' })).status).toBe(401)
      expect((await serving.call('POST', PATH, {}, { key: serving.keys.reader })).status).toBe(403)
      const { status, json } = await store({})
      expect([status, json]).toEqual([200, { message: 'Settings stored' }])
    },
  )

  verifies(
    [
      'seed.endpoint.settings.body',
      'seed.endpoint.settings.stored',
      'seed.settings.language',
      'seed.settings.agent',
      'seed.settings.max_iterations',
      'seed.settings.confirmation_mode',
      'seed.settings.llm_model',
      'seed.settings.llm_base_url',
      'seed.settings.remote_runtime_resource_factor',
      'seed.settings.enable_default_condenser.type',
      'seed.settings.enable_sound_notifications.type',
      'seed.settings.enable_proactive_conversation_starters.type',
      'seed.settings.enable_solvability_analysis.type',
      'seed.settings.user_consents_to_analytics',
      'seed.settings.sandbox_base_container_image',
      'seed.settings.sandbox_runtime_container_image',
      'seed.settings.max_budget_per_task',
      'seed.settings.email',
      'seed.settings.email_verified',
      'seed.settings.git_user_name',
      'seed.settings.git_user_email',
    ],
    'every member is stored, and read back by its user alone',
    async () => {
      expect((await store(scalars, serving.keys.ann)).status).toBe(200)
      expect(await read(serving.keys.ann)).toMatchObject(scalars)
      expect((await read(serving.keys.bob)).language).toBeNull()
    },
  )

  verifies(
    [
      'seed.settings.enable_default_condenser.default',
      'seed.settings.enable_sound_notifications.default',
      'seed.settings.enable_proactive_conversation_starters.default',
      'seed.settings.enable_solvability_analysis.default',
    ],
    'the defaults hold for who never stored anything',
    async () => {
      expect(await read(serving.keys.bob)).toMatchObject({
        enable_default_condenser: true,
        enable_sound_notifications: false,
        enable_proactive_conversation_starters: true,
        enable_solvability_analysis: true,
        llm_model: null,
        llm_api_key_set: false,
        mcp_config: null,
      })
    },
  )

  verifies('design.settings.omitted', 'an omitted member of the settings keeps the stored value', async () => {
    await store({ language: 'fr', llm_api_key: 'sk-kept-0001', mcp_config: { sse_servers: ['https://a.example'] } })
    await store({ email: 'x@y.example' })
    expect(await read()).toMatchObject({ language: 'fr', email: 'x@y.example', llm_api_key_set: true })
    expect((await read()).mcp_config.sse_servers).toHaveLength(1)
  })

  verifies('design.settings.null', 'null clears a member of the settings, also a secret', async () => {
    await store({
      ...scalars,
      llm_api_key: 'sk-cleared-1',
      search_api_key: 'sk-cleared-2',
      sandbox_api_key: 'sk-3-cleared',
    })
    const nullable = Object.keys(scalars).filter((name) => !name.startsWith('enable_'))
    const cleared = [...nullable, 'llm_api_key', 'search_api_key', 'sandbox_api_key', 'mcp_config']
    expect((await store(Object.fromEntries(cleared.map((name) => [name, null])))).status).toBe(200)
    const after = await read()
    for (const name of cleared) expect(after[name], name).toBeNull()
    expect(after).toMatchObject({ llm_api_key_set: false, search_api_key_set: false, sandbox_api_key_set: false })
  })

  verifies(
    ['design.settings.concurrent', 'seed.service.settings-per-user'],
    'fifty concurrent writers of different members lose no setting, also for two users at once',
    async () => {
      const members = (name: string) => Array.from({ length: 25 }, (_, n) => ({ [`${name}_${n}`]: n }))
      const writes = [
        ...members('ann').map((misc_settings_diff) => [serving.keys.ann, 'PATCH', { misc_settings_diff }] as const),
        ...members('bob').map((misc_settings_diff) => [serving.keys.bob, 'PATCH', { misc_settings_diff }] as const),
        ...Object.entries(scalars).map(([name, value]) => [serving.keys.bob, 'POST', { [name]: value }] as const),
      ]
      const answers = await Promise.all(writes.map(([key, method, body]) => serving.call(method, PATH, body, { key })))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      const [ann, bob] = [await read(serving.keys.ann), await read(serving.keys.bob)]
      expect(ann.misc_settings).toEqual(Object.assign({}, ...members('ann')))
      expect(bob.misc_settings).toEqual(Object.assign({}, ...members('bob')))
      expect(bob).toMatchObject(scalars)
    },
  )

  verifies(
    [
      'design.settings.read.hidden',
      'seed.settings.llm_api_key',
      'seed.settings.search_api_key',
      'seed.settings.sandbox_api_key',
      'seed.auth.llm_api_key-hidden',
      'seed.auth.search_api_key-hidden',
      'seed.auth.sandbox_api_key-hidden',
      'seed.settings.secrets_store',
      'seed.settings.secrets_store.provider_tokens',
      'seed.settings.secrets_store.custom_secrets',
      'seed.settings.mcp_config',
    ],
    'secrets go in and never come back: not in an answer, not on disk, not in a log; flags and names do',
    async () => {
      const values = {
        llm_api_key: 'value-llm-5d2f',
        search_api_key: 'value-search-5d2f',
        sandbox_api_key: 'value-sandbox-5d2f',
        mcp_config: {
          sse_servers: [{ url: 'https://sse.example', api_key: 'value-sse-5d2f' }],
          shttp_servers: [{ url: 'https://shttp.example/mcp', api_key: 'value-shttp-5d2f' }],
          stdio_servers: [{ name: 'files', command: 'files-mcp', args: ['-v'], env: { TOKEN: 'value-env-5d2f' } }],
        },
        secrets_store: {
          provider_tokens: {
            github: { token: 'value-github-5d2f', host: 'git.example' },
            git_host_2: 'value-host-5d2f',
          },
          custom_secrets: { FROM_RECORD: { secret: 'value-custom-5d2f', description: 'd' }, PLAIN: 'value-plain-5d2f' },
        },
      }
      expect((await store(values)).status).toBe(200)
      const answer = await serving.call('GET', PATH)
      expect(answer.json).toMatchObject({
        llm_api_key: MASK,
        llm_api_key_set: true,
        llm_api_key_is_set: true,
        search_api_key_set: true,
        sandbox_api_key_set: true,
        provider_tokens_set: { github: 'git.example', git_host_2: null },
        mcp_config: {
          sse_servers: [{ url: 'https://sse.example', api_key: MASK }],
          shttp_servers: [{ url: 'https://shttp.example/mcp', api_key: MASK }],
          stdio_servers: [{ name: 'files', command: 'files-mcp', args: ['-v'], env: { TOKEN: MASK } }],
        },
      })
      expect(Object.keys(answer.json.secrets_store.custom_secrets)).toEqual(['FROM_RECORD', 'PLAIN'])
      const listed = await serving.call('GET', '/api/secrets')
      expect(listed.json.custom_secrets).toContainEqual({ name: 'FROM_RECORD', description: 'd' })
      for (const text of [answer.text, listed.text, serving.server.stderr(), await bytesOf(dir.file('data'))]) {
        expect(text).not.toMatch(/value-\w+-5d2f/)
      }
    },
  )

  test('settings that were read can be sent back, and masks keep their secrets (F71)', async () => {
    const before = await read(undefined, { 'X-Expose-Secrets': 'plaintext' })
    expect(before.agent_settings.llm.api_key).toBe('value-llm-5d2f')
    const { mcp_config, llm_api_key, search_api_key, secrets_store } = await read()
    expect((await store({ mcp_config, llm_api_key, search_api_key, secrets_store })).status).toBe(200)
    expect(await read(undefined, { 'X-Expose-Secrets': 'plaintext' })).toEqual(before)
    expect((await serving.call('GET', '/api/settings/secrets/FROM_RECORD')).text).toBe('value-custom-5d2f')
  })

  test('an empty text clears a secret of the settings', async () => {
    await store({ search_api_key: '', llm_api_key: '' })
    expect(await read()).toMatchObject({
      search_api_key_set: false,
      llm_api_key_is_set: false,
      sandbox_api_key_set: true,
    })
  })

  verifies(
    ['seed.endpoint.settings.invalid', 'seed.errors.declared-settings'],
    'invalid settings are refused with 422 in the documented format, without the value of a secret',
    async () => {
      const refused = async (body: unknown) => {
        const { status, json } = await store(body)
        expect(status).toBe(422)
        return json.detail
      }
      expect(await refused({ max_iterations: 'many' })).toEqual([
        {
          type: 'int_parsing',
          loc: ['body', 'max_iterations'],
          msg: 'Input should be a valid integer, unable to parse string as an integer',
          input: 'many',
        },
      ])
      expect(await refused({ enable_default_condenser: null })).toMatchObject([
        { type: 'bool_type', loc: ['body', 'enable_default_condenser'], input: null },
      ])
      expect(await refused({ llm_api_key: 12 })).toMatchObject([{ type: 'string_type', loc: ['body', 'llm_api_key'] }])
      expect(await refused({ mcp_config: { x: 1 } })).toMatchObject([{ type: 'extra_forbidden' }])
      expect(await refused({ max_iterations: 0 })).toMatchObject([{ type: 'greater_than', ctx: { gt: 0 } }])
      const custom = { 'not a name': 'value-bad-5d2f', PATH: 'value-bad-5d2f', OK: 5 }
      const told = JSON.stringify(
        await refused({ secrets_store: { custom_secrets: custom, provider_tokens: { github: 7 } } }),
      )
      expect(told).not.toContain('value-bad-5d2f')
      expect(await refused(undefined)).toMatchObject([{ type: 'missing', loc: ['body'] }])
    },
  )

  test('a settings record ignores unknown members, reads scalars leniently, and changes nothing when refused', async () => {
    expect((await store({ unknown_member: 1, max_iterations: '30', confirmation_mode: 'yes' })).status).toBe(200)
    expect(await read()).toMatchObject({ max_iterations: 30, confirmation_mode: true })
    expect((await store({ language: 'xx', max_iterations: 'many' })).status).toBe(422)
    expect((await read()).language).not.toBe('xx')
  })
})

describe('settings in both APIs', () => {
  test('the agent-server API reads settings that the conversation service API wrote', async () => {
    await store({ ...scalars, llm_api_key: 'sk-face-one', security_analyzer: 'llm' }, serving.keys.ann)
    const seen = await read(serving.keys.ann)
    expect(seen.agent_settings).toMatchObject({
      schema_version: 5,
      agent_kind: 'openhands',
      llm: { model: 'openai/gpt-test', base_url: 'https://models.example/v1', api_key: MASK },
      condenser: { enabled: false, max_size: 240 },
    })
    expect(seen.conversation_settings).toEqual({
      schema_version: 1,
      max_iterations: 77,
      confirmation_mode: true,
      security_analyzer: 'llm',
    })
  })

  test('the conversation service API reads settings that the agent-server API wrote, and the rest stays', async () => {
    const { status, json } = await serving.call(
      'PATCH',
      PATH,
      {
        agent_settings_diff: {
          llm: { model: 'anthropic/claude-test', temperature: 0.5, base_url: null, api_key: MASK },
          mcp_config: {
            docs: { url: 'https://docs.example', type: 'shttp', auth: { strategy: 'bearer', value: 'tok-docs' } },
          },
          unknown_member: true,
        },
        conversation_settings_diff: { max_iterations: '9' },
      },
      { key: serving.keys.ann },
    )
    expect(status).toBe(200)
    expect(json).toMatchObject({
      llm_model: 'anthropic/claude-test',
      llm_base_url: null,
      llm_api_key_set: true,
      max_iterations: 9,
      git_user_name: 'Ann',
      mcp_config: { shttp_servers: [{ url: 'https://docs.example', api_key: MASK }] },
    })
    expect(json.agent_settings.mcp_config).toEqual({
      docs: {
        url: 'https://docs.example',
        transport: 'http',
        auth: { strategy: 'bearer', value: MASK },
        enabled: true,
      },
    })
    expect(json.agent_settings).not.toHaveProperty('unknown_member')
  })

  test.each<[string, unknown, number, RegExp]>([
    ['an empty change', {}, 400, /agent_settings_diff, conversation_settings_diff, misc_settings_diff, active_profile/],
    [
      'a value that does not fit',
      { agent_settings_diff: { llm: { num_retries: -1 } } },
      422,
      /greater_than_equal.*agent_settings_diff.*num_retries/,
    ],
    [
      'a null that a group does not take',
      { conversation_settings_diff: { max_iterations: null } },
      422,
      /conversation_settings_diff.*max_iterations/,
    ],
    [
      'an analyzer it does not know',
      { conversation_settings_diff: { security_analyzer: 'x' } },
      422,
      /conversation_settings_diff.*security_analyzer/,
    ],
    ['an unknown kind of agent', { agent_settings_diff: { agent_kind: 'x' } }, 422, /agent_settings_diff.*agent_kind/],
    ['an unknown profile', { active_profile: 'fast' }, 404, /^"Profile 'fast' not found"$/],
    [
      "another server's token",
      { agent_settings_diff: { llm: { api_key: 'gAAAAABfake' } } },
      422,
      /agent_settings_diff.*api_key.*another server/,
    ],
  ])('a settings change with %s is refused and changes nothing', async (_, body, status, words) => {
    const before = await read(serving.keys.ann)
    const answer = await serving.call('PATCH', PATH, body, { key: serving.keys.ann })
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.json.detail)).toMatch(words)
    expect(await read(serving.keys.ann)).toEqual(before)
  })

  test('encrypted secrets of the settings round-trip, and clear text needs the role admin', async () => {
    const expose = (mode: string, key: string) =>
      serving.call('GET', PATH, undefined, { key, headers: { 'X-Expose-Secrets': mode } })
    const { json } = await expose('encrypted', serving.keys.ann)
    expect(json.agent_settings.llm.api_key).toMatch(/^gAAAAA/)
    expect(json.llm_api_key).toBe(MASK)
    await store({ llm_api_key: '' }, serving.keys.ann)
    await serving.call('PATCH', PATH, { agent_settings_diff: json.agent_settings }, { key: serving.keys.ann })
    expect((await read(serving.keys.ann)).llm_api_key_set).toBe(true)
    expect((await expose('plaintext', serving.keys.ann)).status).toBe(403)
    expect((await expose('everything', serving.keys.ann)).status).toBe(400)

    await store({ llm_api_key: 'sk-clear-text' })
    const plain = await serving.call('GET', PATH, undefined, { headers: { 'X-Expose-Secrets': 'plaintext' } })
    expect(plain.json.agent_settings.llm.api_key).toBe('sk-clear-text')
    const again = await serving.call('GET', PATH, undefined, { headers: { 'X-Expose-Secrets': 'true' } })
    await serving.call('PATCH', PATH, {
      agent_settings_diff: { llm: { api_key: again.json.agent_settings.llm.api_key } },
    })
    expect((await read(undefined, { 'X-Expose-Secrets': 'plaintext' })).agent_settings.llm.api_key).toBe(
      'sk-clear-text',
    )
  })

  test('MCP servers of the settings can be added, changed and removed', async () => {
    const at = (name: string) => `${PATH}/mcp/${name}`
    const server = { command: 'tool', env: { A: 'env-a', B: 'env-b' } }
    const added = await serving.call('POST', at('mine'), server)
    expect([added.status, added.json.agent_settings.mcp_config.mine]).toMatchObject([
      201,
      { env: { A: MASK, B: MASK } },
    ])
    expect((await serving.call('POST', at('mine'), server)).status).toBe(409)
    expect((await serving.call('POST', at(''), server)).status).toBe(404)
    expect((await serving.call('POST', at('bad'), { url: 'https://x.example', foo: 1 })).status).toBe(422)
    expect((await serving.call('PATCH', at('none'), { enabled: false })).status).toBe(404)
    const patched = await serving.call('PATCH', at('mine'), { enabled: false, env: { A: null, B: MASK }, args: ['-q'] })
    expect(patched.json.agent_settings.mcp_config.mine).toEqual({
      command: 'tool',
      args: ['-q'],
      env: { B: MASK },
      enabled: false,
    })
    expect((await serving.call('PATCH', at('mine'), { command: null })).status).toBe(422)
    const plain = await read(undefined, { 'X-Expose-Secrets': 'plaintext' })
    expect(plain.agent_settings.mcp_config.mine.env).toEqual({ B: 'env-b' })
    expect((await serving.call('DELETE', at('mine'))).json.agent_settings.mcp_config).not.toHaveProperty('mine')
    expect((await serving.call('DELETE', at('mine'))).status).toBe(404)
  })

  test('the schemas of settings forms describe each field', async () => {
    const agent = (await serving.call('GET', `${PATH}/agent-schema`)).json
    const fields = agent.sections.flatMap((section: Loose) => section.fields)
    expect(agent.model_name).toBe('AgentSettings')
    expect(fields).toContainEqual(
      expect.objectContaining({ key: 'llm.api_key', secret: true, value_type: 'string', section: 'llm' }),
    )
    expect(fields).toContainEqual(
      expect.objectContaining({ key: 'condenser.max_size', default: 240, variant: 'openhands' }),
    )
    const conversation = (await serving.call('GET', `${PATH}/conversation-schema`)).json
    expect(conversation.sections[0].fields[0]).toMatchObject({ key: 'max_iterations', default: 500 })
  })

  test('each agent kind keeps its settings while the other one is active', async () => {
    await store({ llm_model: 'openai/kept' })
    const acp = await serving.call('PATCH', PATH, { agent_settings_diff: { agent_kind: 'acp', acp_model: 'fast' } })
    expect(acp.json.agent_settings).toMatchObject({ agent_kind: 'acp', acp_model: 'fast', acp_server: 'claude-code' })
    const back = await serving.call('PATCH', PATH, { agent_settings_diff: { agent_kind: 'llm' } })
    expect(back.json.agent_settings).toMatchObject({ agent_kind: 'openhands', llm: { model: 'openai/kept' } })
  })
})

verifies('seed.settings.security_analyzer', 'a security analyzer with a name of this server is stored', async () => {
  await store({ security_analyzer: 'policy_rail' })
  expect(await read()).toMatchObject({
    security_analyzer: 'policy_rail',
    conversation_settings: { security_analyzer: null },
  })
})

test('settings survive a restart and a kill', async () => {
  await using place = await tempDir()
  {
    await using first = await serve(place.file('data'))
    await first.call('POST', PATH, { ...scalars, llm_api_key: 'sk-restart' })
    await first.server.kill()
  }
  await using second = await serve(place.file('data'))
  const { json } = await second.call('GET', PATH, undefined, { headers: { 'X-Expose-Secrets': 'plaintext' } })
  expect(json).toMatchObject(scalars)
  expect(json.agent_settings.llm.api_key).toBe('sk-restart')
})
