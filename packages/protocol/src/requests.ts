/** Bodies of the conversation endpoints in the agent-server API. Source: agent-server-wire.md 1.5, 1.6, 5.1, 5.14. */
import { z } from 'zod'
import { RequestedAgent } from './agent.ts'
import { AgentDefinition } from './agent-definition.ts'
import { ContentPart } from './events/message.ts'
import { HookConfig } from './hooks.ts'
import { isRecord } from './is-record.ts'
import { laxBoolean, laxInt, laxNumber } from './lax.ts'
import { laxConversationId, laxEventId, laxUuid, text, valueError } from './lax-text.ts'
import { ConfirmationPolicy } from './policy.ts'
import { RequestedSecrets } from './secrets.ts'
import { SecurityAnalyzer } from './security.ts'
import { Tags, tagsField } from './tags.ts'
import { ClientToolSpec } from './tool.ts'
import { LocalWorkspace, RemoteWorkspace, type BaseWorkspace, type BaseWorkspaceInput } from './workspace.ts'
import { DEFAULT_MAX_ITERATIONS } from './conversation.ts'
import { list, map } from './lists.ts'

export const SendMessageRequest = z.object({
  /** Only the role of a user is accepted. */
  role: z
    .enum(['user', 'system', 'assistant', 'tool'])
    .default('user')
    .refine((role) => role === 'user', valueError("Only messages with role 'user' can be sent")),
  content: list(ContentPart).default([]),
  /** Start, or queue, a run after appending. */
  run: laxBoolean().default(false),
})
export type SendMessageRequest = z.infer<typeof SendMessageRequest>

export const SendEventRequest = SendMessageRequest.extend({
  /** Id of the stored message, a UUID chosen by the client: a request that is sent again changes nothing. */
  event_id: laxEventId().optional(),
  /**
   * Parley's own: the message continues at this event, or with null at the empty tree: the leaf is moved there and the message stored, both
   * or neither. Absent: it continues at the leaf. A conversation that runs must be paused first.
   */
  parent_event_id: laxEventId().nullable().optional(),
})
export type SendEventRequestInput = z.input<typeof SendEventRequest>

export const PluginSource = z.object({
  /** `github:owner/repo`, a git URL or a path. */
  source: z.string(),
  ref: z.string().nullable().default(null),
  repo_path: z.string().nullable().default(null),
})
export type PluginSource = z.infer<typeof PluginSource>

export const AgentLaunchAdditions = z.strictObject({
  system_message_suffix_append: text({ max: 32_768 }).nullable().default(null),
})
/** Applied after the agent is resolved. */
export type AgentLaunchAdditions = z.infer<typeof AgentLaunchAdditions>

const Scalar = z.union([z.string(), z.boolean(), z.number()])
const Metadata = map(z.union([Scalar, list(z.string()), list(z.boolean()), list(z.number())]))

/**
 * A directory of the server's own file system, where `kind` may be omitted; or, as an extension of the wire, an agent
 * server at an
 * http address. A key in that address would be visible to everyone who sees the address.
 */
const RequestedWorkspace = z
  .looseObject({ kind: z.string().nullable().optional() })
  .refine(
    ({ kind, host }) => kind == null || kind === 'LocalWorkspace' || (kind === 'RemoteWorkspace' && isHttp(host)),
    {
      error:
        'Assertion failed, only LocalWorkspace is accepted here, or RemoteWorkspace whose host is an http address without a user',
      params: { type: 'assertion_error', ctx: { error: {} } },
      abort: true,
    },
  )
  .transform(({ kind, ...workspace }) => ({ ...workspace, kind: kind ?? 'LocalWorkspace' }))
  .pipe(z.discriminatedUnion('kind', [LocalWorkspace, RemoteWorkspace]) as never) as unknown as z.ZodType<
  BaseWorkspace,
  BaseWorkspaceInput
>

