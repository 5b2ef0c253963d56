/**
 * Every refusal of a value after the schemas have accepted the request: how to provoke it over HTTP, or why no request reaches it. The
 * test beside this folder fails for a refusal in the sources that has no row here.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestServer } from '../../../packages/server/testing/server.ts'

type Answer = { status: number; body: any }
type Provoked = {
  /** Sends the request that is refused. */
  send: (server: TestServer) => Promise<Answer>
  loc: (string | number)[]
  /** Part of `msg`; for a value that does not fit its schema, the type of the entry. */
  msg?: string
  type?: string
}
/** `text` is a part of the refusing call that no other call in the file has. */
export type Row = { file: string; text: string } & (Provoked | { never: string })

const LLM = { model: 'scripted/none' }
const begin = (server: TestServer, more: object): Promise<Answer> =>
  server.call('POST', '/api/conversations', {
    workspace: { working_dir: server.dir.file('work') },
    ...('agent_settings' in more || 'agent_profile_id' in more ? {} : { agent: { llm: LLM } }),
    ...more,
  })
const withAgent = (agent: object) => (server: TestServer) => begin(server, { agent: { llm: LLM, ...agent } })
const withAcp = (agent: object) => (server: TestServer) =>
  begin(server, { agent: { kind: 'ACPAgent', acp_command: ['acp'], ...agent } })
const withMore = (more: object) => (server: TestServer) => begin(server, more)
const withDir = (working_dir: string) => withMore({ workspace: { working_dir } })
const withPlugin = (plugin: object) => withMore({ plugins: [{ source: 'github:acme/tools', ...plugin }] })
const withPatterns = (high_patterns: string[][]) =>
  withMore({ security_analyzer: { kind: 'PatternSecurityAnalyzer', high_patterns } })
const patch = (change: object) => (server: TestServer) => server.call('PATCH', '/api/settings', change)

/** Writes a prompt file of the operator and starts a conversation that names it. */
const withPromptFile = (name: string, text: string) => async (server: TestServer) => {
  const folder = server.dir.file('data', 'prompts')
  await mkdir(join(folder, 'folder.j2'), { recursive: true })
  await writeFile(join(folder, name), text)
  return withAgent({ system_prompt_filename: name })(server)
}

const ID = '0b8f7f3e-0f4c-4c69-9d4e-3f1f6b0c7a11'
const OTHER = '4c1a9b52-7f0e-4a57-8f0c-6f0a2c9d5e22'

async function begun(server: TestServer, more: object): Promise<string> {
  const { status, body } = await begin(server, more)
  if (status !== 201) throw new Error(`not started: ${status} ${JSON.stringify(body)}`)
  return body.id
}

/** A conversation whose parent was deleted; the request reuses the id of the parent below its own child. */
async function parentOfItself(server: TestServer): Promise<Answer> {
  await begun(server, { conversation_id: ID })
  await begun(server, { conversation_id: OTHER, parent_conversation_id: ID })
  const deleted = await server.call('DELETE', `/api/conversations/${ID}`)
  if (deleted.status !== 200) throw new Error(`not deleted: ${deleted.status}`)
  return begin(server, { conversation_id: ID, parent_conversation_id: OTHER })
}

async function brokenProfile(server: TestServer): Promise<Answer> {
  const path = '/api/agent-profiles/broken'
  await server.call('POST', path, { agent_kind: 'openhands', llm_profile_ref: 'absent', mcp_server_refs: ['gone'] })
  const { body } = await server.call('GET', path)
  return begin(server, { agent_profile_id: body.profile.id })
}

async function patchedServer(server: TestServer): Promise<Answer> {
  await server.call('POST', '/api/settings/mcp/mine', { command: 'files-mcp' })
  return server.call('PATCH', '/api/settings/mcp/mine', { command: null })
}

/** An analyzer inside ten ensembles. */
const nested = Array.from({ length: 10 }).reduce<object>(
  (inner) => ({ kind: 'EnsembleSecurityAnalyzer', analyzers: [inner] }),
  { kind: 'LLMSecurityAnalyzer' },
)
const inTheFirst = (depth: number) => Array.from({ length: depth }, () => ['analyzers', 0]).flat()
const named = (pattern: string): string[] => [pattern, 'x', 'x']
const tool = (description: string) => ({ name: 'ask_person', description, parameters: { type: 'object' } })

