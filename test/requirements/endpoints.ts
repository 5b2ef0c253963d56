/** The five endpoints. */
import { rows } from './requirement.ts'

export const common = rows('Endpoints', [
  ['seed.endpoint.json', 'all bodies are JSON with content type application/json'],
  ['seed.endpoint.base', 'all paths are relative to one base address'],
])

export const webhook = rows('POST /api/v1/webhooks/conversations', [
  ['seed.endpoint.webhook.route', 'POST /api/v1/webhooks/conversations exists'],
  ['seed.endpoint.webhook.auth', 'the webhook receiver is guarded by the scheme named APIKeyHeader'],
  [
    'seed.endpoint.webhook.purpose',
    'it receives notifications when a conversation starts, pauses, resumes or is deleted',
  ],
  ['seed.endpoint.webhook.body-required', 'a request without a body is refused with 422'],
  ['seed.endpoint.webhook.body', 'the body is a ConversationInfo'],
  ['seed.endpoint.webhook.agent-native', 'a payload whose agent is native is accepted'],
  ['seed.endpoint.webhook.agent-acp', 'a payload whose agent is an ACP agent is accepted by the same endpoint'],
  ['seed.endpoint.webhook.ok', 'the answer is 200 with a boolean `success`, true by default'],
  ['seed.endpoint.webhook.invalid', 'an invalid body returns 422 and HTTPValidationError'],
])

export const newConversation = rows('POST /api/conversations', [
  ['seed.endpoint.new-conversation.route', 'POST /api/conversations exists'],
  ['seed.endpoint.new-conversation.auth', 'it reads the key from X-Session-API-Key'],
  ['seed.endpoint.new-conversation.repository', '`repository` is a string or null'],
  ['seed.endpoint.new-conversation.git_provider.type', '`git_provider` is a string of a closed list or null'],
  ['seed.endpoint.new-conversation.git_provider.git_host_1', '`git_host_1` is a git provider'],
  ['seed.endpoint.new-conversation.git_provider.git_host_2', '`git_host_2` is a git provider'],
  ['seed.endpoint.new-conversation.git_provider.git_host_3', '`git_host_3` is a git provider'],
  ['seed.endpoint.new-conversation.git_provider.enterprise_sso', '`enterprise_sso` is a git provider'],
  ['seed.endpoint.new-conversation.selected_branch', '`selected_branch` is a string or null'],
  ['seed.endpoint.new-conversation.initial_user_msg', '`initial_user_msg` is a string or null'],
  ['seed.endpoint.new-conversation.image_urls', '`image_urls` is an array of strings or null'],
  ['seed.endpoint.new-conversation.replay_json', '`replay_json` is a string or null'],
  ['seed.endpoint.new-conversation.suggested_task', '`suggested_task` is a SuggestedTask or null'],
  ['seed.endpoint.new-conversation.create_microagent', '`create_microagent` is a CreateMicroagent or null'],
  ['seed.endpoint.new-conversation.conversation_instructions', '`conversation_instructions` is a string or null'],
  ['seed.endpoint.new-conversation.mcp_config', '`mcp_config` is an MCPConfig or null'],
  ['seed.endpoint.new-conversation.conversation_id', '`conversation_id` is an optional string'],
  [
    'seed.endpoint.new-conversation.conversation_id.used',
    'a given `conversation_id` becomes the id of the conversation',
  ],
  ['seed.endpoint.new-conversation.ok.200', 'success returns 200'],
  ['seed.endpoint.new-conversation.ok.status', '`status` of the answer is a required string'],
  ['seed.endpoint.new-conversation.ok.conversation_id', '`conversation_id` of the answer is a required string'],
  ['seed.endpoint.new-conversation.ok.message', '`message` of the answer is an optional string or null'],
  [
    'seed.endpoint.new-conversation.ok.conversation_status',
    '`conversation_status` of the answer is STARTING, RUNNING, STOPPED or null, and optional',
  ],
  ['seed.endpoint.new-conversation.invalid', 'an invalid body returns 422 and HTTPValidationError'],
])

export const storeSettings = rows('POST /api/settings', [
  ['seed.endpoint.settings.route', 'POST /api/settings exists'],
  ['seed.endpoint.settings.auth', 'it reads the key from X-Session-API-Key'],
  ['seed.endpoint.settings.body', 'the body is a settings record'],
  ['seed.endpoint.settings.ok', 'success returns 200 and a JSON object'],
  ['seed.endpoint.settings.stored', 'stored settings apply to the user afterwards'],
  ['seed.endpoint.settings.invalid', 'an invalid body returns 422 and HTTPValidationError'],
])

export const createSecret = rows('POST /api/secrets', [
  ['seed.endpoint.secret-create.route', 'POST /api/secrets exists'],
  ['seed.endpoint.secret-create.auth', 'it reads the key from X-Session-API-Key'],
  ['seed.endpoint.secret-create.body', 'the body has name, value and description'],
  ['seed.endpoint.secret-create.ok', 'success returns a JSON object'],
  ['seed.endpoint.secret-create.invalid', 'an invalid body returns 422 and HTTPValidationError'],
])

export const updateSecret = rows('PUT /api/secrets/{secret_id}', [
  ['seed.endpoint.secret-update.route', 'PUT /api/secrets/{secret_id} exists'],
  ['seed.endpoint.secret-update.auth', 'it reads the key from X-Session-API-Key'],
  ['seed.endpoint.secret-update.path', '`secret_id` in the path is a required string'],
  ['seed.endpoint.secret-update.body', 'the body has a required name and an optional description'],
  ['seed.endpoint.secret-update.no-value', 'the value cannot be sent'],
  ['seed.endpoint.secret-update.ok', 'success returns 200 and an object of strings'],
  ['seed.endpoint.secret-update.invalid', 'an invalid body returns 422 and HTTPValidationError'],
])
