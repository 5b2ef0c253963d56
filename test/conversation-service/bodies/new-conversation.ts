/** New Conversation, in both APIs. */
import {
  atLeast,
  badUuid,
  boolType,
  extra,
  floatType,
  HIDDEN,
  intParsing,
  listType,
  missing,
  modelType,
  oneOf,
  refused,
  row,
  rowsOf,
  type Row,
  stringType,
  uuidType,
} from './say.ts'

const PROVIDER = oneOf("'github', 'gitlab', 'bitbucket', 'enterprise_sso', 'git_host_1', 'git_host_2' or 'git_host_3'")
const TASK_TYPE = oneOf("'MERGE_CONFLICTS', 'FAILING_CHECKS', 'UNRESOLVED_COMMENTS' or 'OPEN_ISSUE'")
const REPOSITORY = refused('repository must be owner/name, a path of groups and a name, or an http(s) address')
const BRANCH = refused('selected_branch is not a name that a branch can have')
const URL = refused('URL must have a host and one of the schemes http, https, ws and wss')

const task = { repo: 'acme/shop', issue_number: 7, title: 'A title' }
const withTask = { suggested_task: task }
const server = (kind: string, entry: unknown) => ({ mcp_config: { [kind]: [entry] } })
const stdio = { name: 'a', command: 'true' }

