/**
 * Records that a user saves under a name: models, agents, credentials of model providers. Source: agent-server-wire.md
 * 1.11 to 1.13.
 */
import { z } from 'zod'
import { isRecord } from './is-record.ts'
import { laxBoolean, laxInt, laxNumber } from './lax.ts'
import { laxUuid, nonBlank, secretText, text, valueError } from './lax-text.ts'
import { LLM } from './llm.ts'
import { Tool } from './tool.ts'
import { tagUnion } from './unions.ts'
import { list } from './lists.ts'

/** A legal name of an LLM or agent profile. Source: agent-server-wire.md 1.11. */
export const ProfileName = text({ pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/ })

const maybeText = () => z.string().nullable().default(null)

export const CondenserSettings = z.object({
  enabled: laxBoolean().default(true),
  /** `no_op` never condenses, as `enabled: false`. */
  condenser_kind: z.enum(['llm_summarizing', 'no_op']).default('llm_summarizing'),
  max_size: laxInt({ ge: 20 }).default(240),
  max_tokens: laxInt().nullable().default(null),
  keep_first: laxInt({ ge: 0 }).default(2),
  minimum_progress: laxNumber({ gt: 0, lt: 1 }).default(0.1),
  hard_context_reset_max_retries: laxInt({ gt: 0 }).default(5),
  hard_context_reset_context_scaling: laxNumber({ gt: 0, lt: 1 }).default(0.8),
})
export type CondenserSettings = z.infer<typeof CondenserSettings>

const verificationFields = {
  critic_enabled: laxBoolean().default(false),
  critic_mode: z.enum(['finish_and_message', 'all_actions']).default('finish_and_message'),
  enable_iterative_refinement: laxBoolean().default(false),
  critic_threshold: laxNumber({ ge: 0, le: 1 }).default(0.6),
  max_refinement_iterations: laxInt({ ge: 1 }).default(3),
  critic_server_url: maybeText(),
  critic_model_name: maybeText(),
}
export const VerificationProfile = z.object(verificationFields)
export const VerificationSettings = z.object({ ...verificationFields, critic_api_key: secretText() })
export type VerificationSettings = z.infer<typeof VerificationSettings>

const profileFields = {
  schema_version: laxInt().default(2),
  id: laxUuid(),
  name: ProfileName,
  /** Incremented by the server on every save. */
  revision: laxInt({ ge: 0 }).default(0),
  /** Null: all configured servers; a list: only those. */
  mcp_server_refs: list(z.string()).nullable().default(null),
}

export const OpenHandsAgentProfile = z.strictObject({
  agent_kind: z.literal('openhands').default('openhands'),
  ...profileFields,
  llm_profile_ref: z.string(),
  agent: z.string().default('CodeActAgent'),
  /** Null: the standard set. */
  tools: list(Tool).nullable().default(null),
  system_message_suffix: maybeText(),
  disabled_skills: list(z.string()).default([]),
  condenser: CondenserSettings.prefault({}),
  verification: VerificationProfile.prefault({}),
  enable_sub_agents: laxBoolean().default(false),
  enable_switch_llm_tool: laxBoolean().default(true),
  tool_concurrency_limit: laxInt({ ge: 1 }).default(1),
})
export type OpenHandsAgentProfile = z.infer<typeof OpenHandsAgentProfile>

export const ACPAgentProfile = z.strictObject({
  agent_kind: z.literal('acp').default('acp'),
  ...profileFields,
  acp_server: z.string().default('claude-code'),
  acp_model: maybeText(),
  acp_session_mode: maybeText(),
  /** Seconds. */
  acp_prompt_timeout: laxNumber({ gt: 0 }).default(1800),
  /** Seconds. */
  acp_startup_timeout: laxNumber({ gt: 0 }).default(90),
  acp_command: maybeText(),
  acp_args: list(z.string()).nullable().default(null),
})
export type ACPAgentProfile = z.infer<typeof ACPAgentProfile>

const TaggedProfile = tagUnion('agent_kind', { openhands: OpenHandsAgentProfile, acp: ACPAgentProfile })

/** The default `agent_kind` is the native agent. */
export const AgentProfile = z.preprocess((value) => {
  return isRecord(value) && !('agent_kind' in value) ? { ...value, agent_kind: 'openhands' } : value
}, TaggedProfile) as unknown as typeof TaggedProfile
export type AgentProfile = z.infer<typeof AgentProfile>

