/** The webhook receiver: a ConversationInfo of another server. */
import {
  atLeast,
  badUuid,
  dictType,
  extra,
  greater,
  HIDDEN,
  listType,
  missing,
  modelType,
  oneOf,
  refused,
  row as rowAt,
  rowsOf,
  type At,
  type Row,
  stringType,
  tupleType,
} from './say.ts'

const ID = '0f0e0d0c-0b0a-4908-8706-050403020100'
const base = {
  id: ID,
  workspace: { kind: 'LocalWorkspace', working_dir: '/srv/work' },
  agent: { kind: 'Agent', llm: { model: 'some/model' } },
}
const acp = { ...base, agent: { kind: 'ACPAgent', acp_command: ['x'] } }
type Say = Parameters<typeof rowAt>[2]
const row = (at: At, value: unknown, say: Say, whole: unknown = base) => rowAt(at, value, say, whole)
const rows = (at: At, type: Parameters<typeof rowsOf>[1], options: { nullable?: boolean; isSecret?: boolean } = {}) =>
  rowsOf(at, type, { base, ...options })

const STATUS = oneOf(
  "'idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck' or 'deleting'",
)
const RISK = oneOf("'UNKNOWN', 'LOW', 'MEDIUM' or 'HIGH'")
const unknownKind = (kind: string, union: string, known: string) =>
  refused(`Unknown kind '${kind}' for ${union}; Expected one of: [${known}]`)
const AGENTS = "'ACPAgent', 'Agent'"
const POLICIES = "'AlwaysConfirm', 'ConfirmRisky', 'NeverConfirm'"
const WORKSPACES = "'LocalWorkspace', 'RemoteWorkspace'"
const tag = (text: string) => refused(text)

/** Unions by `kind`: an unknown one is reported on the union, without the kind in its input. */
const unions: Row[] = [
  ...(['workspace', 'confirmation_policy', 'agent'] as const).flatMap((name) =>
    rows([name], 'model', { nullable: false }),
  ),
  ...rows(['security_analyzer'], 'model'),
  {
    name: 'an agent of no kind',
    body: { ...base, agent: { llm: { model: 'x' } } },
    detail: [unknownKind('', 'AgentBase', AGENTS)(['agent'], { llm: { model: 'x' } })],
  },
  {
    name: 'an agent of an unknown kind',
    body: { ...base, agent: { kind: 'Robot', name: 'x' } },
    detail: [unknownKind('Robot', 'AgentBase', AGENTS)(['agent'], { name: 'x' })],
  },
  {
    name: 'a kind is recognised by its exact spelling',
    body: { ...base, agent: { kind: 'agent' } },
    detail: [unknownKind('agent', 'AgentBase', AGENTS)(['agent'], {})],
  },
  {
    name: 'an unknown policy',
    body: { ...base, confirmation_policy: { kind: 'Sometimes' } },
    detail: [unknownKind('Sometimes', 'ConfirmationPolicyBase', POLICIES)(['confirmation_policy'], {})],
  },
  {
    name: 'an unknown workspace',
    body: { ...base, workspace: { kind: 'Cloud', working_dir: '/x' } },
    detail: [unknownKind('Cloud', 'BaseWorkspace', WORKSPACES)(['workspace'], { working_dir: '/x' })],
  },
  { name: 'an empty workspace', body: { ...base, workspace: {} }, detail: [missing(['workspace', 'working_dir'], {})] },
  row(['workspace', 'working_dir'], 5, stringType),
  row(['workspace', 'working_dir'], null, stringType),
  {
    name: 'a remote workspace without host and directory',
    body: { ...base, workspace: { kind: 'RemoteWorkspace' } },
    detail: ['working_dir', 'host'].map((name) => missing(['workspace', name], { kind: 'RemoteWorkspace' })),
  },
  row(['confirmation_policy'], { kind: 'ConfirmRisky', threshold: 'HUGE' }, (at) => RISK([...at, 'threshold'], 'HUGE')),
  row(['confirmation_policy'], { kind: 'ConfirmRisky', threshold: 'UNKNOWN' }, (at) =>
    refused('Threshold cannot be UNKNOWN')([...at, 'threshold'], 'UNKNOWN'),
  ),
  {
    name: 'an ensemble of none',
    body: { ...base, security_analyzer: { kind: 'EnsembleSecurityAnalyzer', analyzers: [] } },
    detail: [
      {
        type: 'too_short',
        loc: ['body', 'security_analyzer', 'analyzers'],
        msg: 'List should have at least 1 item after validation, not 0',
        input: [],
        ctx: { field_type: 'List', min_length: 1, actual_length: 0 },
      },
    ],
  },
  {
    name: 'an ensemble of nothing',
    body: { ...base, security_analyzer: { kind: 'EnsembleSecurityAnalyzer' } },
    detail: [missing(['security_analyzer', 'analyzers'], { kind: 'EnsembleSecurityAnalyzer' })],
  },
]

