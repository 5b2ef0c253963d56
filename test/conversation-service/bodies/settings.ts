/** Store Settings. */
import {
  greater,
  modelType,
  extra,
  row,
  rowsOf,
  type Row,
  stringType,
  intParsing,
  boolType,
  refused,
  HIDDEN,
} from './say.ts'

const TEXTS = [
  'language',
  'agent',
  'security_analyzer',
  'llm_model',
  'llm_base_url',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
  'email',
  'git_user_name',
  'git_user_email',
]
const SECRETS = ['llm_api_key', 'search_api_key', 'sandbox_api_key']
const FLAGS_OR_NULL = ['confirmation_mode', 'user_consents_to_analytics', 'email_verified']
const FLAGS = [
  'enable_default_condenser',
  'enable_sound_notifications',
  'enable_proactive_conversation_starters',
  'enable_solvability_analysis',
]

const bad: Row[] = [
  ...TEXTS.flatMap((name) => rowsOf([name], 'text')),
  ...SECRETS.flatMap((name) => rowsOf([name], 'text', { isSecret: true })),
  ...FLAGS_OR_NULL.flatMap((name) => rowsOf([name], 'boolean')),
  ...FLAGS.flatMap((name) => rowsOf([name], 'boolean', { nullable: false })),
  ...['max_iterations', 'remote_runtime_resource_factor'].flatMap((name) => rowsOf([name], 'integer')),
  ...rowsOf(['max_budget_per_task'], 'number'),
  ...[0, -1, '0', false].map((value) => row(['max_iterations'], value, greater(0))),
  ...rowsOf(['mcp_config'], 'model'),
  row(['mcp_config', 'servers'], [], extra),
  row(['mcp_config', 'sse_servers', 0, 'url'], '', refused('URL cannot be empty')),
  // Below a name that suggests secrets, all values are masked.
  ...rowsOf(['secrets_store'], 'model', { nullable: false, isSecret: true }),
  {
    name: 'all failures in the order of the declaration',
    body: { git_user_email: 5, enable_default_condenser: null, llm_api_key: 12, max_iterations: 'many', language: 7 },
    detail: [
      stringType(['language'], 7),
      intParsing(['max_iterations'], 'many'),
      stringType(['llm_api_key'], HIDDEN),
      boolType(['enable_default_condenser'], null),
      stringType(['git_user_email'], 5),
    ],
  },
  { name: 'mcp_config as a list', body: { mcp_config: [] }, detail: [modelType(['mcp_config'], [])] },
]

const stored = { status: 200, json: { message: 'Settings stored' } }
const fine: Row[] = [
  { name: 'nothing', body: {}, ...stored },
  { name: 'unknown members', body: { of_a_newer_client: 1, constructor: 2 }, ...stored },
  { name: '__proto__', body: '{"__proto__":{"language":5}}', ...stored },
  { name: 'a byte order mark', body: '\ufeff{"language":"de"}', ...stored },
  { name: 'a charset', body: { language: 'de' }, contentType: 'application/json; charset=utf-8', ...stored },
  { name: 'a JSON of another kind', body: { language: 'de' }, contentType: 'application/merge-patch+json', ...stored },
  { name: 'no content type', body: '{"language":"de"}', contentType: null, ...stored },
  { name: 'a lone surrogate', body: '{"language":"\\ud800"}', ...stored },
  ...[5, '5', ' 5 ', '+5', '007', '5.0', '1_000', true].map((value): Row => ({
    name: `max_iterations: ${JSON.stringify(value)}`,
    body: { max_iterations: value },
    ...stored,
  })),
  ...[5, 5.5, '5.5', '5.', '.5', '1e3', '1_000', true].map((value): Row => ({
    name: `budget: ${JSON.stringify(value)}`,
    body: { max_budget_per_task: value },
    ...stored,
  })),
  ...[true, 1, 0, '1', 'yes', 'Y', 'ON', 'true', 'T', 'off', 'F', 'no'].map((value): Row => ({
    name: `flag: ${JSON.stringify(value)}`,
    body: { enable_sound_notifications: value },
    ...stored,
  })),
  { name: 'a whole number with a fraction of nothing', body: '{"max_iterations":5.0}', ...stored },
  { name: 'a flag as 1.0', body: '{"enable_sound_notifications":1.0}', ...stored },
  ...[...TEXTS, ...SECRETS, ...FLAGS_OR_NULL, 'max_iterations', 'mcp_config'].map((name): Row => ({
    name: `${name}: null`,
    body: { [name]: null },
    ...stored,
  })),
]

export const settings: Row[] = [...bad, ...fine]
