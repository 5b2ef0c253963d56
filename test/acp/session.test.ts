/** How an external agent is started and what it is given. Source: agent-core.md 11.2 to 11.4, 11.12, 11.14; seed: ACPAgent. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { verifies } from '../verifies.ts'
import { AGENT, begin, errors, finishes, kill, program, script, type Script } from './acting.ts'

const require = createRequire(import.meta.url)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

/** A conversation whose first prompt has ended. */
async function ended(server: TestServer, acp: Script, agent: object = {}, members: object = {}) {
  const said = await begin(server, acp, 'hello', { agent, ...members })
  await said.is('finished', 'error')
  return said
}
const failure = async (said: Awaited<ReturnType<typeof begin>>) => (await said.kinds('ConversationErrorEvent'))[0]
const context = (acp: Script): string => acp.prompts()[0]!.slice(0, -1).join('\n')

describe('the program', () => {
  verifies('seed.agent.acp.acp_server.informational', 'is acp_command, whatever acp_server says', async () => {
    const acp = script(server.dir, {})
    const said = await ended(server, acp, { acp_server: 'claude-code' })
    expect((await said.info()).agent.acp_server).toBe('claude-code')
    expect(acp.starts()).toMatchObject([{ cwd: server.dir.file('work'), argv: [acp.file] }])
    // No mode of that provider either.
    expect(acp.of('session/set_mode')).toEqual([])
    expect(acp.of('initialize')[0].params).toMatchObject({
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    })
    expect((await said.info()).agent_state).toMatchObject({ acp_agent_name: 'scripted', acp_agent_version: '1.2.3' })
  })

  test('gets the secrets of the conversation and no variable of the server', async () => {
    await using server = await startTestServer()
    process.env['SERVER_ONLY'] = 'x'
    try {
      const acp = script(server.dir, { turns: [[{ say: 'my key is sk-very-secret' }]] })
      const said = await ended(server, acp, {}, { secrets: { MY_KEY: 'sk-very-secret', EMPTY: '' } })
      const { env } = acp.starts()[0]
      expect(env).toMatchObject({ MY_KEY: 'sk-very-secret' })
      expect(env).not.toHaveProperty('EMPTY')
      expect(env).not.toHaveProperty('SERVER_ONLY')
      expect(env).not.toHaveProperty('PARLEY_SESSION_API_KEYS')
      expect(context(acp)).toContain('- $MY_KEY')
      expect(finishes(await said.events())).toEqual(['my key is <secret-hidden>'])
    } finally {
      delete process.env['SERVER_ONLY']
    }
  })

  test.each([
    [{ acp_command: ['no-such-program-here'] }, 'ACPSpawnError'],
    [{ acp_command: [process.execPath, '-e', 'process.exit(3)'], acp_args: [] }, 'ACPInitError'],
  ])('that cannot be had ends the run with a reason: %o', async (agent, code) => {
    const said = await ended(server, script(server.dir, {}), agent)
    expect((await said.info()).execution_status).toBe('error')
    expect(errors(await said.events())).toEqual([code])
    expect((await failure(said)).source).toBe('agent')
  })

  verifies(
    ['seed.agent.acp.acp_startup_timeout.hard', 'seed.limits.acp_startup_timeout'],
    'has acp_startup_timeout for everything up to its session, 90 seconds unless it is given',
    async () => {
      const late = async (ignores: string) => {
        const acp = script(server.dir, { ignores })
        const said = await ended(server, acp, { acp_startup_timeout: 1.5 })
        expect(errors(await said.events())).toEqual(['ACPStartupTimeout'])
        const { pid } = acp.starts()[0]
        await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false)
        expect((await said.info()).agent.acp_startup_timeout).toBe(1.5)
      }
      await Promise.all(['initialize', 'session/new'].map(late))
      const { body } = await server.call('POST', '/api/conversations', {
        workspace: { working_dir: server.dir.file('other') },
        agent: { kind: 'ACPAgent', acp_command: ['x'] },
      })
      expect(body.agent.acp_startup_timeout).toBe(90)
    },
    60_000,
  )

  test('an installed program goes before the registry of packages', async () => {
    await using server = await startTestServer()
    const acp = script(server.dir, { name: 'codex-acp' })
    const installed = program(server.dir, 'codex-acp')
    const before = process.env['PATH']
    process.env['PATH'] = `${dirname(installed)}:${before}`
    try {
      const said = await ended(server, acp, { acp_command: ['npx', '-y', '@agentclientprotocol/codex-acp@1.0.0'] })
      expect(errors(await said.events())).toEqual([])
      expect(acp.starts()[0].argv).toEqual([acp.file])
    } finally {
      process.env['PATH'] = before
    }
  })
})

