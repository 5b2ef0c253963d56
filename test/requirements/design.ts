/** Our answers to what the interface document leaves open. */
import { rows } from './requirement.ts'

export const access = rows('Answers: access', [
  ['design.auth.401', 'a missing or wrong key is answered with 401 and `{"detail":"Unauthorized"}`'],
  ['design.auth.before-body', 'the key is checked before the body is looked at'],
  ['design.auth.constant-time', 'keys are compared in constant time'],
  ['design.auth.other-user', "another user's thing is answered like one that does not exist, with 404"],
])

export const secrets = rows('Answers: secrets', [
  ['design.secret.create.201', 'a created secret is answered with 201 and a JSON object'],
  ['design.secret.create.409', 'a second secret of the same name is answered with 409, and the message names PUT'],
  ['design.secret.name.pattern', 'a name has letters, digits and underscores and does not begin with a digit'],
  ['design.secret.name.length', 'a name has up to 255 characters'],
  ['design.secret.update.200', 'an update is answered with 200 and `{"message": …}`'],
  ['design.secret.update.id-is-name', '`secret_id` is the name of the secret'],
  ['design.secret.update.rename', 'renaming keeps the value'],
  ['design.secret.update.404', 'an unknown secret is answered with 404'],
  ['design.secret.update.value-422', 'a value in the body of an update is answered with 422'],
  ['design.secret.read.hidden', 'secret values never come back, their names do'],
])

export const settings = rows('Answers: settings', [
  ['design.settings.200', 'stored settings are answered with 200 and `{"message": …}`'],
  ['design.settings.omitted', 'an omitted member keeps what is stored'],
  ['design.settings.null', 'an explicit null clears a member'],
  ['design.settings.concurrent', 'two writers at once never lose members of each other'],
  ['design.settings.read.hidden', 'secret members never come back, only `*_set` flags'],
])

export const confirmation = rows('Answers: confirmation', [
  ['design.confirm.run-approves', '`run` while an action waits accepts the waiting batch for that key'],
  ['design.confirm.record', 'an approval is stored as a record of its own'],
  ['design.confirm.message-never', 'a message never approves a waiting action, with or without `run`'],
])

export const start = rows('Answers: starting a conversation', [
  ['design.start.request-time', 'New Conversation answers without waiting for the outside world'],
  ['design.start.422', 'what can be known wrong from the request alone is answered with 422'],
  ['design.start.200-starting', 'everything else is answered with 200 and STARTING'],
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
    'without a model the conversation exists, and its run ends with a ConversationErrorEvent that says how to set one',
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
    'a body with workspace, agent, agent_settings or agent_profile_id is answered as the agent server does',
  ],
  [
    'design.start.git_provider.real-names',
    '`github`, `gitlab` and `bitbucket` are taken as git providers, and returned as they came',
  ],
  [
    'design.analyzer.real-names',
    'GraySwanAnalyzer and ToolShieldLLMSecurityAnalyzer are taken as analyzers, and returned as they came',
  ],
])

export const ids = rows('Answers: ids', [
  ['design.ids.dashed', 'ids in answers are dashed lower-case UUIDs'],
  ['design.ids.accepted', 'dashed ids, 32 hex digits and any case are accepted'],
  [
    'design.ids.same-request',
    'the same `conversation_id` with the same body and owner is answered with 200, and nothing happens twice',
  ],
  ['design.ids.other-request', 'the same `conversation_id` with another body or owner is answered with 409'],
])

export const webhooks = rows('Answers: webhooks', [
  ['design.webhook.event-header', '`X-Parley-Event` says conversation.started, paused, resumed or deleted'],
  ['design.webhook.targets', 'notifications go to `{base_url}/conversations` of each configured target'],
  ['design.webhook.events', 'events go in batches to `{base_url}/events/{id}`'],
  ['design.webhook.at-least-once', 'a notification is delivered at least once, until it was acknowledged'],
  ['design.webhook.ordered', 'notifications of a conversation arrive in order'],
  ['design.webhook.retry', 'a failed delivery is tried again with growing pauses up to a day, then parked and listed'],
  ['design.webhook.signed', 'a delivery carries id, timestamp and HMAC signature as Standard Webhooks headers'],
  ['design.webhook.api-key', 'a delivery carries the key of its target in X-Session-API-Key'],
  ['design.webhook.timeout', 'a delivery that is not answered in 30 seconds has failed'],
  ['design.webhook.receive.header', 'the receiver takes its key from X-Session-API-Key'],
  ['design.webhook.receive.upsert', 'a received conversation replaces the earlier one of the same id'],
  ['design.webhook.receive.unknown-kinds', 'received events of unknown kinds are kept'],
  ['design.webhook.receive.5xx', 'what could not be stored is answered with 5xx, so that the sender tries again'],
])

export const process = rows('Answers: the process', [
  ['design.config.precedence', 'flags go before environment, environment before the file'],
  ['design.config.oh-names', 'the `OH_…` names of the agent server that mean the same are understood'],
  ['design.config.print', '`parley config` prints what is in force and where it came from, secrets hidden'],
  [
    'design.keys.first-start',
    'without a configured key the first start makes one, stores it with mode 0600 and prints it once with a URL',
  ],
  ['design.keys.loopback', 'without a configured key the server listens on loopback only'],
  ['design.keys.without', 'running without keys needs an explicit flag and loopback'],
  [
    'design.version.contract',
    '`/server_info.version` is the agent-server contract, 1.43.1 or later, and our own version stands beside it',
  ],
])

export const errors = rows('Answers: errors', [
  ['design.errors.422.format', 'a 422 has the types, locations, messages and contexts that existing clients know'],
  ['design.errors.422.masked', 'secret-like values are masked in `input` of a validation error'],
  ['design.errors.lax', 'scalars are read leniently: `"5"` is 5, `"yes"` is true, 5 is never `"5"`'],
])