const patterns = (value: unknown) => ({ kind: 'PatternSecurityAnalyzer', high_patterns: value })
const PATTERN = ['security_analyzer', 'high_patterns']
const analyzers: Row[] = [
  {
    name: 'a pattern of two texts',
    body: { ...base, security_analyzer: patterns([['a', 'b']]) },
    detail: [missing([...PATTERN, 0, 2], ['a', 'b'])],
  },
  {
    name: 'a pattern of one text',
    body: { ...base, security_analyzer: patterns([['a']]) },
    detail: [missing([...PATTERN, 0, 1], ['a']), missing([...PATTERN, 0, 2], ['a'])],
  },
  {
    name: 'a pattern of four texts',
    body: { ...base, security_analyzer: patterns([['a', 'b', 'c', 'd']]) },
    detail: [
      {
        type: 'too_long',
        loc: ['body', ...PATTERN, 0],
        msg: 'Tuple should have at most 3 items after validation, not 4',
        input: ['a', 'b', 'c', 'd'],
        ctx: { field_type: 'Tuple', max_length: 3, actual_length: 4 },
      },
    ],
  },
  row(['security_analyzer'], patterns(['abc']), (at) => tupleType([...at, 'high_patterns', 0], 'abc')),
  row(['security_analyzer'], patterns('abc'), (at) => listType([...at, 'high_patterns'], 'abc')),
  row(['security_analyzer'], patterns([['a', 5, 'c']]), (at) => stringType([...at, 'high_patterns', 0, 1], 5)),
]

const numbers: Row[] = [
  ...rows(['max_iterations'], 'integer', { nullable: false }),
  ...[0, -1, '0', '-5', false].map((value) => row(['max_iterations'], value, greater(0))),
  ...['stuck_detection', 'supports_runtime_model_switch'].flatMap((name) =>
    rows([name], 'boolean', { nullable: false }),
  ),
  row(['metrics', 'accumulated_cost'], -1, atLeast(0)),
  row(['metrics', 'accumulated_cost'], '-0.5', atLeast(0)),
  row(['metrics', 'accumulated_token_usage', 'prompt_tokens'], -1, (at) => atLeast(0)(at, HIDDEN)),
  row(['metrics', 'accumulated_token_usage', 'context_window'], -1, (at) => atLeast(0)(at, HIDDEN)),
  row(['stats', 'usage_to_metrics', 'agent', 'accumulated_cost'], -1, atLeast(0)),
  row(['stats', 'usage_to_metrics', 'agent', 'costs', 0], { model: 'x', cost: -1 }, (at) =>
    atLeast(0)([...at, 'cost'], -1),
  ),
  row(['launched_agent_profile'], { agent_profile_id: ID, revision: -1 }, (at) => atLeast(0)([...at, 'revision'], -1)),
  {
    name: 'a profile of nothing',
    body: { ...base, launched_agent_profile: {} },
    detail: ['agent_profile_id', 'revision'].map((name) => missing(['launched_agent_profile', name], {})),
  },
  row(['agent', 'tool_concurrency_limit'], 0, atLeast(1)),
  row(['agent', 'tool_concurrency_limit'], -1, atLeast(1), acp),
]

const texts: Row[] = [
  ...[
    'persistence_dir',
    'last_user_message_id',
    'leaf_event_id',
    'title',
    'forked_from_event_id',
    'current_model_id',
  ].flatMap((name) => rows([name], 'text')),
  ...['IDLE', 'done', '', 5, null, []].map((value) => row(['execution_status'], value, STATUS)),
  ...rows(['id'], 'uuid', { nullable: false }),
  ...['forked_from_conversation_id', 'parent_conversation_id'].flatMap((name) => rows([name], 'uuid')),
  row(['sub_conversation_ids', 0], 'x', badUuid('invalid character: found `x` at 1')),
  ...['created_at', 'updated_at'].flatMap((name) => rows([name], 'date', { nullable: false })),
]

