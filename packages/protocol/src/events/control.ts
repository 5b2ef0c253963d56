/**
 * Control events: they change state outside the tree, have no parent and never become the leaf. On the wire each is a
 * state update.
 */
import { z } from 'zod'
import { ConversationExecutionStatus } from '../conversation-status.ts'
import { ConversationId, EventId } from '../ids.ts'
import { MetricsSnapshot, TokenUsage } from '../metrics.ts'
import { ConfirmationPolicy, SecurityRisk } from '../policy.ts'
import { EventSource, eventFields } from './base.ts'

const controlFields = { ...eventFields, source: EventSource.default('environment') }

export const StatusChangedEvent = z.strictObject({
  kind: z.literal('StatusChangedEvent'),
  ...controlFields,
  status: ConversationExecutionStatus,
  reason: z.string().nullable(),
})
export type StatusChangedEvent = z.infer<typeof StatusChangedEvent>

export const OpenAction = z.strictObject({
  id: EventId,
  tool_call_id: z.string(),
  tool_name: z.string(),
  llm_response_id: z.string(),
  seq: z.int(),
  /** Absent in older logs: UNKNOWN. */
  risk: SecurityRisk.optional(),
  /**
   * `given`: a person approved it. `needed`: a person wrote a message after it was stored or approved. Absent: only the
   * policy decides.
   */
  consent: z.enum(['given', 'needed']).optional(),
  /** What `given` is bound to besides the arguments: see `origin` of a ConfirmationRequestedEvent. */
  origin: z.string().optional(),
})
/** An action of a branch without a result. */
export type OpenAction = z.infer<typeof OpenAction>

export const LeafMovedEvent = z.strictObject({
  kind: z.literal('LeafMovedEvent'),
  ...controlFields,
  /** The new leaf; null for the empty tree. */
  to: EventId.nullable(),
  /** State that the reducer cannot derive without reading the branch again, computed when the move was committed. */
  open_actions: z.array(OpenAction),
  last_user_message_id: z.string().nullable(),
  owes_step: z.boolean(),
})
export type LeafMovedEvent = z.infer<typeof LeafMovedEvent>

export const RiskReason = z.strictObject({
  /** Kind of the analyzer. */
  analyzer: z.string(),
  /** The risk that this analyzer reports. */
  risk: SecurityRisk,
  /** Stable name of what it found; null when it names none, as a model does. */
  rule: z.string().nullable(),
  /** A sentence for people. */
  text: z.string(),
  /** The words of the call that it found, as they are or normalised, secrets masked; may be empty. */
  matches: z.array(z.string()),
})
/** Why an analyzer reports a risk. */
export type RiskReason = z.infer<typeof RiskReason>

const reasons = z.array(RiskReason).optional()

export const SubAgentQuestion = z.strictObject({
  conversation_id: ConversationId,
  /** The batch in that conversation's own log. */
  llm_response_id: z.string(),
  /** Id of that batch; absent in older logs. */
  batch_id: z.string().optional(),
  /** Task id, or the id of the delegate. */
  name: z.string(),
  subagent: z.string(),
  actions: z.array(
    z.strictObject({
      action_id: EventId,
      tool_name: z.string(),
      risk: SecurityRisk,
      summary: z.string().nullable(),
      action: z.unknown(),
      reasons,
    }),
  ),
})
/** An action of a sub-agent that needs approval. Source: agent-core.md 12.1. */
export type SubAgentQuestion = z.infer<typeof SubAgentQuestion>

export const ConfirmationRequestedEvent = z.strictObject({
  kind: z.literal('ConfirmationRequestedEvent'),
  ...controlFields,
  llm_response_id: z.string(),
  /** `origin`: the server and schema of a tool that another server provides; absent for own tools. */
  actions: z.array(z.strictObject({ action_id: EventId, risk: SecurityRisk, origin: z.string().optional(), reasons })),
  /** The policy that required the approval; absent in older logs. */
  policy: ConfirmationPolicy.optional(),
  /**
   * Present when a sub-agent asks: `actions` is then the call that waits for it, and the decision applies to its own
   * actions.
   */
  sub_agent: SubAgentQuestion.optional(),
})
/** A batch that waits for approval. The id of the event is the id of the batch. */
export type ConfirmationRequestedEvent = z.infer<typeof ConfirmationRequestedEvent>

