import { expect, test } from 'vitest'
import { ACPAgent, builtInFileSecrets } from './agent.ts'
import { ConversationInfo } from './conversation.ts'

const id = '6f9619ff-8b86-4011-b42d-00c04fc964ff'
const minimal = { id, workspace: { working_dir: '/w' }, agent: { kind: 'ACPAgent', acp_command: ['acp'] } }

// Source: interface.md, ConversationInfo; agent-server-wire.md 5.2.
test('a record with only the required members gets every default of the table', () => {
  const { workspace, agent, ...rest } = ConversationInfo.parse(minimal)
  expect(workspace).toEqual({ kind: 'LocalWorkspace', working_dir: '/w' })
  expect(agent.kind).toBe('ACPAgent')
  expect(rest).toEqual({
    id,
    persistence_dir: 'workspace/conversations',
    max_iterations: 500,
    stuck_detection: true,
    execution_status: 'idle',
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: null,
    activated_knowledge_skills: [],
    invoked_skills: [],
    blocked_actions: {},
    blocked_messages: {},
    last_user_message_id: null,
    leaf_event_id: null,
    stats: { usage_to_metrics: {} },
    secret_registry: { secret_sources: {} },
    agent_state: {},
    hook_config: null,
    title: null,
    metrics: null,
    forked_from_conversation_id: null,
    forked_from_event_id: null,
    parent_conversation_id: null,
    sub_conversation_ids: [],
    tags: {},
    current_model_id: null,
    available_models: [],
    supports_runtime_model_switch: false,
    launched_agent_profile: null,
    client_tools: [],
  })
})

// Source: interface.md, AgentBase, ACPAgent, Limits.
test('an ACP agent with only its command gets every default of the table', () => {
  const { llm, ...agent } = ACPAgent.parse({ acp_command: ['acp'] })
  expect(llm).toMatchObject({ model: 'acp-managed', usage_id: 'acp-managed' })
  expect(agent).toEqual({
    kind: 'ACPAgent',
    acp_command: ['acp'],
    tools: [],
    mcp_config: {},
    filter_tools_regex: null,
    include_default_tools: [],
    agent_context: null,
    system_prompt: null,
    system_prompt_filename: 'system_prompt.j2',
    security_policy_filename: 'security_policy.j2',
    system_prompt_kwargs: {},
    condenser: null,
    critic: null,
    tool_concurrency_limit: 1,
    acp_server: null,
    acp_args: [],
    acp_session_mode: null,
    acp_prompt_timeout: 1800,
    acp_startup_timeout: 90,
    acp_model: null,
    acp_resume_session_id: null,
    acp_file_secrets: builtInFileSecrets(),
    acp_isolate_data_dir: false,
  })
})

test('the three required members are reported as missing in the order of the table', () => {
  const issues = ConversationInfo.safeParse({}).error?.issues ?? []
  expect(issues.map(({ path }) => path)).toEqual([['id'], ['workspace'], ['agent']])
  for (const issue of issues) expect(issue).toMatchObject({ params: { type: 'missing' } })
})

test('defaults are not shared between records', () => {
  const first = ConversationInfo.parse(minimal)
  first.blocked_actions['a'] = 'b'
  first.stats.usage_to_metrics['x'] = {
    model_name: 'm',
    accumulated_cost: 0,
    max_budget_per_task: null,
    accumulated_token_usage: null,
    costs: [],
    response_latencies: [],
    token_usages: [],
  }
  const second = ConversationInfo.parse(minimal)
  expect(second.blocked_actions).toEqual({})
  expect(second.stats.usage_to_metrics).toEqual({})
})

test('unknown members of an open record are dropped, at every depth', () => {
  const info = ConversationInfo.parse({ ...minimal, more: 1, workspace: { working_dir: '/w', type: 'local' } })
  expect(info).not.toHaveProperty('more')
  expect(info.workspace).not.toHaveProperty('type')
})

test('a parsed record is unchanged after serialising and parsing it again', () => {
  const info = ConversationInfo.parse({
    ...minimal,
    created_at: '2026-01-02T03:04:05Z',
    security_analyzer: { kind: 'GuardrailLLMSecurityAnalyzer', llm: { model: 'a/b' } },
    hook_config: { PreToolUse: [{ hooks: [{ command: 'true' }] }] },
    tags: { a: 'b' },
    client_tools: [{ name: 'n', description: 'd' }],
    launched_agent_profile: { agent_profile_id: id, revision: '2' },
  })
  expect(ConversationInfo.parse(JSON.parse(JSON.stringify(info)))).toEqual(info)
})

test.each([
  [{ max_iterations: 0 }, ['max_iterations'], 'greater_than'],
  [{ tags: { A: 'x' } }, ['tags'], 'value_error'],
  [{ tags: { a: 'x'.repeat(257) } }, ['tags'], 'value_error'],
  [
    { launched_agent_profile: { agent_profile_id: id, revision: -1 } },
    ['launched_agent_profile', 'revision'],
    'greater_than_equal',
  ],
  [
    { agent: { kind: 'Agent', llm: {}, tool_concurrency_limit: 0 } },
    ['agent', 'tool_concurrency_limit'],
    'greater_than_equal',
  ],
  [{ agent: { kind: 'Agent', llm: {}, tools: [{ name: ' ' }] } }, ['agent', 'tools', 0, 'name'], 'value_error'],
  [{ agent: { kind: 'Agent', llm: {}, system_prompt: 'a', system_prompt_filename: 'b' } }, ['agent'], 'value_error'],
  [
    { client_tools: [{ name: 'n', description: 'd', parameters: { type: 'array' } }] },
    ['client_tools', 0, 'parameters'],
    'value_error',
  ],
  [{ security_analyzer: { kind: 'VendorAnalyzer', low_threshold: 0.8 } }, ['security_analyzer'], 'value_error'],
])('the record %j is refused at %j as %s', (member, path, type) => {
  const issues = ConversationInfo.safeParse({ ...minimal, ...member }).error?.issues
  expect(issues).toMatchObject([{ path, params: { type } }])
})

test('null tags mean none, and a null security policy means no policy', () => {
  const info = ConversationInfo.parse({
    ...minimal,
    tags: null,
    agent: { kind: 'Agent', llm: {}, security_policy_filename: null, tools: [{ name: 'terminal', params: null }] },
  })
  expect(info.tags).toEqual({})
  expect(info.agent.security_policy_filename).toBe('')
  expect(info.agent.tools).toEqual([{ name: 'terminal', params: {} }])
})
