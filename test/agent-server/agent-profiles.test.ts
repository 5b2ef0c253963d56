import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Bench, git, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
beforeEach(async () => {
  server = await startBench()
})
afterEach(() => server[Symbol.asyncDispose]())

const PATH = '/api/agent-profiles'
const save = (name: string, profile: object) => server.call('POST', `${PATH}/${name}`, profile)
const profile = async (name: string) => (await server.call('GET', `${PATH}/${name}`)).body.profile
const start = (body: object) =>
  server.call('POST', '/api/conversations', { workspace: { working_dir: server.dir.file('work') }, ...body })

test('the first list of agent profiles creates a default profile that can be launched', async () => {
  await server.call('POST', '/api/settings', { llm_model: 'scripted/none' })
  const { status, body } = await server.call('GET', PATH)
  expect(status).toBe(200)
  expect(body).toEqual({
    profiles: [
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'default',
        agent_kind: 'openhands',
        revision: 0,
        llm_profile_ref: 'default',
        mcp_server_refs: null,
      },
    ],
    active_agent_profile_id: body.profiles[0].id,
  })
  expect((await server.call('GET', '/api/settings')).body.active_agent_profile_id).toBe(body.profiles[0].id)
  expect((await server.call('POST', `${PATH}/default/materialize`)).body).toMatchObject({ valid: true, errors: [] })
  const made = await start({ agent_profile_id: body.profiles[0].id })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    agent: { kind: 'Agent', llm: { model: 'scripted/none' } },
    launched_agent_profile: { agent_profile_id: body.profiles[0].id, revision: 0 },
  })
})

test.each([
  [
    'the native agent',
    {
      enable_sub_agents: true,
      enable_switch_llm_tool: false,
      tool_concurrency_limit: 3,
      agent_context: { system_message_suffix: 'Be brief.', disabled_skills: ['release'] },
      condenser: { max_size: 50 },
      verification: { critic_enabled: true, critic_api_key: 'sk-critic' },
    },
    {
      agent_kind: 'openhands',
      schema_version: 2,
      enable_sub_agents: true,
      enable_switch_llm_tool: false,
      tool_concurrency_limit: 3,
      system_message_suffix: 'Be brief.',
      disabled_skills: ['release'],
      condenser: { max_size: 50 },
      verification: { critic_enabled: true },
    },
  ],
  [
    'an ACP agent',
    {
      agent_kind: 'acp',
      acp_server: 'codex',
      acp_command: ['codex', 'a b', "it's"],
      acp_args: ['--fast'],
      acp_model: 'gpt-5.5',
      acp_prompt_timeout: 60,
    },
    {
      agent_kind: 'acp',
      schema_version: 2,
      acp_server: 'codex',
      acp_args: ['--fast'],
      acp_model: 'gpt-5.5',
      acp_prompt_timeout: 60,
    },
  ],
])('the first agent profile has the settings of %s, without secrets', async (_, agent_settings_diff, expected) => {
  expect((await server.call('PATCH', '/api/settings', { agent_settings_diff })).status).toBe(200)
  await server.call('GET', PATH)
  const first = await profile('default')
  expect(first).toMatchObject(expected)
  expect(JSON.stringify(first)).not.toContain('sk-critic')
  if (expected.agent_kind === 'acp') expect(first.acp_command).toBe(String.raw`'codex' 'a b' 'it'\''s'`)
})

test('the id of an active agent profile that does not exist stays, and no profile is created', async () => {
  const active_agent_profile_id = crypto.randomUUID()
  await server.call('PATCH', '/api/settings', { active_agent_profile_id })
  expect((await server.call('GET', PATH)).body).toEqual({ profiles: [], active_agent_profile_id })
})

test('saving an agent profile keeps its id and increments its revision, as renaming does', async () => {
  const id = crypto.randomUUID()
  expect(await save('mine', { id, name: 'ignored', llm_profile_ref: 'work', revision: 7 })).toEqual({
    status: 201,
    body: { name: 'mine', message: "Agent profile 'mine' saved" },
  })
  const first = await profile('mine')
  expect(first).toMatchObject({ name: 'mine', revision: 0, llm_profile_ref: 'work', tools: null, schema_version: 2 })
  expect(first.id).not.toBe(id)
  await save('mine', { ...first, system_message_suffix: 'Be brief.' })
  expect(await profile('mine')).toMatchObject({ id: first.id, revision: 1, system_message_suffix: 'Be brief.' })
  expect((await server.call('POST', `${PATH}/mine/rename`, { new_name: 'yours' })).status).toBe(200)
  expect(await profile('yours')).toMatchObject({ id: first.id, revision: 2, name: 'yours' })
  await save('other', { llm_profile_ref: 'x' })
  expect((await server.call('POST', `${PATH}/yours/rename`, { new_name: 'other' })).status).toBe(409)
  expect((await server.call('POST', `${PATH}/mine/rename`, { new_name: 'a' })).status).toBe(404)
  expect((await server.call('GET', `${PATH}/mine`)).status).toBe(404)
  expect((await server.call('GET', `${PATH}/yours`, undefined, server.bob)).status).toBe(404)
})