describe('logging in', () => {
  test('uses the first offered way whose credential is there', async () => {
    const authMethods = [{ id: 'chat-gpt' }, { id: 'api-key' }, { id: 'gemini-api-key' }]
    const acp = script(server.dir, { authMethods })
    await ended(server, acp, {}, { secrets: { OPENAI_API_KEY: 'sk-some-key', GEMINI_API_KEY: 'other-key' } })
    expect(acp.of('authenticate').map(({ params }) => params.methodId)).toEqual(['api-key'])
  })

  test('without a credential the agent may be logged in already; a login that fails is said', async () => {
    const none = script(server.dir, { authMethods: [{ id: 'api-key' }] })
    expect(errors(await (await ended(server, none)).events())).toEqual([])
    expect(none.of('authenticate')).toEqual([])
    const acp = script(server.dir, { authMethods: [{ id: 'api-key' }], authFails: { code: 1, message: 'expired' } })
    const said = await ended(server, acp, {}, { secrets: { CODEX_API_KEY: 'sk-some-key' } })
    expect(await failure(said)).toMatchObject({ code: 'ACPAuthRequired', classification: { kind: 'auth' } })
    const wants = script(server.dir, { newFails: { code: -32000, message: 'Authentication required' } })
    expect(errors(await (await ended(server, wants)).events())).toEqual(['ACPAuthRequired'])
  })
})

describe('the mode', () => {
  const modes = {
    currentModeId: 'default',
    availableModes: [{ id: 'default' }, { id: 'bypassPermissions' }, { id: 'plan' }],
  }
  const set = (acp: Script) => acp.of('session/set_mode').map(({ params }) => params.modeId)

  verifies('seed.agent.acp.acp_session_mode.set', 'that is named is set after the session was created', async () => {
    const acp = script(server.dir, { session: { modes } })
    await ended(server, acp, { acp_session_mode: 'plan' })
    const methods = acp.log().map(({ method }) => method)
    expect(methods.indexOf('session/set_mode')).toBeGreaterThan(methods.indexOf('session/new'))
    expect(acp.of('session/set_mode').map(({ params }) => params)).toEqual([{ sessionId: 'session-1', modeId: 'plan' }])
    const refuses = script(server.dir, { fails: { 'session/set_mode': { code: -32602, message: 'no such mode' } } })
    expect(errors(await (await ended(server, refuses, { acp_session_mode: 'odd' })).events())).toEqual(['ACPInitError'])
  })

  verifies('seed.agent.acp.acp_session_mode.null', 'follows from the kind of agent and from the policy', async () => {
    const free = script(server.dir, { name: '@x/claude-agent-acp', session: { modes } })
    await ended(server, free)
    expect(set(free)).toEqual(['bypassPermissions'])
    const asking = script(server.dir, {
      name: '@x/claude-agent-acp',
      session: { modes: { ...modes, currentModeId: 'plan' } },
    })
    const said = await ended(server, asking, {}, { confirmation_policy: { kind: 'AlwaysConfirm' } })
    expect(set(asking)).toEqual(['default'])
    await said.post('confirmation_policy', { policy: { kind: 'NeverConfirm' } })
    await said.say('again')
    await said.is('finished')
    expect(set(asking)).toEqual(['default', 'bypassPermissions'])
    const unknown = script(server.dir, { session: { modes } })
    await ended(server, unknown)
    expect(set(unknown)).toEqual([])
  })

  test('in which nobody is asked is refused where the policy wants somebody to be (F10)', async () => {
    const acp = script(server.dir, { name: 'claude-agent-acp', session: { modes } })
    const policy = { confirmation_policy: { kind: 'AlwaysConfirm' } }
    const said = await ended(server, acp, { acp_session_mode: 'bypassPermissions' }, policy)
    expect(await failure(said)).toMatchObject({ code: 'ACPInitError' })
    expect((await failure(said)).detail).toContain("acp_session_mode 'bypassPermissions'")
    const bare = script(server.dir, {
      name: 'claude-agent-acp',
      session: { modes: { ...modes, availableModes: [{ id: 'bypassPermissions' }] } },
    })
    expect(errors(await (await ended(server, bare, {}, policy)).events())).toEqual(['ACPInitError'])
    expect(bare.prompts()).toEqual([])
  })
})

