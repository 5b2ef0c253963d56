/** Parley's answers to questions that the interface document leaves open. */
import { rows } from './requirement.ts'

export const access = rows('Answers: access', [
  ['design.auth.401', 'a missing or wrong key returns 401 and `{"detail":"Unauthorized"}`'],
  ['design.auth.before-body', 'the key is checked before the body is read'],
  ['design.auth.constant-time', 'keys are compared in constant time'],
  ['design.auth.other-user', "another user's object returns 404, like an object that does not exist"],
])

export const secrets = rows('Answers: secrets', [
  ['design.secret.create.201', 'creating a secret returns 201 and a JSON object'],
  ['design.secret.create.409', 'creating a secret with a taken name returns 409, and the message names PUT'],
  ['design.secret.name.pattern', 'a name has letters, digits and underscores and does not begin with a digit'],
  ['design.secret.name.length', 'a name has up to 255 characters'],
  ['design.secret.update.200', 'an update returns 200 and `{"message": …}`'],
  ['design.secret.update.id-is-name', '`secret_id` is the name of the secret'],
  ['design.secret.update.rename', 'renaming keeps the value'],
  ['design.secret.update.404', 'an unknown secret returns 404'],
  ['design.secret.update.value-422', 'a value in the body of an update returns 422'],
  ['design.secret.read.hidden', 'names of secrets are returned, values never'],
])

export const settings = rows('Answers: settings', [
  ['design.settings.200', 'storing settings returns 200 and `{"message": …}`'],
  ['design.settings.omitted', 'an omitted member keeps what is stored'],
  ['design.settings.null', 'an explicit null clears a member'],
  ['design.settings.concurrent', "concurrent writers do not lose each other's members"],
  ['design.settings.read.hidden', 'secret members are never returned, only `*_set` flags'],
])

export const confirmation = rows('Answers: confirmation', [
  ['design.confirm.run-approves', '`run` while an action waits approves the waiting batch'],
  ['design.confirm.record', 'an approval is stored as a separate record'],
  ['design.confirm.message-never', 'a message never approves a waiting action, with or without `run`'],
])

export const start = rows('Answers: starting a conversation', [
  ['design.start.request-time', 'New Conversation answers without waiting for the outside world'],
  ['design.start.422', 'errors that can be detected from the request alone return 422'],
  ['design.start.200-starting', 'every other request returns 200 and STARTING'],
  [
    'design.start.phases',
    'repository, branch, credentials and model are handled in recorded phases with a deadline each',
  ],
  ['design.start.failed-readable', 'a failed start can be read at any time with phase, code and reason'],
  ['design.start.failed-event', 'a failed start is an event of the conversation'],
  ['design.start.failed-stopped', 'after a failed start `conversation_status` is STOPPED'],
  ['design.start.again', 'a failed start can be started again'],
  [
    'design.start.no-model',
    'without a model the conversation exists, and its run ends with a ConversationErrorEvent that explains how to set one',
  ],
  ['design.start.no-model-recovers', 'the next message after a model was set works'],
  ['design.start.local-model', 'a base URL to a local model needs no key'],
  [
    'design.start.wait',
    '`Prefer: wait=N` holds the answer of New Conversation until the start has ended, at most N seconds',
  ],
  [
    'design.message.wait',
    '`Prefer: wait=N` holds the answer of a sent message until the run has finished, at most N seconds',
  ],
  [
    'design.start.two-dialects',
    'a body with workspace, agent, agent_settings or agent_profile_id gets the answer of the agent-server API',
  ],
  [
    'design.start.git_provider.real-names',
    '`github`, `gitlab` and `bitbucket` are accepted as git providers and returned unchanged',
  ],
  [
    'design.analyzer.real-names',
    'GraySwanAnalyzer and ToolShieldLLMSecurityAnalyzer are accepted as analyzers and returned unchanged',
  ],
])

export const ids = rows('Answers: ids', [
  ['design.ids.dashed', 'ids in answers are dashed lower-case UUIDs'],
  ['design.ids.accepted', 'dashed ids, 32 hex digits and any case are accepted'],
  [
    'design.ids.same-request',
    'the same `conversation_id` with the same body and owner returns 200 and is applied once',
  ],
  ['design.ids.other-request', 'the same `conversation_id` with another body or owner returns 409'],
  ['design.ids.deleted', 'the id of a deleted conversation can be used again by the same user; another user gets 409'],
])

export const retries = rows('Answers: retried requests', [
  [
    'design.retry.key',
    'a POST that is sent again with its `Idempotency-Key` is carried out once and gets the same answer',
  ],
  ['design.retry.other-request', 'another request under a used `Idempotency-Key` returns 422'],
])

export const webhooks = rows('Answers: webhooks', [
  ['design.webhook.event-header', '`X-Parley-Event` is conversation.started, paused, resumed or deleted'],
  ['design.webhook.targets', 'notifications go to `{base_url}/conversations` of each configured target'],
  ['design.webhook.events', 'events go in batches to `{base_url}/events/{id}`'],
  ['design.webhook.at-least-once', 'a notification is delivered at least once, until it is acknowledged'],
  ['design.webhook.ordered', 'notifications of a conversation arrive in order'],
  ['design.webhook.retry', 'a failed delivery is retried at growing intervals for up to a day, then parked and listed'],
  ['design.webhook.signed', 'a delivery carries id, timestamp and HMAC signature as Standard Webhooks headers'],
  ['design.webhook.api-key', 'a delivery carries the key of its target in X-Session-API-Key'],
  ['design.webhook.timeout', 'a delivery without an answer within 30 seconds fails'],
  ['design.webhook.receive.header', 'the receiver reads its key from X-Session-API-Key'],
  ['design.webhook.receive.upsert', 'a received conversation replaces the earlier one of the same id'],
  ['design.webhook.receive.unknown-kinds', 'received events of unknown kinds are kept'],
  ['design.webhook.receive.5xx', 'a notification that cannot be stored returns 5xx, so that the sender retries'],
])

export const process = rows('Answers: the process', [
  ['design.config.precedence', 'flags override the environment, the environment overrides the file'],
  ['design.config.oh-names', '`OH_…` names of the agent server with the same meaning are read'],
  ['design.config.print', '`parley config` prints effective values and their origins, secrets hidden'],
  [
    'design.keys.first-start',
    'without a configured key the first start creates one, stores it with mode 0600, and prints a URL and the key, or its file where the output is no terminal',
  ],
  ['design.keys.loopback', 'without a configured key the server listens on loopback only'],
  ['design.keys.without', 'running without keys needs an explicit flag and loopback'],
  [
    'design.version.contract',
    "`/server_info.version` is the agent-server contract, 1.43.1 or later, and Parley's version is a separate member",
  ],
])

export const errors = rows('Answers: errors', [
  ['design.errors.422.format', 'a 422 has the types, locations, messages and contexts that existing clients know'],
  ['design.errors.422.masked', 'secret-like values are masked in `input` of a validation error'],
  ['design.errors.lax', 'scalars are converted leniently: `"5"` is 5, `"yes"` is true, 5 is never `"5"`'],
])