test('agent profiles refuse unknown members, and their members depend on the kind', async () => {
  expect((await save('a', { llm_profile_ref: 'x', api_key: 'secret' })).body.detail[0]).toMatchObject({
    type: 'extra_forbidden',
    loc: ['body', 'openhands', 'api_key'],
  })
  expect((await save('a', {})).body.detail[0]).toMatchObject({
    type: 'missing',
    loc: ['body', 'openhands', 'llm_profile_ref'],
  })
  expect((await save('a', { agent_kind: 'other' })).status).toBe(422)
  expect((await save('a', { agent_kind: 'acp', acp_prompt_timeout: 0 })).status).toBe(422)
  expect((await save('b', { agent_kind: 'acp', acp_server: 'codex' })).status).toBe(201)
  expect((await server.call('GET', PATH)).body.profiles).toMatchObject([{ agent_kind: 'acp', llm_profile_ref: null }])
  for (let n = 0; n < 49; n++) await save(`p${n}`, { llm_profile_ref: 'x' })
  expect((await save('one-more', { llm_profile_ref: 'x' })).status).toBe(409)
})

test('activating an agent profile changes only the active id; deleting is idempotent and clears it', async () => {
  await save('mine', { llm_profile_ref: 'x' })
  const { id } = await profile('mine')
  expect(await server.call('POST', `${PATH}/${id.replaceAll('-', '')}/activate`)).toEqual({
    status: 200,
    body: { id, message: 'Agent profile activated', agent_settings_applied: false },
  })
  expect((await server.call('GET', '/api/settings')).body.active_agent_profile_id).toBe(id)
  expect((await server.call('POST', `${PATH}/${crypto.randomUUID()}/activate`)).status).toBe(404)
  expect((await server.call('POST', `${PATH}/mine/activate`)).status).toBe(422)
  for (let times = 0; times < 2; times++) expect((await server.call('DELETE', `${PATH}/mine`)).status).toBe(200)
  expect((await server.call('GET', '/api/settings')).body.active_agent_profile_id).toBeNull()
})

test('the dry run of an agent profile names everything that is missing, and the start is refused for the same reasons', async () => {
  const server1 = { url: 'https://mcp.example.org', transport: 'http' }
  await server.call('POST', '/api/settings/mcp/known', server1)
  await server.call('POST', '/api/profiles/work', { llm: { model: 'scripted/none', api_key: 'sk-x' } })
  await save('broken', { llm_profile_ref: 'absent', mcp_server_refs: ['known', 'gone'], disabled_skills: ['s'] })
  const findings = (await server.call('POST', `${PATH}/broken/materialize`)).body
  expect(findings).toMatchObject({
    agent_kind: 'openhands',
    valid: false,
    llm_profile_ref: 'absent',
    llm_profile_resolved: false,
    resolved_mcp_config_keys: ['known'],
    dangling_mcp_server_refs: ['gone'],
    disabled_skills: ['s'],
    resolved_settings: null,
  })
  expect(findings.errors).toHaveLength(2)
  expect((await server.call('POST', `${PATH}/absent/materialize`)).status).toBe(404)
  const refused = await start({ agent_profile_id: (await profile('broken')).id })
  expect(refused).toEqual({
    status: 422,
    body: {
      detail: [expect.objectContaining({ loc: ['body', 'agent_profile_id'], msg: expect.stringContaining('gone') })],
      dangling_mcp_server_refs: ['gone'],
    },
  })
  await save('good', { llm_profile_ref: 'work', mcp_server_refs: ['known'], system_message_suffix: 'Be brief.' })
  const good = (await server.call('POST', `${PATH}/good/materialize`)).body
  expect(good).toMatchObject({ valid: true, llm_profile_resolved: true, llm_api_key_set: true })
  expect(good.resolved_settings).toMatchObject({ llm: { api_key: '**********', stream: true } })
  const made = await start({
    agent_profile_id: (await profile('good')).id,
    agent_launch_additions: { system_message_suffix_append: 'You are deployed.' },
  })
  expect(made.body.agent).toMatchObject({
    kind: 'Agent',
    llm: { model: 'scripted/none', stream: true },
    tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
    agent_context: { system_message_suffix: 'Be brief.\n\nYou are deployed.' },
    condenser: { kind: 'LLMSummarizingCondenser', llm: { usage_id: 'condenser' } },
  })
  expect(Object.keys(made.body.agent.mcp_config)).toEqual(['known'])
  expect((await start({ agent_profile_id: crypto.randomUUID() })).status).toBe(404)
})

