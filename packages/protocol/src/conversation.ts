/** A conversation in responses. Source: interface.md, ConversationInfo; agent-server-wire.md 5.2. */
import { z } from 'zod'
import { AgentBase } from './agent.ts'
import { ConversationExecutionStatus } from './conversation-status.ts'
import { HookConfig } from './hooks.ts'
import { laxBoolean, laxInt } from './lax.ts'
import { laxConversationId, laxDateTime, laxUuid } from './lax-text.ts'
import { ConversationStats, MetricsSnapshot } from './metrics.ts'
import { ConfirmationPolicy } from './policy.ts'
import { SecretRegistry } from './secrets.ts'
import { SecurityAnalyzer } from './security.ts'
import { tagsField } from './tags.ts'
import { ClientToolSpec } from './tool.ts'
import { BaseWorkspace } from './workspace.ts'
import { list, LIST_LIMITS, map } from './lists.ts'

export { ConversationExecutionStatus }

export const ACPModelInfo = z.object({
  /** Concrete or an opaque alias; sent back to switch to the model. */
  model_id: z.string(),
  name: z.string().nullable().default(null),
  description: z.string().nullable().default(null),
})
export type ACPModelInfo = z.infer<typeof ACPModelInfo>

export const LaunchedAgentProfile = z.object({ agent_profile_id: laxUuid(), revision: laxInt({ ge: 0 }) })
/** The agent profile that a conversation was created from. */
export type LaunchedAgentProfile = z.infer<typeof LaunchedAgentProfile>

/** Name of the default directory for clients. Source: interface.md, ConversationInfo. */
export const DEFAULT_PERSISTENCE_DIR = 'workspace/conversations'
export const DEFAULT_MAX_ITERATIONS = 500

const maybeText = () => z.string().nullable().default(null)
const names = () => list(z.string(), { max: LIST_LIMITS.recorded }).default([])
const reasons = () => map(z.string(), { max: LIST_LIMITS.recorded }).default({})

export const ConversationInfo = z.object({
  id: laxConversationId(),
  workspace: BaseWorkspace,
  /** Null: memory only. */
  persistence_dir: z.string().nullable().default(DEFAULT_PERSISTENCE_DIR),
  max_iterations: laxInt({ gt: 0 }).default(DEFAULT_MAX_ITERATIONS),
  stuck_detection: laxBoolean().default(true),
  execution_status: ConversationExecutionStatus.default('idle'),
  confirmation_policy: ConfirmationPolicy.default({ kind: 'NeverConfirm' }),
  security_analyzer: SecurityAnalyzer.nullable().default(null),
  activated_knowledge_skills: names(),
  invoked_skills: names(),
  /** Action id to the reason of the hook that blocked it. */
  blocked_actions: reasons(),
  /** Message id to the reason of the hook that blocked it. */
  blocked_messages: reasons(),
  last_user_message_id: maybeText(),
  /** Head of the tree; null for an empty one. */
  leaf_event_id: maybeText(),
  stats: ConversationStats.prefault({}),
  secret_registry: SecretRegistry.prefault({}),
  agent_state: map(z.unknown(), { max: LIST_LIMITS.recorded }).default({}),
  hook_config: HookConfig.nullable().default(null),
  title: maybeText(),
  metrics: MetricsSnapshot.nullable().default(null),
  /** Absent when the sender did not set it. */
  created_at: laxDateTime().optional(),
  updated_at: laxDateTime().optional(),
  forked_from_conversation_id: laxConversationId().nullable().default(null),
  forked_from_event_id: maybeText(),
  parent_conversation_id: laxConversationId().nullable().default(null),
  /** Derived from the stored conversations; empty in webhook payloads. */
  sub_conversation_ids: list(laxConversationId(), { max: LIST_LIMITS.recorded }).default([]),
  tags: tagsField(),
  current_model_id: maybeText(),
  available_models: list(ACPModelInfo, { max: LIST_LIMITS.recorded }).default([]),
  supports_runtime_model_switch: laxBoolean().default(false),
  launched_agent_profile: LaunchedAgentProfile.nullable().default(null),
  agent: AgentBase,
  client_tools: list(ClientToolSpec).default([]),
  /** Extension: why record or log cannot be read. Present only then; members that depend on them have no meaning. */
  unreadable: z.string().optional(),
})
export type ConversationInfo = z.infer<typeof ConversationInfo>
/** Input form: without defaults filled in. */
export type ConversationInfoInput = z.input<typeof ConversationInfo>

export const ConversationPage = z.object({
  items: z.array(ConversationInfo),
  /** Id of the first item of the next page, 32 hex. */
  next_page_id: z.string().nullable(),
})
export type ConversationPage = z.infer<typeof ConversationPage>