/** A schema whose references make 2 to the power of 14 others. */
const MULTIPLYING = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries(
    Array.from({ length: 14 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` }
      return [`d${n}`, { type: 'object', properties: { a: next, b: next } }]
    }),
  ),
}

const PLUGIN = { file: 'skills/plugins/source.ts' }
const PATTERNS = { file: 'security/compile-patterns.ts' }
const PARENT = { file: 'conversation/start/parent.ts', loc: ['body', 'parent_conversation_id'] }
const DIR = { file: 'conversation/start/working-dir.ts', loc: ['body', 'workspace', 'working_dir'] }
const REGISTRY = { file: 'tools/registry.ts' }
const ACP = { file: 'agent/acp/supported.ts', text: 'problem.message' }
const TEMPLATE = { file: 'agent/prompts/template.ts', loc: ['body', 'agent', 'system_prompt_filename'] }
const AGENT_SETTINGS = { file: 'settings/profiles/agent-of-settings.ts' }

const starts: Row[] = [
  { ...DIR, text: 'is empty', send: withDir(' '), msg: 'working_dir is empty' },
  { ...DIR, text: 'NUL', send: withDir('/srv/a\0b'), msg: 'the character NUL' },
  { ...DIR, text: '~', send: withDir('~/project'), msg: 'does not expand' },
  {
    file: 'conversation/start/from-agent-server.ts',
    text: 'has to be absolute',
    send: withMore({ workspace: { kind: 'RemoteWorkspace', host: 'http://127.0.0.1:9', working_dir: 'a' } }),
    loc: DIR.loc,
    msg: 'has to be absolute',
  },
  {
    ...PARENT,
    text: 'its own parent',
    send: withMore({ conversation_id: ID, parent_conversation_id: ID }),
    msg: 'its own parent',
  },
  { ...PARENT, text: 'not found', send: withMore({ parent_conversation_id: OTHER }), msg: 'not found' },
  {
    ...PARENT,
    text: 'a different workspace',
    send: async (server) => {
      const parent = await begun(server, {})
      return begin(server, { workspace: { working_dir: server.dir.file('other') }, parent_conversation_id: parent })
    },
    msg: 'different workspace',
  },
  { ...PARENT, text: 'comes from this', send: parentOfItself, msg: 'choose another id' },
  {
    ...PLUGIN,
    text: 'is no path',
    send: withPlugin({ source: '~/x' }),
    loc: ['body', 'plugins', 0, 'source'],
    msg: 'is no path',
  },
  {
    ...PLUGIN,
    text: 'for git sources alone',
    send: withPlugin({ source: './x', ref: 'v1' }),
    loc: ['body', 'plugins', 0, 'ref'],
    msg: 'git sources',
  },
  {
    ...PLUGIN,
    text: 'is no branch',
    send: withPlugin({ ref: '../x' }),
    loc: ['body', 'plugins', 0, 'ref'],
    msg: 'is no branch',
  },
  {
    ...PLUGIN,
    text: 'cannot be fetched',
    send: withPlugin({ source: 'ftp://h/x' }),
    loc: ['body', 'plugins', 0, 'source'],
    msg: 'cannot be fetched',
  },
  {
    ...PLUGIN,
    text: 'holds a credential',
    send: withPlugin({ source: 'https://me:pass@h.example/x' }),
    loc: ['body', 'plugins', 0, 'source'],
    msg: 'holds a credential',
  },
  {
    ...PLUGIN,
    text: 'leads out of',
    send: withPlugin({ repo_path: '../x' }),
    loc: ['body', 'plugins', 0, 'repo_path'],
    msg: 'leads out',
  },
  {
    file: 'tools/read-only.ts',
    text: 'reading(tool)',
    send: withMore({
      hook_config: { stop: [{ matcher: '*', hooks: [{ type: 'agent', prompt: 'Check.', tools: ['terminal'] }] }] },
    }),
    loc: ['body', 'hook_config', 'stop', 0, 'hooks', 0, 'tools'],
    msg: 'can change something',
  },
]

const ADDRESS = { file: 'egress/address-form.ts' }
const agents: Row[] = [
  {
    ...ADDRESS,
    text: 'is no http or https address',
    send: withAgent({ llm: { ...LLM, base_url: 'ftp://models.example/v1' } }),
    loc: ['body', 'agent', 'llm', 'base_url'],
    msg: 'Begin it with http:// or https://.',
  },
  {
    ...ADDRESS,
    text: 'new EgressRefused(',
    send: withAgent({ llm: { ...LLM, base_url: 'http://169.254.169.254/v1' } }),
    loc: ['body', 'agent', 'llm', 'base_url'],
    msg: 'base_url',
  },
  { ...ACP, send: withAcp({ acp_command: [] }), loc: ['body', 'agent', 'acp_command'], msg: 'an empty acp_command' },
  { ...ACP, send: withAcp({ tools: [{ name: 'terminal' }] }), loc: ['body', 'agent', 'tools'], msg: 'tools' },
  {
    ...ACP,
    send: withAcp({ condenser: { kind: 'NoOpCondenser' } }),
    loc: ['body', 'agent', 'condenser'],
    msg: 'condenser',
  },
  {
    ...ACP,
    send: withAcp({ acp_file_secrets: [{ secret_name: 'S', env_var: 'S', filename: '../x', subdir: 'a' }] }),
    loc: ['body', 'agent', 'acp_file_secrets'],
    msg: 'a bare name in a folder below',
  },
  {
    file: 'agent/prompts/prompt-files.ts',
    text: 'no file in the server',
    send: withAgent({ security_policy_filename: 'absent.j2' }),
    loc: ['body', 'agent', 'security_policy_filename'],
    msg: 'is no built-in text',
  },
  {
    file: 'agent/prompts/prompt-files.ts',
    text: 'is not a readable file',
    send: async (server) => {
      await withPromptFile('empty.j2', '')(server)
      return withAgent({ system_prompt_filename: 'folder.j2' })(server)
    },
    loc: TEMPLATE.loc,
    msg: 'is not a readable file',
  },
  { ...TEMPLATE, text: 'lineOf', send: withPromptFile('open.j2', 'a\n{% if x %}'), msg: 'line 2' },
  {
    ...TEMPLATE,
    text: 'refused(name, reason)',
    send: withPromptFile('wrong.j2', '{{ 1 | nofilter }}'),
    msg: 'nofilter',
  },
  {
    ...TEMPLATE,
    text: 'becomes longer',
    send: withPromptFile('long.j2', `{% for a in range(10000) %}${'x'.repeat(101)}{% endfor %}`),
    msg: 'becomes longer',
  },
  {
    file: 'tools/name-filter.ts',
    text: 'is longer than',
    send: withAgent({ filter_tools_regex: 'a'.repeat(2001) }),
    loc: ['body', 'agent', 'filter_tools_regex'],
    msg: 'is longer than',
  },
  {
    file: 'tools/name-filter.ts',
    text: 'is not a regular expression',
    send: withAcp({ filter_tools_regex: '(' }),
    loc: ['body', 'agent', 'filter_tools_regex'],
    msg: 'is not a regular expression',
  },
  {
    ...REGISTRY,
    text: 'takes too long',
    send: withAgent({
      tools: [{ name: 'x', params: { spec: { ...tool('x'), name: `${'a'.repeat(40)}_0` } } }],
      filter_tools_regex: '(a+)+$',
    }),
    loc: ['body', 'agent', 'filter_tools_regex'],
    msg: 'takes too long',
  },
  {
    ...REGISTRY,
    text: 'unknown(name, BUILT_IN',
    send: withAgent({ include_default_tools: ['FinishTool', 'ZorpTool'] }),
    loc: ['body', 'agent', 'include_default_tools', 1],
    msg: "'ZorpTool' is not registered",
  },
  {
    ...REGISTRY,
    text: 'unknown(name, EXPLICIT',
    send: withAgent({ tools: [{ name: 'terminal' }, { name: 'zorp' }] }),
    loc: ['body', 'agent', 'tools', 1, 'name'],
    msg: "'zorp' is not registered",
  },
  {
    ...REGISTRY,
    text: 'Parameters of tool',
    send: withAgent({ tools: [{ name: 'grep', params: { zorp: 1 } }] }),
    loc: ['body', 'agent', 'tools', 0, 'params'],
    msg: "Parameters of tool 'grep'",
  },
  {
    ...REGISTRY,
    text: 'is given twice',
    send: withAgent({ tools: [{ name: 'terminal' }, { name: 'TerminalTool' }] }),
    loc: ['body', 'agent', 'tools', 1, 'name'],
    msg: 'is given twice',
  },
  {
    ...REGISTRY,
    text: 'isSame(',
    send: withMore({
      agent: { llm: LLM, tools: [{ name: 'ask_person', params: { spec: tool('One.') } }] },
      client_tools: [tool('Another.')],
    }),
    loc: ['body', 'client_tools', 0, 'name'],
    msg: 'declared twice',
  },
  {
    file: 'tools/client-tool.ts',
    text: 'cannot be offered',
    send: withMore({ agent: { llm: LLM }, client_tools: [{ ...tool('One.'), parameters: MULTIPLYING }] }),
    loc: ['body', 'client_tools', 0, 'parameters'],
    msg: 'more than 5000 parts',
  },
  {
    ...AGENT_SETTINGS,
    text: 'unfit(',
    send: withMore({ agent_settings: { llm: { ...LLM, temperature: 'warm' } } }),
    loc: ['body', 'agent_settings', 'openhands', 'llm', 'temperature'],
    type: 'float_parsing',
  },
  {
    ...AGENT_SETTINGS,
    text: 'acp_server "custom"',
    send: withMore({ agent_settings: { agent_kind: 'acp', acp_server: 'custom' } }),
    loc: ['body', 'agent_settings', 'acp_command'],
    msg: 'needs an acp_command',
  },
  {
    ...AGENT_SETTINGS,
    text: 'critic_enabled needs',
    send: withMore({ agent_settings: { llm: LLM, verification: { critic_enabled: true } } }),
    loc: ['body', 'agent_settings', 'verification', 'critic_api_key'],
    msg: 'critic_enabled needs',
  },
  {
    ...AGENT_SETTINGS,
    text: 'These settings make no agent',
    never: 'settings that fit their schema have made an agent in every case known',
  },
  {
    file: 'settings/profiles/agent-profiles.ts',
    text: 'errors.join',
    send: brokenProfile,
    loc: ['body', 'agent_profile_id'],
    msg: "Agent profile 'broken'",
  },
]

const analyzers: Row[] = [
  {
    ...PATTERNS,
    text: 'entries; at most',
    send: withPatterns(Array.from({ length: 201 }, () => named('a'))),
    loc: ['body', 'security_analyzer', 'high_patterns'],
    msg: '201 entries',
  },
  {
    ...PATTERNS,
    text: 'is longer than',
    send: withPatterns([named('a'), named('a'.repeat(2001))]),
    loc: ['body', 'security_analyzer', 'high_patterns', 1],
    msg: 'is longer than',
  },
  {
    ...PATTERNS,
    text: 'is too large once',
    send: withPatterns([named('(?:abcdefghij){400}')]),
    loc: ['body', 'security_analyzer', 'high_patterns', 0],
    msg: 'is too large',
  },
  {
    ...PATTERNS,
    text: 'is one too many',
    send: withPatterns(Array.from({ length: 20 }, () => named('(?:abcdefghij){100}'))),
    loc: ['body', 'security_analyzer', 'high_patterns', 11],
    msg: 'is one too many',
  },
  {
    ...PATTERNS,
    text: 'runs in linear time',
    send: async (server) => {
      const id = await begun(server, {})
      const inner = { kind: 'PatternSecurityAnalyzer', medium_patterns: [named('a'), named('(')] }
      const security_analyzer = {
        kind: 'EnsembleSecurityAnalyzer',
        analyzers: [{ kind: 'LLMSecurityAnalyzer' }, inner],
      }
      return server.call('POST', `/api/conversations/${id}/security_analyzer`, { security_analyzer })
    },
    loc: ['body', 'security_analyzer', 'analyzers', 1, 'medium_patterns', 1],
    msg: 'linear time',
  },
  {
    file: 'security/open-analyzer.ts',
    text: 'The ensemble is too large',
    send: withMore({ security_analyzer: nested }),
    loc: ['body', 'security_analyzer', ...inTheFirst(9), 'analyzers'],
    msg: 'The ensemble is too large',
  },
  {
    file: 'security/vendor.ts',
    text: 'api_url',
    send: withMore({ security_analyzer: { kind: 'GraySwanAnalyzer', api_url: 'ftp://monitor.example' } }),
    loc: ['body', 'security_analyzer', 'api_url'],
    msg: 'http or https',
  },
]

const settings: Row[] = [
  {
    file: 'settings/conversation-secrets.ts',
    text: 'expectName(',
    send: withMore({ secrets: { PATH: 'x' } }),
    loc: ['body', 'secrets', 'PATH', '[key]'],
    msg: 'No command could have',
  },
  {
    file: 'settings/conversation-secrets.ts',
    text: 'expectValue(',
    send: async (server) => {
      const id = await begun(server, {})
      return server.call('POST', `/api/conversations/${id}/secrets`, { secrets: { ODD: { value: 'a\0b' } } })
    },
    loc: ['body', 'secrets', 'ODD', 'value'],
    msg: 'ODD:',
  },
  {
    file: 'settings/lookup.ts',
    text: 'does not ask',
    send: withAgent({
      agent_context: { secrets: { LOOKED_UP: { kind: 'LookupSecret', url: 'http://elsewhere.example/x' } } },
    }),
    loc: ['body', 'agent', 'agent_context', 'secrets', 'LOOKED_UP', 'url'],
    msg: 'secret_lookup_hosts',
  },
  {
    file: 'settings/profiles/llm-profiles.ts',
    text: 'no provider connection',
    send: (server) => server.call('POST', '/api/profiles/a', { llm: { ...LLM, provider_connection_id: 'none' } }),
    loc: ['body', 'llm', 'provider_connection_id'],
    msg: 'no provider connection',
  },
  {
    file: 'settings/secrets.ts',
    text: 'A secret name starts',
    send: (server) => server.call('PUT', '/api/settings/secrets', { name: '1a', value: 'x' }),
    loc: ['body', 'name'],
    msg: 'A secret name starts',
  },
  {
    file: 'settings/secrets.ts',
    text: 'A secret name starts',
    send: (server) => server.call('GET', '/api/settings/secrets/a-b'),
    loc: ['path', 'name'],
    msg: 'A secret name starts',
  },
  {
    file: 'settings/secrets.ts',
    text: 'A secret name starts',
    send: (server) => server.call('DELETE', '/api/settings/secrets/a-b'),
    loc: ['path', 'name'],
    msg: 'A secret name starts',
  },
  {
    file: 'settings/settings.ts',
    text: 'agent_kind is',
    send: patch({ agent_settings_diff: { agent_kind: 'x' } }),
    loc: ['body', 'agent_settings_diff', 'agent_kind'],
    msg: 'Settings validation failed',
  },
  {
    file: 'settings/settings.ts',
    text: 'unfit(MCPServer',
    send: patchedServer,
    loc: ['body'],
    type: 'value_error',
  },
  {
    file: 'settings/settings.ts',
    text: 'Send the value itself',
    send: patch({ agent_settings_diff: { llm: { api_key: 'gAAAAABfake' } } }),
    loc: ['body', 'agent_settings_diff', 'llm', 'api_key'],
    msg: 'encrypted for another user or place',
  },
  {
    file: 'settings/stored.ts',
    text: 'parse(AgentSettings',
    send: patch({ agent_settings_diff: { llm: { temperature: 'warm' } } }),
    loc: ['body', 'agent_settings_diff', 'openhands', 'llm', 'temperature'],
    type: 'float_parsing',
  },
  {
    file: 'settings/stored.ts',
    text: 'parse(ConversationSettings',
    send: patch({ conversation_settings_diff: { max_iterations: null } }),
    loc: ['body', 'conversation_settings_diff', 'max_iterations'],
    type: 'int_type',
  },
]

const CALLS = 'a tool call of a model; the model reads the message'
const notRequests: Row[] = [
  { file: 'tools/client-tool.ts', text: 'missing:', never: CALLS },
  { file: 'tools/client-tool.ts', text: 'no client can bring', never: CALLS },
  { file: 'tools/read-only.ts', text: 'only the command view', never: CALLS },
  { file: 'workspace/runner-link.ts', text: 'message', never: 'two calls under one id, which the server chooses' },
  {
    file: 'workspace/remote/remote-workspaces.ts',
    text: 'has to be absolute',
    never: 'the start has checked the directory',
  },
]

export const ROWS: readonly Row[] = [...starts, ...agents, ...analyzers, ...settings, ...notRequests]

/** Folders and files whose refusals no request reaches, by the beginning of their path. */
export const NOT_REQUESTS: Readonly<Record<string, string>> = {
  'compose/backup/': 'commands of the command line',
  'compose/move.ts': 'commands of the command line',
  'compose/rekey.ts': 'a command of the command line',
  'conversation/definitions/': 'definitions of sub-agents, read when a conversation starts',
  'conversation/sub-agents/': CALLS,
  'skills/frontmatter.ts': 'files of skills, read when a conversation starts',
  'skills/plugins/read.ts': 'files of plugins, read when a conversation starts',
  'skills/skill-file.ts': 'files of skills, read when a conversation starts',
  'tools/invoke-skill-tool.ts': CALLS,
  'tools/mcp/': 'servers and calls of MCP; the model or the start reads the message',
  'tools/models/': CALLS,
  'tools/sub-agents/': CALLS,
  'tools/terminal/': CALLS,
}