test('the dry run of an agent profile names the skills of the user and the secrets of an external agent', async () => {
  const skillOf = (name: string) => {
    const folder = server.dir.file('.agents', 'skills', name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: about ${name}\n---\nDo it.`)
  }
  for (const name of ['release', 'review', 'unwanted']) skillOf(name)
  await save('native', { llm_profile_ref: 'default', disabled_skills: ['unwanted', 'unknown'] })
  const look = async (name: string, headers = {}) =>
    (await server.call('POST', `${PATH}/${name}/materialize`, undefined, headers)).body
  expect(await look('native')).toMatchObject({
    resolved_skills: ['release', 'review'],
    acp_api_key_secret_name: null,
    acp_base_url_secret_name: null,
  })
  // The skills are in the home folder of the server's account.
  await server.call('POST', `${PATH}/theirs`, { llm_profile_ref: 'default' }, server.bob)
  expect((await look('theirs', server.bob)).resolved_skills).toEqual([])

  await save('external', { agent_kind: 'acp', acp_server: 'codex' })
  expect(await look('external')).toMatchObject({
    valid: true,
    resolved_skills: [],
    acp_api_key_secret_name: 'OPENAI_API_KEY',
    acp_base_url_secret_name: 'OPENAI_BASE_URL',
    resolved_settings: { acp_server: 'codex' },
  })
  await save('own', { agent_kind: 'acp', acp_server: 'custom', acp_command: 'mine --acp' })
  expect(await look('own')).toMatchObject({ acp_api_key_secret_name: null, acp_base_url_secret_name: null })
})

test('a conversation started from settings has their tools or the default ones', async () => {
  const made = await start({
    agent_settings: { llm: { model: 'scripted/none' }, tools: [], condenser: { enabled: false } },
  })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    agent: { kind: 'Agent', tools: [], condenser: null },
    launched_agent_profile: null,
  })
  expect(
    (await start({ agent_settings: { agent_kind: 'llm', llm: { model: 'scripted/none' } } })).body.agent.tools,
  ).toHaveLength(3)
  expect(await start({ agent_settings: { llm: { model: 5 } } })).toEqual({
    status: 422,
    body: {
      detail: [
        {
          type: 'string_type',
          loc: ['body', 'agent_settings', 'openhands', 'llm', 'model'],
          msg: 'Input should be a valid string',
          input: 5,
        },
      ],
    },
  })
  const both = await start({
    agent: { llm: { model: 'scripted/none' } },
    agent_settings: { llm: { model: 'other/x' } },
  })
  expect(both.body.agent.llm.model).toBe('scripted/none')
})

test('settings with the condenser no_op are stored, and begin a conversation without condenser', async () => {
  const condenser = { condenser_kind: 'no_op' }
  const patched = await server.call('PATCH', '/api/settings', { agent_settings_diff: { condenser } })
  expect(patched).toMatchObject({ status: 200, body: { agent_settings: { condenser } } })
  const started = await start({ agent_settings: { llm: { model: 'scripted/none' }, condenser } })
  expect(started).toMatchObject({ status: 201, body: { agent: { condenser: null } } })
})

test('settings and profiles that enable sub-agents add their tool to the default tools, but not to an explicit list', async () => {
  const names = ({ body }: Awaited<ReturnType<typeof start>>) =>
    body.agent.tools.map(({ name }: { name: string }) => name)
  const llm = { model: 'scripted/none' }
  const standard = ['terminal', 'file_editor', 'task_tracker']
  const made = await start({ agent_settings: { llm, enable_sub_agents: true } })
  expect(names(made)).toEqual([...standard, 'task_tool_set'])
  expect(names(await start({ agent_settings: { llm, enable_sub_agents: true, tools: [] } }))).toEqual([])
  expect(names(await start({ agent_settings: { llm } }))).toEqual(standard)
  await save('team', { llm_profile_ref: 'default', enable_sub_agents: true })
  // The default model is of the GPT-5 family.
  expect(names(await start({ agent_profile_id: (await profile('team')).id }))).toEqual([
    'terminal',
    'apply_patch',
    'task_tracker',
    'task_tool_set',
  ])
})

describe('critic of the settings', () => {
  const settings = (verification: object, llm: object = {}) =>
    start({
      agent_settings: {
        llm: { model: 'scripted/none', ...llm },
        verification: { critic_enabled: true, ...verification },
      },
    })
  const address = 'http://127.0.0.1:9/vllm'

  test.each<[string, object, object]>([
    ['its own key', { critic_api_key: 'c' }, {}],
    ["the model's key, at a server that the user names", { critic_server_url: address }, { api_key: 'k' }],
    ["the model's key, where the model is too", {}, { api_key: 'k', base_url: 'https://llm-proxy.app.all-hands.dev' }],
  ])('an enabled critic is configured with %s', async (_, verification, llm) => {
    const made = await settings(verification, llm)
    expect([made.status, made.body.agent?.critic?.kind]).toEqual([201, 'APIBasedCritic'])
  })

  test.each<[string, object, object]>([
    ['no key at all', {}, {}],
    ['no key, for a server', { critic_server_url: address }, {}],
    ["the model's key, which the default server has no business with", {}, { api_key: 'k' }],
  ])('an enabled critic is refused with %s', async (_, verification, llm) => {
    expect(await settings(verification, llm)).toEqual({
      status: 422,
      body: {
        detail: [
          expect.objectContaining({
            loc: ['body', 'agent_settings', 'verification', 'critic_api_key'],
            msg: expect.stringContaining('critic_api_key'),
          }),
        ],
      },
    })
  })
})

const agent = { kind: 'Agent', llm: { model: 'scripted/none' } }

/** The directory of a conversation after its start. */
async function ready(id: string): Promise<{ dir: string; suffix: string | null }> {
  for (;;) {
    const { body } = await server.call('GET', `/api/conversations/${id}/status`)
    if (body.phase === 'ready') break
    await delay(10)
  }
  const { body } = await server.call('GET', `/api/conversations/${id}`)
  return { dir: body.workspace.working_dir, suffix: body.agent.agent_context?.system_message_suffix ?? null }
}

test('a conversation with worktree gets its own worktree and branch, at the same path in the repository', async () => {
  const root = server.dir.file('shop')
  mkdirSync(join(root, 'packages', 'a'), { recursive: true })
  writeFileSync(join(root, 'packages', 'a', 'file'), 'a')
  await git(root, 'init', '-q')
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'a')
  const made = await start({ agent, worktree: true, workspace: { working_dir: join(root, 'packages', 'a') } })
  expect(made.status).toBe(201)
  const { id, workspace } = made.body
  expect(workspace.working_dir).toBe(server.dir.file('data', 'worktrees', id, 'shop', 'packages', 'a'))
  const { dir, suffix } = await ready(id)
  expect(dir).toBe(workspace.working_dir)
  expect(suffix).toContain(`openhands/${id}`)
  expect(await git(dir, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe(`openhands/${id}`)
  expect(await git(root, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('main')
  expect(await git(dir, 'ls-files')).toBe('file')
  const again = await start({
    agent,
    worktree: true,
    conversation_id: id,
    workspace: { working_dir: join(root, 'packages', 'a') },
  })
  // Another body under the same id finds the same conversation with its worktree. Source: agent-server-wire.md 1.4.
  expect([again.status, again.body.workspace.working_dir]).toEqual([200, workspace.working_dir])
})

test('a repeated request with worktree and a chosen id finds the same conversation and worktree', async () => {
  const root = server.dir.file('shop')
  mkdirSync(root)
  await git(root, 'init', '-q')
  await git(root, 'commit', '-q', '--allow-empty', '-m', 'a')
  const request = { agent, worktree: true, conversation_id: crypto.randomUUID(), workspace: { working_dir: root } }
  const made = await start(request)
  const again = await start(request)
  expect([made.status, again.status]).toEqual([201, 200])
  expect(again.body.workspace).toEqual(made.body.workspace)
  await ready(made.body.id)
})

test('worktree has no effect outside a repository and in one without commits', async () => {
  const plain = await start({ agent, worktree: true })
  expect(plain.body.workspace.working_dir).toBe(server.dir.file('work'))
  const empty = server.dir.file('empty')
  mkdirSync(empty)
  await git(empty, 'init', '-q')
  const made = await start({ agent, worktree: true, workspace: { working_dir: empty } })
  expect(await ready(made.body.id)).toEqual({ dir: empty, suffix: null })
})