const containers: Row[] = [
  ...[
    'activated_knowledge_skills',
    'invoked_skills',
    'sub_conversation_ids',
    'available_models',
    'client_tools',
  ].flatMap((name) => rows([name], 'list', { nullable: false })),
  ...['activated_knowledge_skills', 'invoked_skills'].map((name) => row([name, 0], 5, stringType)),
  ...['blocked_actions', 'blocked_messages', 'agent_state'].flatMap((name) => rows([name], 'map', { nullable: false })),
  ...['blocked_actions', 'blocked_messages'].map((name) => row([name, 'an-id'], 5, stringType)),
  ...rows(['stats'], 'model', { nullable: false }),
  row(['stats', 'usage_to_metrics'], [], dictType),
  row(['stats', 'usage_to_metrics', 'agent'], 5, modelType),
  ...rows(['metrics'], 'model'),
  row(['metrics', 'model_name'], 5, stringType),
  ...rows(['launched_agent_profile'], 'model'),
  row(['available_models', 0], {}, (at) => missing([...at, 'model_id'], {})),
  row(['tags'], 'x', dictType),
  row(['tags'], ['x'], dictType),
  row(['tags'], { 'Not-Lower': 'x' }, tag("Tag key 'Not-Lower' is invalid: keys must be lowercase alphanumeric")),
  row(['tags'], { a: 5 }, tag("Value of tag 'a' must be a string")),
  row(['tags'], { a: 'x'.repeat(257) }, tag("Value of tag 'a' is longer than 256 characters")),
  {
    name: 'a tool of nothing',
    body: { ...base, client_tools: [{}] },
    detail: ['name', 'description'].map((name) => missing(['client_tools', 0, name], {})),
  },
  row(['client_tools', 0], { name: 'a', description: 'b', parameters: { type: 'array' } }, (at) =>
    refused("Client tool parameters must be a JSON Schema with type 'object'")([...at, 'parameters'], {
      type: 'array',
    }),
  ),
  ...rows(['hook_config'], 'model'),
  row(['hook_config', 'x'], [], extra),
  row(['hook_config', 'stop'], 'x', listType),
  row(['hook_config', 'stop', 0], 'x', modelType),
  row(['hook_config', 'stop', 0, 'matcher'], 5, stringType),
  row(['hook_config', 'stop', 0, 'hooks', 0], {}, refused("Hook type 'command' requires a command")),
  ...['acp_command', 'acp_args'].map((name) => row(['agent', name], 'x', listType, acp)),
  row(['agent'], { kind: 'ACPAgent' }, (at) => missing([...at, 'acp_command'], { kind: 'ACPAgent' })),
  row(['agent'], { kind: 'Agent' }, (at) => missing([...at, 'llm'], { kind: 'Agent' })),
]

const odd: Row[] = [
  { name: 'nothing', body: {}, detail: ['id', 'workspace', 'agent'].map((name) => missing([name], {})) },
  {
    name: 'failures of all members, in the order of the declaration',
    body: { ...base, agent: 'x', tags: 'x', max_iterations: 0, workspace: 5 },
    detail: [
      modelType(['workspace'], 5),
      greater(0)(['max_iterations'], 0),
      dictType(['tags'], 'x'),
      modelType(['agent'], 'x'),
    ],
  },
  {
    name: 'a missing member beside a key',
    body: {
      workspace: { kind: 'RemoteWorkspace', working_dir: '/x', host: 'http://h', api_key: 'k' },
      agent: base.agent,
    },
    detail: [
      missing(['id'], {
        workspace: { kind: 'RemoteWorkspace', working_dir: '/x', host: 'http://h', api_key: HIDDEN },
        agent: base.agent,
      }),
    ],
  },
  ...[
    { ...base },
    { ...acp, tags: null, of_a_newer_version: [1] },
    { ...base, id: ID.replaceAll('-', '').toUpperCase(), max_iterations: '7', stuck_detection: 'no' },
    { ...base, execution_status: 'deleting' },
  ].map((body, at): Row => ({ name: `fine ${at}`, body, status: 200, json: { success: true } })),
]

export const webhook: Row[] = [...unions, ...analyzers, ...numbers, ...texts, ...containers, ...odd]