const seed: Row[] = [
  { name: 'an unknown member', body: { foo: 1 }, detail: [extra(['foo'], 1)] },
  {
    name: 'unknown members in the order they came, after all others',
    body: { z: 1, initial_user_msg: 5, y: { deep: [1] } },
    detail: [stringType(['initial_user_msg'], 5), extra(['z'], 1), extra(['y'], { deep: [1] })],
  },
  { name: 'another spelling of a member', body: { Repository: 'a/b' }, detail: [extra(['Repository'], 'a/b')] },
  {
    name: '__proto__ as a member',
    body: '{"__proto__":{"repository":5}}',
    detail: [extra(['__proto__'], { repository: 5 })],
  },
  {
    name: 'the last of two members counts',
    body: '{"repository":"a/b","repository":5}',
    detail: [stringType(['repository'], 5)],
  },
  ...['repository', 'selected_branch', 'initial_user_msg', 'replay_json', 'conversation_instructions'].flatMap((name) =>
    rowsOf([name], 'text'),
  ),
  ...rowsOf(['image_urls'], 'list'),
  row(['image_urls', 1], 7, stringType, { image_urls: ['ok'] }),
  row(['image_urls', 0], null, stringType),
  ...['svn', 'GitHub', '', 5, true, ['github'], {}].map((value) => row(['git_provider'], value, PROVIDER)),
  ...['shop', 'a b/c', 'a/../b', '-a/b', 'ftp://host/a/b', 'https://host/a/b?x=1', 'a//b', 'a/.git'].map((value) =>
    row(['repository'], value, REPOSITORY),
  ),
  {
    name: 'a repository with a password',
    body: { repository: 'https://ann:pass@host/a/b' },
    detail: [
      refused('repository must not hold a user name or password; store the token of the git provider instead')(
        ['repository'],
        `https://${HIDDEN}@host/a/b`,
      ),
    ],
  },
  ...['-b', 'a..b', 'a b', 'a~1', 'x.lock', '/a', 'a/', '@', 'a\u0007'].map((value) =>
    row(['selected_branch'], value, BRANCH, { repository: 'a/b' }),
  ),
  {
    name: 'a branch without a repository',
    body: { selected_branch: 'main' },
    detail: [refused('selected_branch needs a repository')([], { selected_branch: 'main' })],
  },

  ...rowsOf(['suggested_task'], 'model'),
  {
    name: 'an empty task',
    body: { suggested_task: {} },
    detail: ['repo', 'issue_number', 'title'].map((name) => missing(['suggested_task', name], {})),
  },
  ...['repo', 'title'].flatMap((name) => rowsOf(['suggested_task', name], 'text', { nullable: false, base: withTask })),
  ...rowsOf(['suggested_task', 'issue_number'], 'integer', { nullable: false, base: withTask }),
  row(['suggested_task', 'git_provider'], 'svn', PROVIDER, withTask),
  ...['OPEN_PR', 'open_issue', null, 5].map((value) =>
    row(['suggested_task', 'task_type'], value, TASK_TYPE, withTask),
  ),

  ...rowsOf(['create_microagent'], 'model'),
  {
    name: 'an empty microagent',
    body: { create_microagent: {} },
    detail: [missing(['create_microagent', 'repo'], {})],
  },
  row(['create_microagent', 'repo'], 'shop', REPOSITORY),
  row(['create_microagent', 'repo'], null, stringType),
  row(['create_microagent', 'title'], 5, stringType, { create_microagent: { repo: 'a/b' } }),
  row(['create_microagent', 'git_provider'], 'svn', PROVIDER, { create_microagent: { repo: 'a/b' } }),
  {
    name: 'a task and a microagent',
    body: { suggested_task: task, create_microagent: { repo: 'a/b' } },
    detail: [
      refused('suggested_task cannot be combined with create_microagent')([], {
        suggested_task: task,
        create_microagent: { repo: 'a/b' },
      }),
    ],
  },

  ...rowsOf(['mcp_config'], 'model'),
  row(['mcp_config', 'x'], 1, extra),
  ...['sse_servers', 'stdio_servers', 'shttp_servers'].flatMap((kind) =>
    rowsOf(['mcp_config', kind], 'list', { nullable: false }),
  ),
  ...['sse_servers', 'shttp_servers'].flatMap((kind) => [
    row(['mcp_config', kind, 0], 5, modelType),
    row(['mcp_config', kind, 0], null, modelType),
    { name: `${kind}: no url`, body: server(kind, {}), detail: [missing(['mcp_config', kind, 0, 'url'], {})] },
    row(['mcp_config', kind, 0, 'url'], '', refused('URL cannot be empty')),
    row(['mcp_config', kind, 0, 'url'], '  ', refused('URL cannot be empty')),
    row(['mcp_config', kind, 0, 'url'], 'no-scheme', URL),
    row(['mcp_config', kind, 0, 'url'], 'ftp://host', URL),
    row(['mcp_config', kind, 0, 'url'], 'http://', URL),
    row(['mcp_config', kind, 0, 'url'], 5, stringType),
    {
      name: `${kind}: a key that is no text`,
      body: server(kind, { url: 'http://host', api_key: 5 }),
      detail: [stringType(['mcp_config', kind, 0, 'api_key'], HIDDEN)],
    },
  ]),
  row(['mcp_config', 'shttp_servers', 0, 'timeout'], 0, atLeast(1), server('shttp_servers', { url: 'http://host' })),
  row(['mcp_config', 'shttp_servers', 0, 'timeout'], 'x', intParsing, server('shttp_servers', { url: 'http://host' })),
  {
    name: 'stdio: empty',
    body: server('stdio_servers', {}),
    detail: ['name', 'command'].map((name) => missing(['mcp_config', 'stdio_servers', 0, name], {})),
  },
  row(
    ['mcp_config', 'stdio_servers', 0, 'name'],
    'a b',
    refused('Server name can only hold letters, digits, hyphens and underscores'),
    server('stdio_servers', stdio),
  ),
  row(
    ['mcp_config', 'stdio_servers', 0, 'command'],
    'npx -y',
    refused('Command must be a single executable without spaces; put the rest into args'),
    server('stdio_servers', stdio),
  ),
  ...['name', 'command'].map((name) =>
    row(['mcp_config', 'stdio_servers', 0, name], 5, stringType, server('stdio_servers', stdio)),
  ),
  row(['mcp_config', 'stdio_servers', 0, 'args'], 5, listType, server('stdio_servers', stdio)),
  row(['mcp_config', 'stdio_servers', 0, 'args', 0], 5, stringType, server('stdio_servers', stdio)),
  row(
    ['mcp_config', 'stdio_servers', 0, 'args'],
    'a "b',
    refused('args has an unclosed quotation'),
    server('stdio_servers', stdio),
  ),
  {
    name: 'env is no map',
    body: server('stdio_servers', { ...stdio, env: 'no pairs' }),
    detail: [refused('env must look like NAME=value,OTHER=value')(['mcp_config', 'stdio_servers', 0, 'env'], HIDDEN)],
  },
  {
    name: 'a value in env is no text',
    body: server('stdio_servers', { ...stdio, env: { A: 5 } }),
    detail: [stringType(['mcp_config', 'stdio_servers', 0, 'env', 'A'], HIDDEN)],
  },
  {
    name: 'two servers of one name',
    body: { mcp_config: { stdio_servers: [stdio, stdio] } },
    detail: [refused('each server needs a name of its own')(['mcp_config', 'stdio_servers'], [stdio, stdio])],
  },

  ...['x', '0f0e0d0c-0b0a-4908-870605040302'].map((value) =>
    row(
      ['conversation_id'],
      value,
      badUuid(value === 'x' ? 'invalid character: found `x` at 1' : 'invalid group count: expected 5, found 4'),
    ),
  ),
  ...[5, true, null, [], {}].map((value) => row(['conversation_id'], value, uuidType)),

  {
    name: 'replay and a message',
    body: { replay_json: '[{"action":"message","source":"user","args":{"content":"x"}}]', initial_user_msg: 'hi' },
    detail: [
      refused('replay_json cannot be combined with initial_user_msg, image_urls or suggested_task')([], {
        replay_json: '[{"action":"message","source":"user","args":{"content":"x"}}]',
        initial_user_msg: 'hi',
      }),
    ],
  },
  {
    name: 'several failures in the order of the declaration',
    body: { mcp_config: 'x', image_urls: 'x', repository: 5, git_provider: 'svn' },
    detail: [
      stringType(['repository'], 5),
      PROVIDER(['git_provider'], 'svn'),
      listType(['image_urls'], 'x'),
      modelType(['mcp_config'], 'x'),
    ],
  },
]

