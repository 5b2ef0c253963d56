/** Start of an external agent, its environment and its session. Source: agent-core.md 11.2 to 11.4, 11.12, 11.14; interface.md, ACPAgent. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { verifies } from '../verifies.ts'
import {
  AGENT,
  startAcpConversation,
  errors,
  finishes,
  kill,
  installProgram,
  writeScript,
  type Script,
} from '../../packages/server/testing/acp-conversations.ts'

const require = createRequire(import.meta.url)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Starts a conversation and waits for the end of its first prompt. */
async function ended(server: TestServer, acp: Script, agent: object = {}, members: object = {}) {
  const conversation = await startAcpConversation(server, acp, 'hello', { agent, ...members })
  await conversation.is('finished', 'error')
  return conversation
}
const failure = async (conversation: Awaited<ReturnType<typeof startAcpConversation>>) =>
  (await conversation.kinds('ConversationErrorEvent'))[0]
const context = (acp: Script): string => acp.prompts()[0]!.slice(0, -1).join('\n')

describe('the program', () => {
  verifies(
    'seed.agent.acp.acp_server.informational',
    'acp_command is the program that is started, whatever acp_server says',
    async () => {
      const acp = writeScript(server.dir, {})
      const conversation = await ended(server, acp, { acp_server: 'claude-code' })
      expect((await conversation.info()).agent.acp_server).toBe('claude-code')
      expect(acp.starts()).toMatchObject([{ cwd: server.dir.file('work'), argv: [acp.file] }])
      // No mode of that provider is set.
      expect(acp.of('session/set_mode')).toEqual([])
      expect(acp.of('initialize')[0].params).toMatchObject({
        protocolVersion: 1,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      })
      expect((await conversation.info()).agent_state).toMatchObject({
        acp_agent_name: 'scripted',
        acp_agent_version: '1.2.3',
      })
    },
  )

  test('an ACP agent gets the secrets of the conversation and no variable of the server', async () => {
    await using server = await startTestServer()
    process.env['SERVER_ONLY'] = 'x'
    try {
      const acp = writeScript(server.dir, { turns: [[{ say: 'my key is sk-very-secret' }]] })
      const conversation = await ended(server, acp, {}, { secrets: { MY_KEY: 'sk-very-secret', EMPTY: '' } })
      const { env } = acp.starts()[0]
      expect(env).toMatchObject({ MY_KEY: 'sk-very-secret' })
      expect(env).not.toHaveProperty('EMPTY')
      expect(env).not.toHaveProperty('SERVER_ONLY')
      expect(env).not.toHaveProperty('PARLEY_SESSION_API_KEYS')
      expect(context(acp)).toContain('- $MY_KEY')
      expect(finishes(await conversation.events())).toEqual(['my key is <secret-hidden>'])
    } finally {
      delete process.env['SERVER_ONLY']
    }
  })

  test.each([
    [{ acp_command: ['no-such-program-here'] }, 'ACPSpawnError'],
    [{ acp_command: [process.execPath, '-e', 'process.exit(3)'], acp_args: [] }, 'ACPInitError'],
  ])('an ACP program that cannot be started ends the run with a reason: %o', async (agent, code) => {
    const conversation = await ended(server, writeScript(server.dir, {}), agent)
    expect((await conversation.info()).execution_status).toBe('error')
    expect(errors(await conversation.events())).toEqual([code])
    expect((await failure(conversation)).source).toBe('agent')
  })

  verifies(
    ['seed.agent.acp.acp_startup_timeout.hard', 'seed.limits.acp_startup_timeout'],
    'acp_startup_timeout limits the start up to the session, 90 seconds by default',
    async () => {
      const late = async (ignores: string) => {
        const acp = writeScript(server.dir, { ignores })
        const conversation = await ended(server, acp, { acp_startup_timeout: 1.5 })
        expect(errors(await conversation.events())).toEqual(['ACPStartupTimeout'])
        const { pid } = acp.starts()[0]
        await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false)
        expect((await conversation.info()).agent.acp_startup_timeout).toBe(1.5)
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

  test('an installed program is preferred to the package registry', async () => {
    await using server = await startTestServer()
    const acp = writeScript(server.dir, { name: 'codex-acp' })
    const installed = installProgram(server.dir, 'codex-acp')
    const before = process.env['PATH']
    process.env['PATH'] = `${dirname(installed)}:${before}`
    try {
      const conversation = await ended(server, acp, {
        acp_command: ['npx', '-y', '@agentclientprotocol/codex-acp@1.0.0'],
      })
      expect(errors(await conversation.events())).toEqual([])
      expect(acp.starts()[0].argv).toEqual([acp.file])
    } finally {
      process.env['PATH'] = before
    }
  })
})

describe('logging in', () => {
  test('an ACP agent is logged in by the first offered method whose credential exists', async () => {
    const authMethods = [{ id: 'chat-gpt' }, { id: 'api-key' }, { id: 'gemini-api-key' }]
    const acp = writeScript(server.dir, { authMethods })
    await ended(server, acp, {}, { secrets: { OPENAI_API_KEY: 'sk-some-key', GEMINI_API_KEY: 'other-key' } })
    expect(acp.of('authenticate').map(({ params }) => params.methodId)).toEqual(['api-key'])
  })

  test('an ACP agent without a credential starts without login, and a failed login is reported', async () => {
    const none = writeScript(server.dir, { authMethods: [{ id: 'api-key' }] })
    expect(errors(await (await ended(server, none)).events())).toEqual([])
    expect(none.of('authenticate')).toEqual([])
    const acp = writeScript(server.dir, {
      authMethods: [{ id: 'api-key' }],
      authFails: { code: 1, message: 'expired' },
    })
    const conversation = await ended(server, acp, {}, { secrets: { CODEX_API_KEY: 'sk-some-key' } })
    expect(await failure(conversation)).toMatchObject({ code: 'ACPAuthRequired', classification: { kind: 'auth' } })
    const wants = writeScript(server.dir, { newFails: { code: -32000, message: 'Authentication required' } })
    expect(errors(await (await ended(server, wants)).events())).toEqual(['ACPAuthRequired'])
  })
})

describe('the mode', () => {
  const modes = {
    currentModeId: 'default',
    availableModes: [{ id: 'default' }, { id: 'bypassPermissions' }, { id: 'plan' }],
  }
  const set = (acp: Script) => acp.of('session/set_mode').map(({ params }) => params.modeId)

  verifies('seed.agent.acp.acp_session_mode.set', 'acp_session_mode is set after the session was created', async () => {
    const acp = writeScript(server.dir, { session: { modes } })
    await ended(server, acp, { acp_session_mode: 'plan' })
    const methods = acp.log().map(({ method }) => method)
    expect(methods.indexOf('session/set_mode')).toBeGreaterThan(methods.indexOf('session/new'))
    expect(acp.of('session/set_mode').map(({ params }) => params)).toEqual([{ sessionId: 'session-1', modeId: 'plan' }])
    const refuses = writeScript(server.dir, {
      fails: { 'session/set_mode': { code: -32602, message: 'no such mode' } },
    })
    expect(errors(await (await ended(server, refuses, { acp_session_mode: 'odd' })).events())).toEqual(['ACPInitError'])
  })

  verifies(
    'seed.agent.acp.acp_session_mode.null',
    'without acp_session_mode the mode follows from the kind of agent and from the policy',
    async () => {
      const free = writeScript(server.dir, { name: '@x/claude-agent-acp', session: { modes } })
      await ended(server, free)
      expect(set(free)).toEqual(['bypassPermissions'])
      const asking = writeScript(server.dir, {
        name: '@x/claude-agent-acp',
        session: { modes: { ...modes, currentModeId: 'plan' } },
      })
      const conversation = await ended(server, asking, {}, { confirmation_policy: { kind: 'AlwaysConfirm' } })
      expect(set(asking)).toEqual(['default'])
      await conversation.post('confirmation_policy', { policy: { kind: 'NeverConfirm' } })
      await conversation.say('again')
      await conversation.is('finished')
      expect(set(asking)).toEqual(['default', 'bypassPermissions'])
      const unknown = writeScript(server.dir, { session: { modes } })
      await ended(server, unknown)
      expect(set(unknown)).toEqual([])
    },
  )

  test('a mode in which the agent does not ask is refused when the policy asks (F10)', async () => {
    const acp = writeScript(server.dir, { name: 'claude-agent-acp', session: { modes } })
    const policy = { confirmation_policy: { kind: 'AlwaysConfirm' } }
    const conversation = await ended(server, acp, { acp_session_mode: 'bypassPermissions' }, policy)
    expect(await failure(conversation)).toMatchObject({ code: 'ACPInitError' })
    expect((await failure(conversation)).detail).toContain("acp_session_mode 'bypassPermissions'")
    const bare = writeScript(server.dir, {
      name: 'claude-agent-acp',
      session: { modes: { ...modes, availableModes: [{ id: 'bypassPermissions' }] } },
    })
    expect(errors(await (await ended(server, bare, {}, policy)).events())).toEqual(['ACPInitError'])
    expect(bare.prompts()).toEqual([])
  })
})

test('a policy change during a prompt makes the ACP agent ask from then on', async () => {
  const modes = { currentModeId: 'default', availableModes: [{ id: 'default' }, { id: 'bypassPermissions' }] }
  const go = server.dir.file('go')
  const permission = { toolCallId: 'p', title: 'touch', kind: 'execute', rawInput: { command: 'touch x' } }
  const acp = writeScript(server.dir, {
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
  const conversation = await startAcpConversation(server, acp)
  await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(1)
  await conversation.post('confirmation_policy', { policy: { kind: 'AlwaysConfirm' } })
  writeFileSync(go, '')
  await conversation.is('waiting_for_confirmation', 'finished', 'error')
  expect((await conversation.info()).execution_status).toBe('waiting_for_confirmation')
  await expect
    .poll(() => acp.of('session/set_mode').map(({ params }) => params.modeId), { timeout: 20_000 })
    .toEqual(['bypassPermissions', 'default'])
})

test.each(['initialize', 'authenticate', 'session/new', 'session/set_mode'])(
  'a start of an ACP agent that fails at %s leaves no process (P52)',
  async (method) => {
    const acp = writeScript(server.dir, {
      authMethods: [{ id: 'api-key' }],
      fails: { [method]: { code: -32602, message: 'no' } },
    })
    const members = { secrets: { OPENAI_API_KEY: 'sk-some-key' } }
    const conversation = await ended(server, acp, { acp_session_mode: 'plan' }, members)
    expect(errors(await conversation.events())).toHaveLength(1)
    await expect.poll(() => existsSync(`/proc/${acp.starts()[0].pid}`), { timeout: 20_000 }).toBe(false)
  },
)

describe('credentials and folders', () => {
  const codex = { acp_command: ['/bin/sh', '-c', `exec ${process.execPath} ${AGENT} "$1"`, 'sh'] }

  verifies(
    'seed.agent.acp.acp_file_secrets.written',
    'file secrets exist before the ACP agent starts',
    async () => {
      const acp = writeScript(server.dir, {})
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
      const conversation = await ended(server, acp, { acp_file_secrets: [own, builtIn] }, { secrets })
      const { env } = acp.starts()[0]
      const root = join(server.dir.file('data'), 'conversations', conversation.id, 'acp')
      expect(env).toMatchObject({ MY_FILE_AT: join(root, 'own/deep/my.json'), CODEX_HOME: join(root, 'codex') })
      expect(env).not.toHaveProperty('MY_FILE')
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('{"a":1}')
      expect(statSync(env.MY_FILE_AT).mode & 0o777).toBe(0o600)
      expect(statSync(env.CODEX_HOME).mode & 0o777).toBe(0o700)
      expect(context(acp)).not.toContain('MY_FILE')
      // The agent renews the file. The next start keeps it until the secret changes.
      writeFileSync(env.MY_FILE_AT, 'renewed')
      await kill(acp.starts()[0].pid)
      await conversation.say('again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('renewed')
      await conversation.is('finished')
      await conversation.post('secrets', { secrets: { MY_FILE: '{"a":2}' } })
      await kill(acp.starts()[1].pid)
      await conversation.say('and again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(3)
      expect(readFileSync(env.MY_FILE_AT, 'utf8')).toBe('{"a":2}')
    },
    90_000,
  )

  verifies(
    ['seed.agent.acp.acp_isolate_data_dir.root', 'seed.agent.acp.acp_isolate_data_dir.shared'],
    'acp_isolate_data_dir gives a known agent its own folder, and without it the home is shared',
    async () => {
      const codexAcp = installProgram(server.dir, 'codex-acp')
      const apart = writeScript(server.dir, {})
      const conversation = await ended(server, apart, { acp_command: [codexAcp], acp_isolate_data_dir: true })
      const root = join(server.dir.file('data'), 'conversations', conversation.id, 'acp', 'codex')
      expect(apart.starts()[0].env.CODEX_HOME).toBe(root)
      expect(statSync(root).mode & 0o777).toBe(0o700)
      const shared = writeScript(server.dir, {})
      await ended(server, shared, { acp_command: [codexAcp] })
      expect(shared.starts()[0].env).not.toHaveProperty('CODEX_HOME')
      expect(shared.starts()[0].env.HOME).toBe(process.env['HOME'])
      const unknown = writeScript(server.dir, {})
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
    'MCP servers are passed to an ACP agent with the transports that it supports',
    async () => {
      const acp = writeScript(server.dir, {
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
      const conversation = await ended(server, acp, { mcp_config })
      expect(acp.of('session/new')[0].params.mcpServers).toEqual([
        { name: 'local', command: process.execPath, args: [everything], env: [{ name: 'A', value: 'b' }] },
        {
          type: 'http',
          name: 'web',
          url: 'https://example.org/mcp',
          headers: [{ name: 'Authorization', value: 'Bearer bearer-secret' }],
        },
      ])
      expect(finishes(await conversation.events())[0]).toMatch(/^tools: .*\becho\b/)
    },
    60_000,
  )

  verifies(
    'seed.agent.acp.filter_tools_regex.filters',
    'MCP servers of an ACP agent offer only the tools that filter_tools_regex matches',
    async () => {
      const acp = writeScript(server.dir, {
        turns: [[{ tools: 0 }, { say: ' / ' }, { tool: { server: 0, name: 'get-sum' } }]],
      })
      const mcp_config = { local: { command: process.execPath, args: [everything] } }
      const conversation = await ended(server, acp, { mcp_config, filter_tools_regex: 'echo' })
      const [text = ''] = finishes(await conversation.events())
      expect(text).toMatch(/^tools: echo \/ /)
      expect(text).toContain('not offered here')
      const web = writeScript(server.dir, { capabilities: { mcpCapabilities: { http: true } } })
      const refused = await ended(server, web, {
        mcp_config: { web: { url: 'https://example.org' } },
        filter_tools_regex: 'echo',
      })
      expect((await failure(refused)).detail).toContain('filter_tools_regex')
      const bad = startAcpConversation(server, writeScript(server.dir, {}), 'hello', {
        agent: { filter_tools_regex: '(' },
      })
      await expect(bad).rejects.toThrow(/not started: 422 .*filter_tools_regex/)
    },
    60_000,
  )
})

describe('the context of a session', () => {
  verifies(
    'seed.agent.acp.system_prompt.verbatim',
    'system_prompt is sent verbatim before the first message only',
    async () => {
      const acp = writeScript(server.dir, {})
      const text = 'You are  {{ nobody }}.\n\tSay so.'
      const conversation = await ended(server, acp, { system_prompt: text })
      await conversation.say('again')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(acp.prompts()).toEqual([[text, 'hello'], ['again']])
      const [prompt, ...others] = await conversation.kinds('SystemPromptEvent')
      expect(others).toEqual([])
      expect(prompt).toMatchObject({ tools: [], dynamic_context: { text } })
    },
  )

  verifies(
    ['seed.agent.acp.system_prompt_filename.path', 'seed.agent.acp.security_policy_filename.custom'],
    'prompt files are read by a path inside the prompts folder',
    async () => {
      const prompts = join(server.dir.file('data'), 'prompts')
      mkdirSync(prompts)
      writeFileSync(join(prompts, 'mine.txt'), 'I am {{ who }}.')
      writeFileSync(join(prompts, 'rules.txt'), 'Rules of {{ who }}.')
      for (const [system_prompt_filename, security_policy_filename] of [
        ['mine.txt', 'rules.txt'],
        [join(prompts, 'mine.txt'), join(prompts, 'rules.txt')],
      ]) {
        const acp = writeScript(server.dir, {})
        const files = { system_prompt_filename, security_policy_filename, system_prompt_kwargs: { who: 'the owl' } }
        await ended(server, acp, files)
        expect(acp.prompts()[0]).toEqual(['I am the owl.\n\nRules of {{ who }}.', 'hello'])
      }
      for (const outside of ['/etc/hostname', '../secret-key', 'none.txt']) {
        const acp = writeScript(server.dir, {})
        const refused = startAcpConversation(server, acp, 'hello', { agent: { system_prompt_filename: outside } })
        await expect(refused).rejects.toThrow(/not started: 422 .*system_prompt_filename/)
        expect(acp.starts()).toEqual([])
      }
    },
  )

  verifies(
    ['seed.agent.acp.security_policy_filename.built-in', 'seed.agent.acp.security_policy_filename.empty'],
    'the security policy is the built-in one, or none for an empty name',
    async () => {
      const policy = writeScript(server.dir, {})
      await ended(server, policy, { security_policy_filename: 'security_policy.j2' })
      expect(context(policy)).toMatch(/^<security>[\s\S]+<\/security>$/)
      const none = writeScript(server.dir, {})
      await ended(server, none, { security_policy_filename: '' })
      expect(none.prompts()[0]).toEqual(['hello'])
    },
  )

  verifies(
    ['seed.agent.acp.agent_context.skills', 'seed.agent.acp.agent_context.trigger'],
    'skills without triggers are sent in full, and skills with triggers when a message has one',
    async () => {
      const acp = writeScript(server.dir, {})
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
      const conversation = await ended(server, acp, { agent_context })
      expect(context(acp)).toContain('Doors are blue.')
      expect(context(acp)).toContain('docker')
      expect(context(acp)).not.toContain('Use podman.')
      expect(context(acp)).toContain('Be brief.')
      expect(context(acp)).toContain('2026-01-02T03:04')
      await conversation.say('how about docker?')
      await expect.poll(() => acp.prompts().length, { timeout: 20_000 }).toBe(2)
      expect(acp.prompts()[1]!.join('\n')).toContain('Use podman.')
    },
  )
})
