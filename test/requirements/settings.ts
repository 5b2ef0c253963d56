/** The settings record and the records of requests. */
import { rows } from './requirement.ts'

export const settings = rows('Settings record', [
  ['seed.settings.all-optional', 'every member of a settings record may be left out'],
  ['seed.settings.language', '`language` is a string or null'],
  ['seed.settings.agent', '`agent` is a string or null'],
  ['seed.settings.max_iterations', '`max_iterations` is an integer or null'],
  ['seed.settings.security_analyzer', '`security_analyzer` is a string or null'],
  ['seed.settings.confirmation_mode', '`confirmation_mode` is a boolean or null'],
  ['seed.settings.llm_model', '`llm_model` is a string or null'],
  ['seed.settings.llm_api_key', '`llm_api_key` is a password string or null'],
  ['seed.settings.llm_base_url', '`llm_base_url` is a string or null'],
  ['seed.settings.remote_runtime_resource_factor', '`remote_runtime_resource_factor` is an integer or null'],
  ['seed.settings.secrets_store', '`secrets_store` is a UserSecrets object'],
  ['seed.settings.enable_default_condenser.type', '`enable_default_condenser` is a boolean'],
  ['seed.settings.enable_default_condenser.default', '`enable_default_condenser` is true when omitted'],
  ['seed.settings.enable_sound_notifications.type', '`enable_sound_notifications` is a boolean'],
  ['seed.settings.enable_sound_notifications.default', '`enable_sound_notifications` is false when omitted'],
  [
    'seed.settings.enable_proactive_conversation_starters.type',
    '`enable_proactive_conversation_starters` is a boolean',
  ],
  [
    'seed.settings.enable_proactive_conversation_starters.default',
    '`enable_proactive_conversation_starters` is true when omitted',
  ],
  ['seed.settings.enable_solvability_analysis.type', '`enable_solvability_analysis` is a boolean'],
  ['seed.settings.enable_solvability_analysis.default', '`enable_solvability_analysis` is true when omitted'],
  ['seed.settings.user_consents_to_analytics', '`user_consents_to_analytics` is a boolean or null'],
  ['seed.settings.sandbox_base_container_image', '`sandbox_base_container_image` is a string or null'],
  ['seed.settings.sandbox_runtime_container_image', '`sandbox_runtime_container_image` is a string or null'],
  ['seed.settings.mcp_config', '`mcp_config` is an MCPConfig or null'],
  ['seed.settings.search_api_key', '`search_api_key` is a password string or null'],
  ['seed.settings.sandbox_api_key', '`sandbox_api_key` is a password string or null'],
  ['seed.settings.max_budget_per_task', '`max_budget_per_task` is a number or null'],
  ['seed.settings.email', '`email` is a string or null'],
  ['seed.settings.email_verified', '`email_verified` is a boolean or null'],
  ['seed.settings.git_user_name', '`git_user_name` is a string or null'],
  ['seed.settings.git_user_email', '`git_user_email` is a string or null'],
  ['seed.settings.secrets_store.provider_tokens', '`provider_tokens` of UserSecrets is an object'],
  ['seed.settings.secrets_store.custom_secrets', '`custom_secrets` of UserSecrets is an object'],
])

export const mcpConfig = rows('MCPConfig', [
  ['seed.mcp-config.sse_servers', '`sse_servers` is an array of objects with `url` and `api_key`'],
  ['seed.mcp-config.sse_servers.url', '`url` of an SSE server is a string'],
  ['seed.mcp-config.sse_servers.api_key', '`api_key` of an SSE server is a string'],
  ['seed.mcp-config.stdio_servers', '`stdio_servers` is an array of objects that describe how to start a server'],
  ['seed.mcp-config.stdio_servers.name', '`name` of a stdio server is a string'],
  ['seed.mcp-config.stdio_servers.command', '`command` of a stdio server is a string'],
  ['seed.mcp-config.stdio_servers.args', '`args` of a stdio server is an array of strings'],
  ['seed.mcp-config.stdio_servers.env', '`env` of a stdio server is an object'],
  ['seed.mcp-config.stdio_servers.where', "stdio servers run in the conversation's runtime"],
  ['seed.mcp-config.shttp_servers', '`shttp_servers` is an array of objects with `url` and `api_key`'],
  ['seed.mcp-config.shttp_servers.url', '`url` of a streamable HTTP server is a string'],
  ['seed.mcp-config.shttp_servers.api_key', '`api_key` of a streamable HTTP server is a string'],
])

export const requestRecords = rows('Other request records', [
  ['seed.suggested-task.repo', '`repo` of a SuggestedTask is a string'],
  ['seed.suggested-task.issue_number', '`issue_number` of a SuggestedTask is an integer'],
  ['seed.suggested-task.title', '`title` of a SuggestedTask is a string'],
  ['seed.create-microagent.repo', '`repo` of a CreateMicroagent is a string'],
  ['seed.create-microagent.title', '`title` of a CreateMicroagent is a string'],
])

export const secretBodies = rows('Custom secret records', [
  ['seed.secret.create.name', '`name` of a new secret is a string'],
  ['seed.secret.create.value', '`value` of a new secret is a string'],
  ['seed.secret.create.description', '`description` of a new secret is a string'],
  ['seed.secret.update.name', '`name` of an update is a required string'],
  ['seed.secret.update.description', '`description` of an update is a string or null'],
  ['seed.secret.update.no-value', 'an update has no value'],
])
