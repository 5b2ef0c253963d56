/** ConversationInfo, the record that a webhook carries. */
import { rows } from './requirement.ts'

export const conversationInfo = rows('ConversationInfo', [
  ['seed.conversation-info.id.required', '`id` is required'],
  ['seed.conversation-info.id.type', '`id` is a string that holds a UUID'],
  ['seed.conversation-info.workspace.required', '`workspace` is required'],
  ['seed.conversation-info.workspace.type', '`workspace` is one of the workspace variants'],
  [
    'seed.conversation-info.workspace.meaning',
    '`workspace` is where the agent works, not the working directory of the process',
  ],
  ['seed.conversation-info.agent.required', '`agent` is required'],
  ['seed.conversation-info.agent.type', '`agent` is one of the two kinds of agent'],
  ['seed.conversation-info.persistence_dir.type', '`persistence_dir` is a string or null'],
  ['seed.conversation-info.persistence_dir.default', '`persistence_dir` is `workspace/conversations` when omitted'],
  [
    'seed.conversation-info.persistence_dir.null',
    'a null `persistence_dir` means that the conversation is not persisted',
  ],
  ['seed.conversation-info.persistence_dir.meaning', 'state and events persist in `persistence_dir`'],
  ['seed.conversation-info.max_iterations.type', '`max_iterations` is an integer'],
  ['seed.conversation-info.max_iterations.minimum', '`max_iterations` of 0 or less is refused'],
  ['seed.conversation-info.max_iterations.default', '`max_iterations` is 500 when omitted'],
  ['seed.conversation-info.max_iterations.meaning', '`max_iterations` bounds the iterations of a single run'],
  ['seed.conversation-info.stuck_detection.type', '`stuck_detection` is a boolean'],
  ['seed.conversation-info.stuck_detection.default', '`stuck_detection` is true when omitted'],
  [
    'seed.conversation-info.stuck_detection.meaning',
    '`stuck_detection` switches the detection of repeating patterns on and off',
  ],
  ['seed.conversation-info.execution_status.type', '`execution_status` is one of the execution statuses'],
  ['seed.conversation-info.execution_status.default', '`execution_status` is `idle` when omitted'],
  ['seed.conversation-info.execution_status.meaning', '`execution_status` tells the present state of execution'],
  ['seed.conversation-info.confirmation_policy.type', '`confirmation_policy` is one of the confirmation policies'],
  ['seed.conversation-info.confirmation_policy.default', '`confirmation_policy` is NeverConfirm when omitted'],
  [
    'seed.conversation-info.confirmation_policy.meaning',
    '`confirmation_policy` decides which actions wait for a person',
  ],
  ['seed.conversation-info.security_analyzer.type', '`security_analyzer` is one of the analyzers or null'],
  ['seed.conversation-info.security_analyzer.meaning', '`security_analyzer` evaluates the risk of actions'],
  ['seed.conversation-info.activated_knowledge_skills.type', '`activated_knowledge_skills` is an array of strings'],
  [
    'seed.conversation-info.activated_knowledge_skills.meaning',
    '`activated_knowledge_skills` names the knowledge skills that were activated',
  ],
  ['seed.conversation-info.invoked_skills.type', '`invoked_skills` is an array of strings'],
  [
    'seed.conversation-info.invoked_skills.meaning',
    '`invoked_skills` names the skills that the `invoke_skill` tool was called for',
  ],
  ['seed.conversation-info.blocked_actions.type', '`blocked_actions` maps strings to strings'],
  [
    'seed.conversation-info.blocked_actions.meaning',
    '`blocked_actions` holds what PreToolUse hooks blocked, by action id',
  ],
  ['seed.conversation-info.blocked_messages.type', '`blocked_messages` maps strings to strings'],
  [
    'seed.conversation-info.blocked_messages.meaning',
    '`blocked_messages` holds what UserPromptSubmit hooks blocked, by message id',
  ],
  ['seed.conversation-info.last_user_message_id.type', '`last_user_message_id` is a string or null'],
  [
    'seed.conversation-info.last_user_message_id.meaning',
    '`last_user_message_id` is the id of the newest user message event',
  ],
  [
    'seed.conversation-info.last_user_message_id.null',
    'with a null `last_user_message_id` the checks for hook-blocked messages are left out',
  ],
  ['seed.conversation-info.leaf_event_id.type', '`leaf_event_id` is a string or null'],
  ['seed.conversation-info.leaf_event_id.parent', 'the next appended event gets `leaf_event_id` as its parent'],
  ['seed.conversation-info.leaf_event_id.null', '`leaf_event_id` is null while the tree is empty'],
  ['seed.conversation-info.leaf_event_id.navigate', 'navigating moves `leaf_event_id` and with it the active branch'],
  ['seed.conversation-info.stats.type', '`stats` is a ConversationStats'],
  ['seed.conversation-info.stats.meaning', '`stats` holds the usage of each LLM'],
  ['seed.conversation-info.secret_registry.type', '`secret_registry` is a SecretRegistry'],
  ['seed.conversation-info.agent_state.type', '`agent_state` is a free-form object'],
  ['seed.conversation-info.agent_state.meaning', '`agent_state` persists what an agent keeps between iterations'],
  ['seed.conversation-info.hook_config.type', '`hook_config` is a HookConfig or null'],
  ['seed.conversation-info.title.type', '`title` is a string or null'],
  ['seed.conversation-info.title.meaning', '`title` is what the user named the conversation'],
  ['seed.conversation-info.metrics.type', '`metrics` is a MetricsSnapshot or null'],
  ['seed.conversation-info.created_at.type', '`created_at` is a date-time string'],
  ['seed.conversation-info.created_at.meaning', '`created_at` is the time of creation'],
  ['seed.conversation-info.updated_at.type', '`updated_at` is a date-time string'],
  ['seed.conversation-info.updated_at.meaning', '`updated_at` is the time of the last update'],
  ['seed.conversation-info.forked_from_conversation_id.type', '`forked_from_conversation_id` is a UUID string or null'],
  [
    'seed.conversation-info.forked_from_conversation_id.meaning',
    '`forked_from_conversation_id` names the origin of a fork, and is null when created directly',
  ],
  ['seed.conversation-info.forked_from_event_id.type', '`forked_from_event_id` is a string or null'],
  [
    'seed.conversation-info.forked_from_event_id.meaning',
    '`forked_from_event_id` names the event of the fork, and is null for whole-conversation forks and non-forks',
  ],
  ['seed.conversation-info.parent_conversation_id.type', '`parent_conversation_id` is a UUID string or null'],
  [
    'seed.conversation-info.parent_conversation_id.meaning',
    '`parent_conversation_id` names the owning conversation, and is null at top level',
  ],
  ['seed.conversation-info.sub_conversation_ids.type', '`sub_conversation_ids` is an array of UUID strings'],
  [
    'seed.conversation-info.sub_conversation_ids.derived',
    '`sub_conversation_ids` is derived from the conversations that name this one as parent',
  ],
  ['seed.conversation-info.sub_conversation_ids.webhook', '`sub_conversation_ids` is empty on webhook payloads'],
  ['seed.conversation-info.tags.type', '`tags` maps strings to strings'],
  ['seed.conversation-info.tags.keys', 'a tag key that is not lowercase alphanumeric is refused'],
  ['seed.conversation-info.tags.values', 'a tag value is any string of up to 256 characters; a longer one is refused'],
  ['seed.conversation-info.current_model_id.type', '`current_model_id` is a string or null'],
  [
    'seed.conversation-info.current_model_id.acp',
    'for an ACP agent `current_model_id` is what the agent reports, possibly an alias',
  ],
  [
    'seed.conversation-info.current_model_id.unknown',
    '`current_model_id` is null while an ACP agent initializes and for servers that do not report it',
  ],
  [
    'seed.conversation-info.current_model_id.native',
    '`current_model_id` is null for native agents, whose model is `agent.llm.model`',
  ],
  ['seed.conversation-info.available_models.type', '`available_models` is an array of ACPModelInfo'],
  ['seed.conversation-info.available_models.verbatim', '`available_models` is what the ACP server offers, unchanged'],
  [
    'seed.conversation-info.available_models.empty',
    '`available_models` is empty for native agents and servers without the capability',
  ],
  ['seed.conversation-info.available_models.override', '`current_model_id` need not be among `available_models`'],
  ['seed.conversation-info.supports_runtime_model_switch.type', '`supports_runtime_model_switch` is a boolean'],
  [
    'seed.conversation-info.supports_runtime_model_switch.default',
    '`supports_runtime_model_switch` is false when omitted',
  ],
  [
    'seed.conversation-info.supports_runtime_model_switch.true',
    '`supports_runtime_model_switch` is true for providers known to switch models during a conversation',
  ],
  [
    'seed.conversation-info.supports_runtime_model_switch.false',
    '`supports_runtime_model_switch` is false for unknown or custom servers, native agents, providers that decline, and before a session',
  ],
  ['seed.conversation-info.launched_agent_profile.type', '`launched_agent_profile` is a LaunchedAgentProfile or null'],
  [
    'seed.conversation-info.launched_agent_profile.set',
    '`launched_agent_profile` is set when the conversation was created by `agent_profile_id`',
  ],
  [
    'seed.conversation-info.launched_agent_profile.null',
    '`launched_agent_profile` is null when started with `agent` or `agent_settings`',
  ],
  ['seed.conversation-info.client_tools.type', '`client_tools` is an array of ClientToolSpec'],
  [
    'seed.conversation-info.client_tools.meaning',
    '`client_tools` lets a client that attaches by id register its tools before it reads events',
  ],
])

