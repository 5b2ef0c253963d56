/** A user's settings. Source: interface.md, Settings record. */
import { z } from 'zod'
import { laxBoolean, laxInt, laxNumber } from './lax.ts'
import { MCPConfig } from './mcp-config.ts'
import { SecretName, SecretValue } from './secrets.ts'
import { map } from './lists.ts'

const text = () => z.string().nullable().optional()
const password = () => z.string().meta({ format: 'password' }).nullable().optional()
const integer = () => laxInt().nullable().optional()
const flag = () => laxBoolean().nullable().optional()

const ProviderToken = z.union([
  z.string(),
  z.looseObject({ token: z.string().nullable().optional(), host: z.string().nullable().optional() }),
])
const CustomSecret = z.union([
  SecretValue,
  z.looseObject({
    secret: SecretValue.optional(),
    value: SecretValue.optional(),
    description: z.string().nullable().optional(),
  }),
])

export const UserSecrets = z.object({
  /** By git host, in either spelling: a token, or token and host. Null deletes one. */
  provider_tokens: map(ProviderToken.nullable()).optional(),
  /** By name: a value, or value and description. Null deletes one. */
  custom_secrets: map(CustomSecret.nullable(), { key: SecretName }).optional(),
})
export type UserSecrets = z.infer<typeof UserSecrets>

export const Settings = z.object({
  language: text(),
  agent: text(),
  max_iterations: laxInt({ gt: 0 }).nullable().optional(),
  security_analyzer: text(),
  confirmation_mode: flag(),
  /** The lowest risk that needs an approval in `confirmation_mode`. Parley's own; see docs/settings.md. */
  confirmation_threshold: z.enum(['LOW', 'MEDIUM', 'HIGH']).nullable().optional(),
  llm_model: text(),
  llm_api_key: password(),
  llm_base_url: text(),
  remote_runtime_resource_factor: integer(),
  secrets_store: UserSecrets.optional(),
  enable_default_condenser: laxBoolean().optional(),
  enable_sound_notifications: laxBoolean().optional(),
  enable_proactive_conversation_starters: laxBoolean().optional(),
  enable_solvability_analysis: laxBoolean().optional(),
  user_consents_to_analytics: flag(),
  sandbox_base_container_image: text(),
  sandbox_runtime_container_image: text(),
  mcp_config: MCPConfig.nullable().optional(),
  search_api_key: password(),
  sandbox_api_key: password(),
  /** US dollars. */
  max_budget_per_task: laxNumber({ gt: 0 }).nullable().optional(),
  email: text(),
  email_verified: flag(),
  git_user_name: text(),
  git_user_email: text(),
})
/**
 * Body of Store Settings. An absent member keeps the stored value and null clears it, so no default is filled in here;
 * the defaults are `SettingsDefaults`.
 */
export type Settings = z.infer<typeof Settings>
export type SettingsInput = z.input<typeof Settings>

/** Values for a user who never stored a member; members that are not listed are null. */
export const SettingsDefaults = {
  enable_default_condenser: true,
  enable_sound_notifications: false,
  enable_proactive_conversation_starters: true,
  enable_solvability_analysis: true,
} as const satisfies Settings

/** Secret members of Settings: they are never returned. */
export const SETTINGS_SECRETS = ['llm_api_key', 'search_api_key', 'sandbox_api_key'] as const
