/** A user's settings in the agent-server API. Source: agent-server-wire.md 1.10. */
import { z } from 'zod'
import { ACPFileSecretSpec, builtInFileSecrets } from './agent.ts'
import { laxBoolean, laxInt, laxNumber } from './lax.ts'
import { text, valueError } from './lax-text.ts'
import { LLM } from './llm.ts'
import { MCPAuth, MCPServers } from './mcp.ts'
import { CondenserSettings, ProfileName, VerificationSettings } from './profiles.ts'
import { AgentContext } from './skills.ts'
import { Tool } from './tool.ts'
import { tagUnion } from './unions.ts'
import { list, map } from './lists.ts'

const maybeText = () => z.string().nullable().default(null)

export const OpenHandsAgentSettings = z.object({
  schema_version: laxInt().default(5),
  agent_kind: z.literal('openhands').default('openhands'),
  agent: z.string().default('CodeActAgent'),
  llm: LLM.prefault({}),
  /** Null: the standard set. */
  tools: list(Tool).nullable().default(null),
  enable_sub_agents: laxBoolean().default(false),
  enable_switch_llm_tool: laxBoolean().default(true),
  tool_concurrency_limit: laxInt({ ge: 1 }).default(1),
  mcp_config: MCPServers.default({}),
  agent_context: AgentContext.prefault({}),
  condenser: CondenserSettings.prefault({}),
  verification: VerificationSettings.prefault({}),
})
export type OpenHandsAgentSettings = z.infer<typeof OpenHandsAgentSettings>

export const ACPAgentSettings = z.object({
  schema_version: laxInt().default(5),
  agent_kind: z.literal('acp').default('acp'),
  acp_server: z.enum(['claude-code', 'codex', 'gemini-cli', 'custom']).default('claude-code'),
  acp_command: list(z.string()).default([]),
  acp_args: list(z.string()).default([]),
  acp_model: maybeText(),
  acp_session_mode: maybeText(),
  /** Seconds. */
  acp_prompt_timeout: laxNumber({ gt: 0 }).default(1800),
  /** Seconds. */
  acp_startup_timeout: laxNumber({ gt: 0 }).default(90),
  mcp_config: MCPServers.default({}),
  acp_isolate_data_dir: laxBoolean().default(false),
  acp_file_secrets: list(ACPFileSecretSpec).default(builtInFileSecrets),
  llm: LLM.prefault({}),
  agent_context: AgentContext.nullable().default(null),
})
export type ACPAgentSettings = z.infer<typeof ACPAgentSettings>

export const AgentSettings = tagUnion('agent_kind', { openhands: OpenHandsAgentSettings, acp: ACPAgentSettings })
/** Settings for running a user's conversations. `agent_kind` is required. */
export type AgentSettings = z.infer<typeof AgentSettings>

export const ConversationSettings = z.object({
  schema_version: laxInt().default(1),
  max_iterations: laxInt({ ge: 1 }).default(500),
  confirmation_mode: laxBoolean().default(false),
  security_analyzer: z.enum(['llm', 'none']).nullable().default('llm'),
})
export type ConversationSettings = z.infer<typeof ConversationSettings>

const diff = () => map(z.unknown()).nullable().optional()

/** Members of an update; an empty update is refused. */
export const SETTINGS_UPDATE_MEMBERS = [
  'agent_settings_diff',
  'conversation_settings_diff',
  'misc_settings_diff',
  'active_profile',
  'active_agent_profile_id',
] as const

export const SettingsUpdateRequest = z.object({
  /** Merged deeply; a null inside removes an entry, a list replaces the list. */
  agent_settings_diff: diff(),
  conversation_settings_diff: diff(),
  /** Stored for clients and not interpreted. */
  misc_settings_diff: diff(),
  /** Null clears the profile; a name also applies that LLM. */
  active_profile: ProfileName.nullable().optional(),
  active_agent_profile_id: text({ pattern: /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/ })
    .nullable()
    .optional(),
})
export type SettingsUpdateRequest = z.infer<typeof SettingsUpdateRequest>

export const SettingsResponse = z.looseObject({
  agent_settings: z.record(z.string(), z.unknown()),
  conversation_settings: z.record(z.string(), z.unknown()),
  llm_api_key_is_set: z.boolean(),
  active_profile: z.string().nullable(),
  active_agent_profile_id: z.string().nullable(),
  misc_settings: z.record(z.string(), z.unknown()),
})
/**
 * Settings in a response. The members of the conversation service are beside these, because both APIs share the path.
 */
export type SettingsResponse = z.infer<typeof SettingsResponse>

const patchOf = <T extends z.ZodType>(schema: T) => schema.nullable().optional()
const patchedMap = () => patchOf(map(z.string().nullable()))

/** Changes to one MCP server; null clears a member or an entry of a map. Closed. */
export const MCPServerPatch = z
  .strictObject({
    url: patchOf(text({ min: 1 })),
    transport: patchOf(z.enum(['stdio', 'http', 'streamable-http', 'sse'])),
    command: patchOf(text({ min: 1 })),
    args: patchOf(list(z.string())),
    env: patchedMap(),
    cwd: patchOf(z.string()),
    description: patchOf(z.string()),
    icon: patchOf(z.string()),
    timeout: patchOf(laxNumber()),
    sse_read_timeout: patchOf(laxNumber()),
    keep_alive: patchOf(laxBoolean()),
    headers: patchedMap(),
    auth: patchOf(MCPAuth),
    enabled: patchOf(laxBoolean()),
  })
  .refine((patch) => Object.keys(patch).length > 0, valueError('name at least one member to change'))
export type MCPServerPatch = z.infer<typeof MCPServerPatch>

export const SettingsField = z.object({
  /** Path inside the settings, with dots. */
  key: z.string(),
  label: z.string(),
  description: z.string().nullable().default(null),
  section: z.string(),
  section_label: z.string(),
  value_type: z.enum(['string', 'integer', 'number', 'boolean', 'array', 'object']),
  default: z.unknown(),
  prominence: z.enum(['critical', 'major', 'minor']).default('minor'),
  /** Keys of fields without which this one has no effect. */
  depends_on: z.array(z.string()).default([]),
  secret: z.boolean().default(false),
  choices: z.array(z.object({ value: z.union([z.boolean(), z.number(), z.string()]), label: z.string() })).default([]),
  /** The `agent_kind` that has the field; null: every one. */
  variant: z.string().nullable().default(null),
})
export type SettingsField = z.infer<typeof SettingsField>

export const SettingsSchema = z.object({
  model_name: z.string(),
  sections: z.array(
    z.object({
      key: z.string(),
      label: z.string(),
      variant: z.string().nullable().optional(),
      fields: z.array(SettingsField),
    }),
  ),
})
/** Schema of the settings, for a form. */
export type SettingsSchema = z.infer<typeof SettingsSchema>
