import { expect, test } from 'vitest'
import { CreateConversationBody } from './endpoints/create-conversation.ts'
import { SendMessageRequest, StartConversationRequest } from './requests.ts'
import { InitSessionRequest } from './conversation-service.ts'
import { CreateSecretRequest, UpdateSecretRequest } from './secrets.ts'
import { Settings } from './settings.ts'

const start = { workspace: { type: 'local', working_dir: '/w' }, agent: { llm: { model: 'a/b' } } }

test('a start request with workspace and agent gets the defaults of the wire', () => {
  const request = StartConversationRequest.parse(start)
  expect(request.workspace).toEqual({ kind: 'LocalWorkspace', working_dir: '/w' })
  expect(request.agent).toMatchObject({ kind: 'Agent', llm: { model: 'a/b' } })
  const { workspace: _workspace, agent: _agent, ...rest } = request
  expect(rest).toEqual({
    worktree: false,
    conversation_id: null,
    parent_conversation_id: null,
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    initial_message: null,
    max_iterations: 500,
    stuck_detection: true,
    secrets: {},
    secrets_encrypted: false,
    tool_module_qualnames: {},
    client_tools: [],
    agent_launch_additions: null,
    agent_definitions: [],
    plugins: null,
    hook_config: null,
    tags: {},
    user_id: null,
    observability_metadata: {},
    observability_tags: [],
    observability_span_name: 'conversation',
    autotitle: true,
    title_llm_profile: null,
    agent_settings: null,
    agent_profile_id: null,
  })
})

test.each<[change: object, path: (string | number)[], type: string]>([
  [{ workspace: { kind: 'RemoteWorkspace', working_dir: '/w', host: 'h' } }, ['workspace'], 'assertion_error'],
  [{ agent: undefined }, [], 'value_error'],
  [{ agent_profile_id: '6f9619ff8b864011b42d00c04fc964ff' }, [], 'value_error'],
  [{ agent: { kind: 'Robot' } }, ['agent'], 'value_error'],
  [{ max_iterations: 0 }, ['max_iterations'], 'greater_than_equal'],
  [{ initial_message: { role: 'assistant' } }, ['initial_message', 'role'], 'value_error'],
  [{ secrets: { A: 5 } }, ['secrets', 'A'], 'string_type'],
  [{ conversation_id: 'x' }, ['conversation_id'], 'uuid_parsing'],
])('a start request with %j is refused at %j as %s', (change, path, type) => {
  const result = StartConversationRequest.safeParse({ ...start, ...change })
  expect(result.error?.issues).toMatchObject([{ path, params: { type } }])
})

test('secrets in a request are text or sources', () => {
  const request = StartConversationRequest.parse({
    ...start,
    secrets: { A: 'x', B: { kind: 'StaticSecret', value: 'y' } },
  })
  expect(request.secrets).toEqual({ A: 'x', B: { kind: 'StaticSecret', value: 'y', description: null } })
})

test('an empty message is legal', () => {
  expect(SendMessageRequest.parse({ sender: 'me' })).toEqual({ role: 'user', content: [], run: false })
})

test('the shape of a body selects the API of a new conversation', () => {
  expect(CreateConversationBody.parse({}).api).toBe('conversation-service')
  expect(CreateConversationBody.parse({ initial_user_msg: 'hi' })).toMatchObject({
    api: 'conversation-service',
    request: { initial_user_msg: 'hi', repository: null },
  })
  expect(CreateConversationBody.parse(start).api).toBe('agent-server')
})

test('a body is checked by the rules of its own API, once', () => {
  const issues = (body: unknown) => CreateConversationBody.safeParse(body).error?.issues
  expect(issues({ foo: 1 })).toMatchObject([{ path: ['foo'], params: { type: 'extra_forbidden' } }])
  expect(issues({ agent: { llm: {} } })).toMatchObject([{ path: ['workspace'] }])
  expect(issues({ workspace: { working_dir: '/w' } })).toMatchObject([{ path: [], params: { type: 'value_error' } }])
  expect(issues([])).toHaveLength(1)
})

test.each<[body: object, issue: object]>([
  [{ git_provider: 'svn' }, { path: ['git_provider'], code: 'invalid_value' }],
  [{ image_urls: ['ok', 7] }, { path: ['image_urls', 1], code: 'invalid_type' }],
  [{ suggested_task: 'x' }, { path: ['suggested_task'], code: 'invalid_type' }],
  [
    { suggested_task: { repo: 'r', title: 't', issue_number: '5.5' } },
    { path: ['suggested_task', 'issue_number'], params: { type: 'int_parsing' } },
  ],
  [{ mcp_config: { x: 1 } }, { path: ['mcp_config'], code: 'unrecognized_keys' }],
  [{ conversation_id: null }, { path: ['conversation_id'], params: { type: 'uuid_type' } }],
  [
    { replay_json: '[{"action":"message","args":{"content":"a"}}]', initial_user_msg: 'hi' },
    { path: [], params: { type: 'value_error' } },
  ],
])('New Conversation refuses %j', (body, issue) => {
  expect(InitSessionRequest.safeParse(body).error?.issues).toMatchObject([issue])
})

test('git hosts are accepted under their own and the neutral names, and the spelling is kept', () => {
  expect(InitSessionRequest.parse({ git_provider: 'git_host_1' }).git_provider).toBe('git_host_1')
  expect(InitSessionRequest.parse({ git_provider: 'github' }).git_provider).toBe('github')
})

test('an empty conversation id counts as absent', () => {
  expect(InitSessionRequest.parse({ conversation_id: '' }).conversation_id).toBeUndefined()
})

test('settings distinguish absent from null and fill in no defaults', () => {
  expect(Settings.parse({})).toEqual({})
  expect(Settings.parse({ language: null, max_iterations: '30', enable_sound_notifications: 'yes', more: 1 })).toEqual({
    language: null,
    max_iterations: 30,
    enable_sound_notifications: true,
  })
  expect(Settings.safeParse({ enable_default_condenser: null }).error?.issues).toMatchObject([
    { path: ['enable_default_condenser'], params: { type: 'bool_type' } },
  ])
})

test('a secret needs name and value; its value cannot be updated', () => {
  const missed = CreateSecretRequest.safeParse({}).error?.issues.map(({ path }) => path)
  expect(missed).toEqual([['name'], ['value']])
  expect(CreateSecretRequest.safeParse({ name: 'a-b', value: 'x' }).error?.issues).toMatchObject([
    { path: ['name'], params: { type: 'string_pattern_mismatch' } },
  ])
  expect(UpdateSecretRequest.safeParse({ name: 'A', value: 'x' }).error?.issues).toMatchObject([
    { code: 'unrecognized_keys', keys: ['value'] },
  ])
})

test.each(['other', 'toString', 'id'])('an update of a secret ignores the unknown member %s', (name) => {
  expect(UpdateSecretRequest.parse({ name: 'A', [name]: 1 })).toEqual({ name: 'A', description: null })
})