test('a policy that is changed while the agent works makes it ask from then on', async () => {
  const modes = { currentModeId: 'default', availableModes: [{ id: 'default' }, { id: 'bypassPermissions' }] }
  const go = server.dir.file('go')
  const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }
  const acp = script(server.dir, {
    name: 'claude-agent-acp',
    session: { modes },
    turns: [
      [
        { say: 'working' },
        { until: go },
        { update: { sessionUpdate: 'plan', entries: [] } },
        { say: 'on' },
        { permission },
      ],
    ],
  })
  const said = await begin(server, acp)
  await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(1)
  await said.post('confirmation_policy', { policy: { kind: 'AlwaysConfirm' } })
  writeFileSync(go, '')
  await said.is('waiting_for_confirmation', 'finished', 'error')
  expect((await said.info()).execution_status).toBe('waiting_for_confirmation')
  await expect
    .poll(() => acp.of('session/set_mode').map(({ params }) => params.modeId), { timeout: 20_000 })
    .toEqual(['bypassPermissions', 'default'])
})

test.each(['initialize', 'authenticate', 'session/new', 'session/set_mode'])(
  'a start that fails at %s leaves no process behind (P52)',
  async (method) => {
    const acp = script(server.dir, {
      authMethods: [{ id: 'api-key' }],
      fails: { [method]: { code: -32602, message: 'no' } },
    })
    const members = { secrets: { OPENAI_API_KEY: 'sk-some-key' } }
    const said = await ended(server, acp, { acp_session_mode: 'plan' }, members)
    expect(errors(await said.events())).toHaveLength(1)
    await expect.poll(() => existsSync(`/proc/${acp.starts()[0].pid}`), { timeout: 20_000 }).toBe(false)
  },
)