function isHttp(host: unknown): boolean {
  if (typeof host !== 'string' || !URL.canParse(host)) return false
  const { protocol, username, password } = new URL(host)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

export const StartConversationRequest = z
  .object({
    workspace: RequestedWorkspace,
    /** Creates a separate worktree and branch when the directory is in a repository. */
    worktree: laxBoolean().default(false),
    conversation_id: laxConversationId().nullable().default(null),
    parent_conversation_id: laxConversationId().nullable().default(null),
    confirmation_policy: ConfirmationPolicy.default({ kind: 'NeverConfirm' }),
    security_analyzer: SecurityAnalyzer.nullable().default(null),
    /** Always followed by a run; its own `run` is ignored. */
    initial_message: SendMessageRequest.nullable().default(null),
    max_iterations: laxInt({ ge: 1 }).default(DEFAULT_MAX_ITERATIONS),
    /**
     * US dollars that the conversation and its sub-agents may spend; Parley's own; null or absent: no limit. Source:
     * decisions.md, Budgets.
     */
    max_budget_per_task: laxNumber({ gt: 0 }).nullable().optional(),
    /**
     * True: the files of the working directory get checkpoints; false: they get none. Parley's own; null or absent: they do if the
     * server creates the directory. Not available for a RemoteWorkspace.
     */
    file_checkpoints: laxBoolean().nullable().optional(),
    stuck_detection: laxBoolean().default(true),
    /** Plain text is a static secret. */
    secrets: RequestedSecrets.default({}),
    secrets_encrypted: laxBoolean().default(false),
    tool_module_qualnames: map(z.string()).default({}),
    client_tools: list(ClientToolSpec).default([]),
    agent_launch_additions: AgentLaunchAdditions.nullable().default(null),
    agent_definitions: list(AgentDefinition).default([]),
    plugins: list(PluginSource).nullable().default(null),
    hook_config: HookConfig.nullable().default(null),
    tags: tagsField(),
    user_id: z.string().nullable().default(null),
    observability_metadata: Metadata.default({}),
    observability_tags: list(z.string()).default([]),
    observability_span_name: z.string().default('conversation'),
    autotitle: laxBoolean().default(true),
    title_llm_profile: z.string().nullable().default(null),
    agent_settings: map(z.unknown()).nullable().default(null),
    agent_profile_id: laxUuid().nullable().default(null),
    agent: RequestedAgent.nullable().default(null),
  })
  .refine(
    ({ agent, agent_settings, agent_profile_id }) =>
      agent !== null || agent_settings !== null || agent_profile_id !== null,
    valueError("One of 'agent', 'agent_settings' or 'agent_profile_id' is required"),
  )
  .refine(
    ({ agent, agent_settings, agent_profile_id }) =>
      agent_profile_id === null || (agent === null && agent_settings === null),
    valueError("'agent_profile_id' cannot be combined with 'agent' or 'agent_settings'"),
  )
export type StartConversationRequest = z.infer<typeof StartConversationRequest>
export type StartConversationRequestInput = z.input<typeof StartConversationRequest>

export const UpdateConversationRequest = z.object({
  title: text({ min: 1, max: 200 }).nullable().default(null),
  tags: Tags.nullable().default(null),
  /** US dollars; Parley's own. A higher budget lets a run continue that its budget paused. */
  max_budget_per_task: laxNumber({ gt: 0 }).nullable().optional(),
})
/** Null or absent: unchanged. Tags replace the whole map. */
export type UpdateConversationRequest = z.infer<typeof UpdateConversationRequest>

export const AskAgentRequest = z.object({ question: text({ min: 1 }) })
/** A question that does not become part of the conversation. */
export type AskAgentRequest = z.infer<typeof AskAgentRequest>

export const ForkConversationRequest = z.object({
  id: laxConversationId().nullable().default(null),
  title: text({ max: 200 }).nullable().default(null),
  tags: Tags.nullable().default(null),
  reset_metrics: laxBoolean().default(true),
  /** Copy only the branch that ends here. */
  from_event_id: z.string().nullable().default(null),
})
export type ForkConversationRequest = z.infer<typeof ForkConversationRequest>

export const NavigateRequest = z.object({
  /** Null: the empty tree. */
  event_id: z.string().nullable().default(null),
  /** True: the files of the workspace become those of that event, too; Parley's own. Refused without a checkpoint of them. */
  restore_files: laxBoolean().default(false),
  /** Parley's own: the leaf that the caller knows, or null for the empty tree; another one is refused with 409. Absent: any. */
  expected_leaf_event_id: z.string().nullable().optional(),
})
export type NavigateRequest = z.infer<typeof NavigateRequest>

export const ConfirmationResponseRequest = z.object({
  accept: laxBoolean(),
  reason: z.string().default('User rejected the action.'),
  /**
   * Parley's own: binds the decision to one batch, by the `batch_id` of its `confirmation_request`. Absent: the batch that
   * is pending now; to accept it, a client of the same user must have received it.
   */
  batch_id: z.string().optional(),
  /** As `batch_id`, by the id of the model's answer, which some model servers repeat. */
  llm_response_id: z.string().optional(),
})
export type ConfirmationResponseRequest = z.infer<typeof ConfirmationResponseRequest>

const RunBody = z
  .object({
    /** Parley's own: approves this batch. Null: approves the pending batch if a client of the same user has received it. */
    batch_id: z.string().nullable().default(null),
    /** Parley's own. False: approves nothing, and is refused with 409 while a batch waits. */
    approve: laxBoolean().default(true),
  })
  .refine(
    ({ batch_id, approve }) => approve || batch_id === null,
    valueError("'batch_id' names a batch to approve and cannot be combined with 'approve': false"),
  )
/** Existing clients send no body, `{}` or other values, which mean nothing. */
export const RunRequest = z.preprocess((value) => (isRecord(value) ? value : {}), RunBody) as unknown as z.ZodType<
  z.output<typeof RunBody>,
  z.input<typeof RunBody>
>
export type RunRequest = z.infer<typeof RunRequest>

export const SetConfirmationPolicyRequest = z.object({ policy: ConfirmationPolicy })
export type SetConfirmationPolicyRequest = z.infer<typeof SetConfirmationPolicyRequest>

export const SetSecurityAnalyzerRequest = z.object({ security_analyzer: SecurityAnalyzer.nullable() })
/** The member is required; null disables the analysis. */
export type SetSecurityAnalyzerRequest = z.infer<typeof SetSecurityAnalyzerRequest>