export const ApprovalEvent = z.strictObject({
  kind: z.literal('ApprovalEvent'),
  ...controlFields,
  /** Id of the batch, which is that of its ConfirmationRequestedEvent; absent in older logs. */
  batch_id: z.string().optional(),
  llm_response_id: z.string(),
  action_ids: z.array(EventId),
  /**
   * The actions that the person decided about, each with the SHA-256 of its tool and arguments as they are stored; those of
   * the sub-agent when a sub-agent asked. Absent in older logs.
   */
  actions: z.array(z.strictObject({ action_id: EventId, digest: z.string() })).optional(),
  decision: z.enum(['accept', 'reject']),
  /** Origin of the decision: the id of a key or the name of a user. */
  actor: z.string(),
  reason: z.string().nullable(),
})
/** A person's decision about one pending batch. */
export type ApprovalEvent = z.infer<typeof ApprovalEvent>

export const UsageRecordedEvent = z.strictObject({
  kind: z.literal('UsageRecordedEvent'),
  ...controlFields,
  usage_id: z.string(),
  model: z.string(),
  response_id: z.string(),
  /** US dollars; null when no price is known. */
  cost: z.number().nullable(),
  /** Seconds. */
  latency: z.number(),
  tokens: TokenUsage,
  /** Totals of every `usage_id` so far, including this request: clients replace all their totals with them. */
  totals: z.record(z.string(), MetricsSnapshot),
  /** `seq` up to which the model had seen the log when it was called. */
  seen_seq: z.int().optional(),
  /**
   * The new total of `usage_id`, which replaces the old one: the cost of a sub-agent so far. Source: agent-core.md
   * 10.8.
   */
  replaces: MetricsSnapshot.optional(),
})
export type UsageRecordedEvent = z.infer<typeof UsageRecordedEvent>

export const StartPhaseEvent = z.strictObject({
  kind: z.literal('StartPhaseEvent'),
  ...controlFields,
  phase: z.string(),
  status: z.enum(['started', 'done', 'failed']),
  code: z.string().nullable(),
  detail: z.string().nullable(),
})
/** One step of a conversation's start. */
export type StartPhaseEvent = z.infer<typeof StartPhaseEvent>

export const ModelRetryEvent = z.strictObject({
  kind: z.literal('ModelRetryEvent'),
  ...controlFields,
  usage_id: z.string(),
  model: z.string(),
  /** Number of the next attempt after the first one, from 1. */
  attempt: z.int(),
  /** Seconds until the next attempt. */
  wait_seconds: z.number(),
  /** Code and text of the failure, as in a ConversationErrorEvent. */
  code: z.string(),
  detail: z.string(),
})
/** A request to a model failed, and is repeated after a wait. Changes no state. */
export type ModelRetryEvent = z.infer<typeof ModelRetryEvent>

const STATE_KEYS = [
  'confirmation_policy',
  'security_analyzer',
  'tags',
  'agent',
  'agent_state',
  'blocked_actions',
  'blocked_messages',
  'activated_knowledge_skills',
  'activated_path_rules',
  'invoked_skills',
  'left_out',
  'hook_config',
  'max_iterations',
  'goal',
  'replay',
  'secret_names',
] as const
export type StateKey = (typeof STATE_KEYS)[number]

export const StateChangedEvent = z.strictObject({
  kind: z.literal('StateChangedEvent'),
  ...controlFields,
  key: z.enum(STATE_KEYS),
  value: z.unknown(),
})
/** A new value of one simple field of the state. */
export type StateChangedEvent = z.infer<typeof StateChangedEvent>