describe('credentials and folders', () => {
  const codex = { acp_command: ['/bin/sh', '-c', `exec ${process.execPath} ${AGENT} "$1"`, 'sh'] }

  verifies(
    'seed.agent.acp.acp_file_secrets.written',
    'secrets that are files are there before the program starts',
    async () => {
      const acp = script(server.dir, {})
      const own = {
        secret_name: 'MY_FILE',
        filename: 'my.json',
        env_var: 'MY_FILE_AT',
        subdir: 'own/deep',
        env_points_to: 'file',
      }
      const builtIn = {
        secret_name: 'CODEX_AUTH_JSON',
        filename: 'auth.json',
        env_var: 'CODEX_HOME',
        subdir: 'codex',
        env_points_to: 'dir',
      }
      const secrets = { MY_FILE: '{"a":1}', CODEX_AUTH_JSON: '{"tokens":{}}' }
      const said = await ended(server, acp, { acp_file_secrets: [own, builtIn] }, { secrets })
      const { env } = acp.starts()[0]
      const root = join(server.dir.file('data'), 'conversations', said.id, 'acp')
      expect(env).toMatchObject({ MY_FILE_AT: join(root, 'own/deep/my.json'), CODEX_HOME: join(root, 'codex') })
      expect(env).not.toHaveProperty('MY_FILE')
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('{"a":1}')
      expect(statSync(env.MY_FILE_AT).mode & 0o777).toBe(0o600)
      expect(statSync(env.CODEX_HOME).mode & 0o777).toBe(0o700)
      expect(context(acp)).not.toContain('MY_FILE')
      // The agent renews what is in it; the next start leaves that alone, until the secret itself is another one.
      writeFileSync(env.MY_FILE_AT, 'renewed')
      await kill(acp.starts()[0].pid)
      await said.say('again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('renewed')
      await said.is('finished')
      await said.post('secrets', { secrets: { MY_FILE: '{"a":2}' } })
      await kill(acp.starts()[1].pid)
      await said.say('and again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(3)
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('{"a":2}')
    },
    90_000,
  )

  verifies(
    ['seed.agent.acp.acp_isolate_data_dir.root', 'seed.agent.acp.acp_isolate_data_dir.shared'],
    'acp_isolate_data_dir gives a known agent a folder of its own; without it the home is shared',
    async () => {
      const codexAcp = program(server.dir, 'codex-acp')
      const apart = script(server.dir, {})
      const said = await ended(server, apart, { acp_command: [codexAcp], acp_isolate_data_dir: true })
      const root = join(server.dir.file('data'), 'conversations', said.id, 'acp', 'codex')
      expect(apart.starts()[0].env.CODEX_HOME).toBe(root)
      expect(statSync(root).mode & 0o777).toBe(0o700)
      const shared = script(server.dir, {})
      await ended(server, shared, { acp_command: [codexAcp] })
      expect(shared.starts()[0].env).not.toHaveProperty('CODEX_HOME')
      expect(shared.starts()[0].env.HOME).toBe(process.env['HOME'])
      const unknown = script(server.dir, {})
      await ended(server, unknown, { ...codex, acp_isolate_data_dir: true })
      expect(unknown.starts()[0].env.HOME).toBe(process.env['HOME'])
    },
  )
})

describe('MCP servers', () => {
  const everything = join(
    dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')),
    'dist/index.js',
  )

  verifies(
    'seed.agent.acp.mcp_config.exposed',
    'are passed on as the agent can reach them',
    async () => {
      const acp = script(server.dir, {
        capabilities: { mcpCapabilities: { http: true } },
        turns: [[{ tools: 0 }]],
      })
      const mcp_config = {
        local: { command: process.execPath, args: [everything], env: { A: 'b' } },
        off: { command: 'x', enabled: false },
        web: { url: 'https://example.org/mcp', auth: { strategy: 'bearer', value: 'bearer-secret' } },
        events: { url: 'https://example.org/sse', transport: 'sse' },
        login: { url: 'https://example.org/o', auth: { strategy: 'oauth2' } },
      }
      const said = await ended(server, acp, { mcp_config })
      expect(acp.of('session/new')[0].params.mcpServers).toEqual([
        { name: 'local', command: process.execPath, args: [everything], env: [{ name: 'A', value: 'b' }] },
        {
          type: 'http',
          name: 'web',
          url: 'https://example.org/mcp',
          headers: [{ name: 'Authorization', value: 'Bearer bearer-secret' }],
        },
      ])
      expect(finishes(await said.events())[0]).toMatch(/^tools: .*\becho\b/)
    },
    60_000,
  )

  verifies(
    'seed.agent.acp.filter_tools_regex.filters',
    'have only the tools that the filter lets through',
    async () => {
      const acp = script(server.dir, {
        turns: [[{ tools: 0 }, { say: ' / ' }, { tool: { server: 0, name: 'get-sum' } }]],
      })
      const mcp_config = { local: { command: process.execPath, args: [everything] } }
      const said = await ended(server, acp, { mcp_config, filter_tools_regex: 'echo' })
      const [text = ''] = finishes(await said.events())
      expect(text).toMatch(/^tools: echo \/ /)
      expect(text).toContain('not offered here')
      const web = script(server.dir, { capabilities: { mcpCapabilities: { http: true } } })
      const refused = await ended(server, web, {
        mcp_config: { web: { url: 'https://example.org' } },
        filter_tools_regex: 'echo',
      })
      expect((await failure(refused)).detail).toContain('filter_tools_regex')
      const bad = begin(server, script(server.dir, {}), 'hello', { agent: { filter_tools_regex: '(' } })
      await expect(bad).rejects.toThrow(/not started: 422 .*filter_tools_regex/)
    },
    60_000,
  )
})

describe('what a session is told once', () => {
  verifies(
    'seed.agent.acp.system_prompt.verbatim',
    'system_prompt, word for word, before the first message only',
    async () => {
      const acp = script(server.dir, {})
      const text = 'You are  {{ nobody }}.\n\tSay so.'
      const said = await ended(server, acp, { system_prompt: text })
      await said.say('again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(acp.prompts()).toEqual([[text, 'hello'], ['again']])
      const [prompt, ...others] = await said.kinds('SystemPromptEvent')
      expect(others).toEqual([])
      expect(prompt).toMatchObject({ tools: [], dynamic_context: { text } })
    },
  )

  verifies(
    ['seed.agent.acp.system_prompt_filename.path', 'seed.agent.acp.security_policy_filename.custom'],
    'files of the prompts folder, by a path inside it',
    async () => {
      const prompts = join(server.dir.file('data'), 'prompts')
      mkdirSync(prompts)
      writeFileSync(join(prompts, 'mine.txt'), 'I am {{ who }}.')
      writeFileSync(join(prompts, 'rules.txt'), 'Rules of {{ who }}.')
      for (const [system_prompt_filename, security_policy_filename] of [
        ['mine.txt', 'rules.txt'],
        [join(prompts, 'mine.txt'), join(prompts, 'rules.txt')],
      ]) {
        const acp = script(server.dir, {})
        const files = { system_prompt_filename, security_policy_filename, system_prompt_kwargs: { who: 'the owl' } }
        await ended(server, acp, files)
        expect(acp.prompts()[0]).toEqual(['I am the owl.\n\nRules of {{ who }}.', 'hello'])
      }
      for (const outside of ['/etc/hostname', '../secret-key', 'none.txt']) {
        const acp = script(server.dir, {})
        const refused = begin(server, acp, 'hello', { agent: { system_prompt_filename: outside } })
        await expect(refused).rejects.toThrow(/not started: 422 .*system_prompt_filename/)
        expect(acp.starts()).toEqual([])
      }
    },
  )

  verifies(
    ['seed.agent.acp.security_policy_filename.built-in', 'seed.agent.acp.security_policy_filename.empty'],
    'the built-in policy, or none',
    async () => {
      const policy = script(server.dir, {})
      await ended(server, policy, { security_policy_filename: 'security_policy.j2' })
      expect(context(policy)).toMatch(/^<security>[\s\S]+<\/security>$/)
      const none = script(server.dir, {})
      await ended(server, none, { security_policy_filename: '' })
      expect(none.prompts()[0]).toEqual(['hello'])
    },
  )

  verifies(
    ['seed.agent.acp.agent_context.skills', 'seed.agent.acp.agent_context.trigger'],
    'its context: what always holds in full, what has triggers when a message has one',
    async () => {
      const acp = script(server.dir, {})
      const skills = [
        { name: 'house', content: 'Doors are blue.', type: 'repo' },
        {
          name: 'docker',
          description: 'About containers.',
          content: 'Use podman.',
          type: 'knowledge',
          trigger: { type: 'keyword', keywords: ['docker'] },
        },
      ]
      const agent_context = { skills, system_message_suffix: 'Be brief.', current_datetime: '2026-01-02T03:04' }
      const said = await ended(server, acp, { agent_context })
      expect(context(acp)).toContain('Doors are blue.')
      expect(context(acp)).toContain('docker')
      expect(context(acp)).not.toContain('Use podman.')
      expect(context(acp)).toContain('Be brief.')
      expect(context(acp)).toContain('2026-01-02T03:04')
      await said.say('how about docker?')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(acp.prompts()[1]!.join('\n')).toContain('Use podman.')
    },
  )
})