export const acpModelInfo = rows('ACPModelInfo', [
  ['seed.acp-model-info.model_id.required', '`model_id` is required'],
  ['seed.acp-model-info.model_id.type', '`model_id` is a string, concrete or an alias'],
  ['seed.acp-model-info.model_id.switch', '`model_id` is the value to pass back when switching to the model'],
  ['seed.acp-model-info.name.type', '`name` is an optional string or null'],
  ['seed.acp-model-info.description.type', '`description` is an optional string or null'],
])

export const launchedAgentProfile = rows('LaunchedAgentProfile', [
  ['seed.launched-agent-profile.agent_profile_id.required', '`agent_profile_id` is required'],
  ['seed.launched-agent-profile.agent_profile_id.type', '`agent_profile_id` is a UUID string'],
  ['seed.launched-agent-profile.revision.required', '`revision` is required'],
  ['seed.launched-agent-profile.revision.type', '`revision` is an integer'],
  ['seed.launched-agent-profile.revision.minimum', '`revision` below 0 is refused'],
])

export const clientToolSpec = rows('ClientToolSpec', [
  ['seed.client-tool.name.required', '`name` is required and a string'],
  ['seed.client-tool.name.unique', '`name` is the unique name by which the agent calls the tool'],
  ['seed.client-tool.description.required', '`description` is required and a string'],
  ['seed.client-tool.description.shown', '`description` is shown to the LLM'],
  ['seed.client-tool.parameters.type', '`parameters` is an optional JSON Schema that must be an object schema'],
  ['seed.client-tool.annotations.type', '`annotations` is optional, ToolAnnotations or null'],
  [
    'seed.client-tool.annotations.omitted',
    'a tool without annotations counts as not read-only, so the agent is asked to predict a risk',
  ],
  ['seed.client-tool.registered', 'client tools are registered when a conversation is created'],
  [
    'seed.client-tool.executed-outside',
    'a client tool is executed outside of the service by a client that receives its action events',
  ],
])