const workspace = { working_dir: '/srv/work' }
const agent = { kind: 'Agent', llm: { model: 'some/model' } }
const both = { workspace, agent }

/** Types of metadata values, with the failures of each for another value. */
const METADATA = [
  ['str', stringType],
  ['bool', boolType],
  ['float', floatType],
  ['list[str]', listType],
  ['list[bool]', listType],
  ['list[float]', listType],
] as const

const agentServer: Row[] = [
  { name: 'no workspace', body: { agent }, detail: [missing(['workspace'], { agent })] },
  row(['workspace'], 'x', modelType, { agent }),
  { name: 'an empty workspace', body: { workspace: {}, agent }, detail: [missing(['workspace', 'working_dir'], {})] },
  {
    name: 'no agent',
    body: { workspace },
    detail: [refused("One of 'agent', 'agent_settings' or 'agent_profile_id' is required")([], { workspace })],
  },
  ...rowsOf(['max_iterations'], 'integer', { nullable: false, base: both }),
  row(['max_iterations'], 0, atLeast(1), both),
  ...rowsOf(['stuck_detection'], 'boolean', { nullable: false, base: both }),
  ...[{}, null, { b: [] }].map((value) => ({
    name: `observability_metadata whose member is ${JSON.stringify(value)}`,
    body: { ...both, observability_metadata: { a: value } },
    detail: METADATA.map(([label, make]) => make(['observability_metadata', 'a', label], value)),
  })),
  row(['agent_profile_id'], 'x', badUuid('invalid character: found `x` at 1'), { workspace }),
]

export const newConversation: Row[] = [...seed, ...agentServer]
