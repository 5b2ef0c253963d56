/** Providers, variables, modes, models, MCP servers: the tables. */
import { describe, expect, test } from 'vitest'
import { ACPAgent } from '@parley/protocol'
import { agentEnvironment } from './environment.ts'
import { messageIn, readLines } from './lines.ts'
import { forwardedServers } from './mcp.ts'
import { wantedMode } from './modes.ts'
import { modelsOf, switchRequests } from './models.ts'
import { choose, wantedCall } from './permission.ts'
import { installedCommand, providerOfCommand, providerOfName, PROVIDERS } from './providers.ts'

const provider = (key: string) => PROVIDERS.find((each) => each.key === key)!

test.each([
  [['npx', '-y', '@agentclientprotocol/claude-agent-acp@0.63.0'], 'claude-code'],
  [['npx', '@agentclientprotocol/claude-agent-acp'], 'claude-code'],
  [['/usr/bin/npx', '-y', '@google/gemini-cli', '--acp'], 'gemini-cli'],
  [['/opt/codex-acp'], 'codex'],
  [['npx', '-y', 'something-else'], undefined],
  [['node', 'codex.js'], undefined],
])('%o starts %s', (command, key) => {
  expect(providerOfCommand(command)?.key).toBe(key)
})

test('an agent is known by its name, and an installed one is started with the same arguments', () => {
  expect(providerOfName('@zed/Claude-Agent-ACP')?.key).toBe('claude-code')
  expect(providerOfName('other')).toBeNull()
  expect(installedCommand(['npx', '-y', '@google/gemini-cli@1', '--acp'])).toEqual({
    binary: 'gemini',
    argv: ['gemini', '--acp'],
  })
  expect(installedCommand(['gemini'])).toBeNull()
})