const NO_ID = '00000000-0000-0000-0000-000000000000'

/** A profile to be saved: its name comes from the path, its id and revision from the stored profile. */
export const SavedAgentProfile = z.preprocess((value) => {
  if (!isRecord(value)) return value
  const agent_kind = 'agent_kind' in value ? value.agent_kind : 'openhands'
  return { ...value, agent_kind, id: NO_ID, name: 'unnamed', revision: 0 }
}, TaggedProfile) as unknown as z.ZodType<AgentProfile, Record<string, unknown>>

export const AgentProfileInfo = z.object({
  id: z.string(),
  name: z.string(),
  agent_kind: z.enum(['openhands', 'acp']),
  revision: z.int(),
  llm_profile_ref: z.string().nullable(),
  mcp_server_refs: z.array(z.string()).nullable(),
})
export type AgentProfileInfo = z.infer<typeof AgentProfileInfo>

const names = () => z.array(z.string()).default([])

export const AgentProfileDiagnostics = z.object({
  agent_kind: z.string(),
  valid: z.boolean().default(false),
  errors: names(),
  llm_profile_ref: z.string().nullable().default(null),
  llm_profile_resolved: z.boolean().default(false),
  llm_api_key_set: z.boolean().default(false),
  mcp_server_refs: list(z.string()).nullable().default(null),
  resolved_mcp_config_keys: names(),
  dangling_mcp_server_refs: names(),
  disabled_skills: names(),
  resolved_skills: names(),
  acp_api_key_secret_name: z.string().nullable().default(null),
  acp_base_url_secret_name: z.string().nullable().default(null),
  acp_file_secret_names: names(),
  resolved_settings: z.record(z.string(), z.unknown()).nullable().default(null),
})
/** Result of resolving an agent profile for a new conversation. */
export type AgentProfileDiagnostics = z.infer<typeof AgentProfileDiagnostics>

export const ProfileInfo = z.object({
  name: z.string(),
  model: z.string().nullable(),
  base_url: z.string().nullable(),
  provider_connection_id: z.string().nullable(),
  /** The profile names a connection that does not exist. */
  provider_connection_broken: z.boolean(),
  api_key_set: z.boolean(),
})
export type ProfileInfo = z.infer<typeof ProfileInfo>

/** A secret that may be masked; the mask keeps the stored value. */
const keptSecret = () => z.string().meta({ format: 'password' }).nullable().default(null)

export const SaveProfileRequest = z.object({
  llm: LLM.extend({
    api_key: keptSecret(),
    aws_access_key_id: keptSecret(),
    aws_secret_access_key: keptSecret(),
    aws_session_token: keptSecret(),
  }),
  include_secrets: laxBoolean().default(true),
})
export type SaveProfileRequest = z.infer<typeof SaveProfileRequest>

const connectionFields = {
  display_name: text({ min: 1, max: 128 }),
  provider: text({ min: 1, max: 128 }),
  base_url: text({ max: 2048 }).nullable(),
}

export const ProviderConnectionCreateRequest = z.strictObject({
  display_name: connectionFields.display_name,
  provider: connectionFields.provider.default('custom'),
  api_key: nonBlank().meta({ format: 'password' }),
  base_url: connectionFields.base_url.default(null),
})
export type ProviderConnectionCreateRequest = z.infer<typeof ProviderConnectionCreateRequest>

export const ProviderConnectionUpdateRequest = z
  .strictObject({
    display_name: connectionFields.display_name.optional(),
    provider: connectionFields.provider.optional(),
    api_key: z.string().meta({ format: 'password' }).nullable().optional(),
    base_url: connectionFields.base_url.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, valueError('name at least one member to change'))
  .refine(
    ({ api_key }) => api_key === undefined || (api_key !== null && api_key.trim() !== ''),
    valueError('api_key cannot be cleared; leave it out to keep it, or delete the connection'),
  )
export type ProviderConnectionUpdateRequest = z.infer<typeof ProviderConnectionUpdateRequest>

export const ProviderConnectionResponse = z.object({
  id: z.string(),
  display_name: z.string(),
  provider: z.string(),
  base_url: z.string().nullable(),
  /** Epoch seconds. */
  created_at: z.int(),
  updated_at: z.int(),
  api_key_set: z.boolean(),
})
/** A key and a base URL that several profiles share; the key is never returned. */
export type ProviderConnectionResponse = z.infer<typeof ProviderConnectionResponse>
