/** Purpose of the service, states, authentication, events, errors and versioning. */
import { rows } from './requirement.ts'

export const purpose = rows('What the service does', [
  ['seed.service.conversation', 'runs a conversation between a user and an autonomous software-engineering agent'],
  ['seed.service.agent-commands', 'the agent executes commands in its workspace'],
  ['seed.service.agent-files', 'the agent reads and writes files in its workspace'],
  [
    'seed.service.create-optional',
    'a conversation can be created with or without repository, branch and first message',
  ],
  ['seed.service.settings-per-user', 'settings are stored for each user separately'],
  ['seed.service.secrets-per-user', 'custom secrets are stored for each user separately'],
  ['seed.service.webhook-started', 'a conversation that starts causes a webhook with its full conversation info'],
  ['seed.service.webhook-paused', 'a conversation that pauses causes a webhook with its full conversation info'],
  ['seed.service.webhook-resumed', 'a conversation that resumes causes a webhook with its full conversation info'],
  ['seed.service.webhook-deleted', 'a conversation that is deleted causes a webhook with its full conversation info'],
  [
    'seed.service.info-describes',
    'conversation info tells workspace, agent, status, policy, analyzer, hooks, skills, metrics, tags, forks, parents, models and client tools',
  ],
  ['seed.service.union-kind', 'every object of a union carries a string `kind` that selects its variant'],
  ['seed.service.omitted-default', 'a field that a caller omits takes its stated default'],
])

export const executionStatus = rows('States: execution status', [
  ['seed.execution-status.idle', '`idle` is an execution status and the default'],
  ['seed.execution-status.running', '`running` is an execution status'],
  ['seed.execution-status.paused', '`paused` is an execution status'],
  ['seed.execution-status.waiting_for_confirmation', '`waiting_for_confirmation` is an execution status'],
  ['seed.execution-status.finished', '`finished` is an execution status'],
  ['seed.execution-status.error', '`error` is an execution status'],
  ['seed.execution-status.stuck', '`stuck` is an execution status'],
  ['seed.execution-status.deleting', '`deleting` is an execution status'],
  ['seed.execution-status.closed', 'no other string is an execution status'],
])

export const conversationStatus = rows('States: conversation status', [
  ['seed.conversation-status.starting', 'New Conversation can answer `STARTING`'],
  ['seed.conversation-status.running', 'New Conversation can answer `RUNNING`'],
  ['seed.conversation-status.stopped', 'New Conversation can answer `STOPPED`'],
])

export const authentication = rows('Authentication', [
  ['seed.auth.header', 'the key of a request is the value of its `X-Session-API-Key` header'],
  ['seed.auth.new-conversation', 'New Conversation without a valid key is an authentication failure'],
  ['seed.auth.settings', 'Store Settings without a valid key is an authentication failure'],
  ['seed.auth.secret-create', 'Create Custom Secret without a valid key is an authentication failure'],
  ['seed.auth.secret-update', 'Update Custom Secret without a valid key is an authentication failure'],
  ['seed.auth.webhook', 'the webhook receiver is secured by an API key header, described as scheme `APIKeyHeader`'],
  ['seed.auth.remote-workspace', '`RemoteWorkspace.api_key` authenticates the service to the remote host'],
  ['seed.auth.callback-bearer', 'the completion callback of a remote workspace sends its key as a bearer token'],
  ['seed.auth.vendor-key-write-only', "the vendor analyzer's `api_key` is accepted but never returned"],
  ['seed.auth.llm_api_key-hidden', '`llm_api_key` is described as a password and hidden on output'],
  ['seed.auth.search_api_key-hidden', '`search_api_key` is described as a password and hidden on output'],
  ['seed.auth.sandbox_api_key-hidden', '`sandbox_api_key` is described as a password and hidden on output'],
  ['seed.auth.acp_resume_session_id-redacted', '`acp_resume_session_id` is redacted in default serialization'],
])

export const events = rows('Events', [
  [
    'seed.events.only-notification',
    'the conversation-update webhook is the only outgoing notification of the conversation service',
  ],
  ['seed.events.webhook-request', 'a notification is an HTTP POST whose body is a ConversationInfo'],
  ['seed.events.webhook-answer', 'a receiver answers a notification with 200 and `{"success": true}`'],
  ['seed.events.log-entries', 'action and message events exist as entries of the event log of a conversation'],
  ['seed.events.referenced-by-id', 'events are referenced by id, and the newest of the branch by `leaf_event_id`'],
])

export const errors = rows('Errors', [
  ['seed.errors.422', 'a body or parameter that fails validation returns 422'],
  ['seed.errors.detail', 'the body of a 422 is an object whose `detail` is an array of validation errors'],
  ['seed.errors.loc', '`loc` of a validation error is required and an array of strings and integers'],
  ['seed.errors.msg', '`msg` of a validation error is a required string'],
  ['seed.errors.type', '`type` of a validation error is a required string'],
  ['seed.errors.input', '`input` of a validation error may hold any value'],
  ['seed.errors.ctx', '`ctx` of a validation error may hold an object'],
  ['seed.errors.declared-new-conversation', 'New Conversation declares 422 in the API description'],
  ['seed.errors.declared-settings', 'Store Settings declares 422 in the API description'],
  ['seed.errors.declared-secret-create', 'Create Custom Secret declares 422 in the API description'],
  ['seed.errors.declared-secret-update', 'Update Custom Secret declares 422 in the API description'],
  ['seed.errors.declared-webhook', 'the webhook receiver declares 422 in the API description'],
])

export const versioning = rows('Versioning', [
  [
    'seed.versioning.webhook-description',
    'the machine-readable description of the webhook endpoint declares version 0.0.1',
  ],
  ['seed.versioning.webhook-path', 'the path of the webhook receiver carries the version segment `v1`'],
  ['seed.versioning.other-paths', 'the paths of the other four endpoints carry no version segment'],
])
