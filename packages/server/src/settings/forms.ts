/** Fields of a form for settings; each default is read from the schema. Source: agent-server-wire.md 1.10. */
import {
  ACPAgentSettings,
  ConversationSettings,
  OpenHandsAgentSettings,
  type SettingsField,
  type SettingsSchema,
} from '@parley/protocol'
import type { Json, JsonObject } from '../secrets/index.ts'
import { isObject } from './merge.ts'
import { asJson } from './stored.ts'

type Type = SettingsField['value_type']
type Extra = Partial<Pick<SettingsField, 'description' | 'prominence' | 'depends_on' | 'secret' | 'choices'>>
type Row = readonly [key: string, label: string, type: Type, extra?: Extra]
type Section = { key: string; label: string; variant?: string; rows: readonly Row[] }

const choices = (...values: string[]) => ({ choices: values.map((value) => ({ value, label: value })) })
const critical = { prominence: 'critical' } as const
const major = { prominence: 'major' } as const
const secret = { secret: true } as const
const needs = (...depends_on: string[]) => ({ depends_on })

const AGENT: readonly Section[] = [
  {
    key: 'general',
    label: 'General',
    variant: 'openhands',
    rows: [
      ['agent', 'Agent', 'string'],
      ['tools', 'Tools', 'array', { description: 'Null: the standard set.' }],
      ['enable_sub_agents', 'Sub-agents', 'boolean'],
      ['enable_switch_llm_tool', 'Let the agent switch models', 'boolean'],
      ['tool_concurrency_limit', 'Tool calls at once', 'integer'],
    ],
  },
  {
    key: 'llm',
    label: 'Model',
    rows: [
      ['llm.model', 'Model', 'string', { ...critical, description: 'Name with the provider as prefix.' }],
      ['llm.api_key', 'API key', 'string', { ...critical, ...secret }],
      ['llm.base_url', 'Base URL', 'string', major],
      ['llm.temperature', 'Temperature', 'number'],
      ['llm.top_p', 'Top P', 'number'],
      ['llm.max_input_tokens', 'Input limit in tokens', 'integer'],
      ['llm.max_output_tokens', 'Output limit in tokens', 'integer'],
      ['llm.reasoning_effort', 'Reasoning effort', 'string', choices('none', 'low', 'medium', 'high', 'xhigh')],
      ['llm.timeout', 'Time limit of one request in seconds', 'integer'],
      ['llm.num_retries', 'Retries', 'integer'],
    ],
  },
  {
    key: 'condenser',
    label: 'Condenser',
    variant: 'openhands',
    rows: [
      ['condenser.enabled', 'Shorten long conversations', 'boolean', critical],
      ['condenser.max_size', 'Events before it shortens', 'integer', needs('condenser.enabled')],
      ['condenser.max_tokens', 'Tokens before it shortens', 'integer', needs('condenser.enabled')],
      ['condenser.keep_first', 'Events at the start that stay', 'integer', needs('condenser.enabled')],
    ],
  },
  {
    key: 'verification',
    label: 'Verification',
    variant: 'openhands',
    rows: [
      ['verification.critic_enabled', 'Critic', 'boolean', critical],
      [
        'verification.critic_mode',
        'When it judges',
        'string',
        { ...needs('verification.critic_enabled'), ...choices('finish_and_message', 'all_actions') },
      ],
      [
        'verification.enable_iterative_refinement',
        'Try again when it finds fault',
        'boolean',
        needs('verification.critic_enabled'),
      ],
      [
        'verification.critic_threshold',
        'Score that is good enough',
        'number',
        needs('verification.critic_enabled', 'verification.enable_iterative_refinement'),
      ],
      [
        'verification.max_refinement_iterations',
        'Most tries',
        'integer',
        needs('verification.critic_enabled', 'verification.enable_iterative_refinement'),
      ],
      ['verification.critic_server_url', 'Address of the critic', 'string', needs('verification.critic_enabled')],
      ['verification.critic_model_name', 'Model of the critic', 'string', needs('verification.critic_enabled')],
      [
        'verification.critic_api_key',
        'Key of the critic',
        'string',
        { ...secret, ...needs('verification.critic_enabled') },
      ],
    ],
  },
  {
    key: 'acp',
    label: 'ACP agent',
    variant: 'acp',
    rows: [
      ['acp_server', 'Agent', 'string', { ...critical, ...choices('claude-code', 'codex', 'gemini-cli', 'custom') }],
      ['acp_command', 'Command', 'array', major],
      ['acp_args', 'Arguments', 'array'],
      ['acp_model', 'Model', 'string', major],
      ['acp_session_mode', 'Session mode', 'string'],
      ['acp_prompt_timeout', 'Longest silence of a prompt in seconds', 'number'],
      ['acp_startup_timeout', 'Time to start in seconds', 'number'],
      ['acp_isolate_data_dir', 'A data directory per conversation', 'boolean'],
    ],
  },
  { key: 'mcp_config', label: 'MCP servers', rows: [['mcp_config', 'Servers', 'object']] },
]

const CONVERSATION: readonly Section[] = [
  { key: 'general', label: 'General', rows: [['max_iterations', 'Iterations of one run', 'integer', major]] },
  {
    key: 'verification',
    label: 'Verification',
    rows: [
      ['confirmation_mode', 'Ask before risky actions', 'boolean', major],
      [
        'security_analyzer',
        'Who judges the risk',
        'string',
        { ...major, ...needs('confirmation_mode'), ...choices('llm', 'none') },
      ],
    ],
  },
]

function form(model_name: string, sections: readonly Section[], defaults: JsonObject): SettingsSchema {
  return {
    model_name,
    sections: sections.map(({ key, label, variant = null, rows }) => ({
      key,
      label,
      variant,
      fields: rows.map(([path, name, value_type, extra = {}]) => ({
        key: path,
        label: name,
        description: null,
        section: key,
        section_label: label,
        value_type,
        default: valueAt(defaults, path),
        prominence: 'minor',
        depends_on: [],
        secret: false,
        choices: [],
        variant,
        ...extra,
      })),
    })),
  }
}

function valueAt(object: JsonObject, path: string): Json {
  let value: Json | undefined = object
  for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined
  return value ?? null
}

export const agentForm = (): SettingsSchema =>
  form('AgentSettings', AGENT, asJson({ ...ACPAgentSettings.parse({}), ...OpenHandsAgentSettings.parse({}) }))

export const conversationForm = (): SettingsSchema =>
  form('ConversationSettings', CONVERSATION, asJson(ConversationSettings.parse({})))