describe('variables', () => {
  const env = (secrets: Record<string, string>, key?: string, asFiles: string[] = []) =>
    agentEnvironment({ secrets, asFiles, provider: key === undefined ? null : provider(key), pointers: {} })

  test.each([
    [env({ A: '1', B: '' }), { A: '1' }],
    [env({ A: '1', F: '2' }, undefined, ['F']), { A: '1' }],
    [env({ CLAUDECODE: '1' }), {}],
    [
      env({ CLAUDE_CODE_OAUTH_TOKEN: 't', ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'u' }),
      { CLAUDE_CODE_OAUTH_TOKEN: 't' },
    ],
    [env({ OPENAI_BASE_URL: 'u' }, 'codex'), { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"openai_base_url":"u"}' }],
    [
      env({ OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"model_provider":"x"}' }, 'codex'),
      { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{"model_provider":"x"}' },
    ],
    [env({ OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{' }, 'codex'), { OPENAI_BASE_URL: 'u', CODEX_CONFIG: '{' }],
  ])('are %o', (made, expected) => {
    expect(made).toEqual(expected)
  })
})

describe('the mode', () => {
  const modes = (available: string[] | null) => ({ current: null, available })
  const asks = { kind: 'AlwaysConfirm' } as const
  const free = { kind: 'NeverConfirm' } as const

  test.each([
    [null, free, 'codex', ['full-access', 'read-only'], { id: 'full-access', isNeeded: false }],
    [null, asks, 'codex', ['full-access', 'read-only'], { id: 'read-only', isNeeded: true }],
    [null, free, 'codex', ['auto'], null],
    [null, asks, undefined, null, null],
    ['plan', asks, 'claude-code', null, { id: 'plan', isNeeded: true }],
    ['bypassPermissions', free, 'claude-code', null, { id: 'bypassPermissions', isNeeded: true }],
  ] as const)('%s, %o, %s', (named, policy, key, available, expected) => {
    expect(
      wantedMode(
        named,
        policy,
        key === undefined ? null : provider(key),
        modes(available === null ? null : [...available]),
      ),
    ).toEqual(expected)
  })

  test.each([
    ['bypassPermissions', 'claude-code', null],
    [null, 'codex', ['agent-full-access']],
  ])('%s of %s lets nobody decide', (named, key, available) => {
    expect(() => wantedMode(named, asks, provider(key), modes(available))).toThrow(/policy is AlwaysConfirm/)
  })
})

describe('models', () => {
  test('not reported is something else than none', () => {
    expect(modelsOf({})).toEqual({ current: null, available: null, option: null })
    expect(modelsOf({ models: { currentModelId: 'x', availableModels: [] } })).toEqual({
      current: 'x',
      available: [],
      option: null,
    })
  })

  test('an effort is an option of its own where the agent has it so', () => {
    expect(switchRequests('s', 'gpt/high', null, false)).toEqual([
      { method: 'session/set_model', params: { sessionId: 's', modelId: 'gpt/high' } },
    ])
    expect(switchRequests('s', 'gpt/high', 'm', true).map(({ params }) => params['value'])).toEqual(['gpt', 'high'])
    expect(switchRequests('s', 'gpt/odd', 'm', true).map(({ params }) => params['value'])).toEqual(['gpt/odd'])
  })
})

describe('MCP servers', () => {
  const config = (servers: object) => ACPAgent.parse({ acp_command: ['x'], mcp_config: servers }).mcp_config
  const forward = (servers: object, members: object = {}) =>
    forwardedServers(config(servers), { http: true, sse: true, filter: null, ...members })

  test.each([
    [{ strategy: 'api_key', value: 'k' }, [{ name: 'X-API-Key', value: 'k' }]],
    [{ strategy: 'api_key', value: 'k', header_name: 'Key' }, [{ name: 'Key', value: 'k' }]],
    [{ strategy: 'basic', username: 'u', password: 'p' }, [{ name: 'Authorization', value: 'Basic dTpw' }]],
    [{ strategy: 'header', headers: { A: 'b' } }, [{ name: 'A', value: 'b' }]],
    [null, []],
  ])('%o becomes headers', (auth, headers) => {
    expect(forward({ s: { url: 'https://x', auth } }).servers).toEqual([
      { type: 'http', name: 's', url: 'https://x', headers },
    ])
  })

  test('what cannot be passed on is said', () => {
    const { servers, dropped } = forward(
      { a: { url: 'https://x' }, b: { url: 'https://x', transport: 'sse' } },
      { http: false, sse: false },
    )
    expect([servers, dropped.map(({ name }) => name)]).toEqual([[], ['a', 'b']])
  })

  test('a server with a directory is started there', () => {
    const [server] = forward({ a: { command: 'run', args: ['x y'], cwd: '/some where' } }).servers
    expect(server).toMatchObject({
      command: '/bin/sh',
      args: ['-c', 'cd "$1" && shift && exec "$@"', 'sh', '/some where', 'run', 'x y'],
    })
  })
})

describe('permissions', () => {
  const options = (...kinds: string[]) => ({
    sessionId: 's',
    toolCall: { toolCallId: 'c' },
    options: kinds.map((kind) => ({ kind, optionId: kind, name: kind })),
  })

  test.each([
    ['allow', ['allow_always', 'allow_once'], 'allow_once'],
    ['allow', ['allow_always', 'reject_once'], undefined],
    ['reject', ['allow_once', 'reject_always', 'reject_once'], 'reject_once'],
    ['reject', ['allow_once', 'reject_always'], 'reject_always'],
    ['reject', ['allow_once'], undefined],
  ] as const)('%s of %o is %s', (decision, kinds, expected) => {
    const answer = choose(decision, options(...kinds))
    expect(answer?.outcome.outcome === 'selected' ? answer.outcome.optionId : undefined).toBe(expected)
  })

  test.each([
    [{ command: 'ls -l' }, 'ls -l'],
    [{ command: ['bash', '-lc', 'ls | wc'] }, 'ls | wc'],
    [{ command: ['rm', 'a b', "it's"] }, String.raw`rm 'a b' 'it'\''s'`],
    [{ cmd: 'ls' }, 'ls'],
  ])('%o is a command', (rawInput, command) => {
    const call = { id: 'c', title: '', status: null, kind: 'execute', rawInput, rawOutput: null, content: null }
    expect(wantedCall(call)).toMatchObject({
      tool: 'terminal',
      action: { kind: 'TerminalAction', command },
      summary: 'terminal',
    })
  })
})

describe('lines', () => {
  const stream = (...chunks: string[]) => new Blob(chunks).stream() as unknown as ReadableStream<Uint8Array>

  test('are put together over pieces, and a message is told from noise', async () => {
    const lines: string[] = []
    await readLines(stream('a\nb', 'c\n\nlast'), (line) => lines.push(line))
    expect(lines).toEqual(['a', 'bc', '', 'last'])
    expect(messageIn('{"jsonrpc":"2.0","id":1}')).toMatchObject({ id: 1 })
    for (const noise of ['', 'hello "jsonrpc"', '{', '{"jsonrpc": ', '{"other":1}']) expect(messageIn(noise)).toBeNull()
  })

  test('that are too long end the reading', async () => {
    await expect(readLines(stream('x'.repeat(100)), () => undefined, 50)).rejects.toThrow('more than 50 bytes')
  })
})
