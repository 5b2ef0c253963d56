/** Events besides messages and actions. Source: agent-server-wire.md 4.5 and 4.7. */
import { z } from 'zod'
import { ErrorClassification } from '../error-classification.ts'
import { EventSource, orNull, treeFields } from './base.ts'

export const PauseEvent = z.strictObject({
  kind: z.literal('PauseEvent'),
  ...treeFields,
  source: EventSource.default('user'),
})
/** A cooperative stop. */
export type PauseEvent = z.infer<typeof PauseEvent>

export const InterruptEvent = z.strictObject({
  kind: z.literal('InterruptEvent'),
  ...treeFields,
  source: EventSource.default('user'),
})
/** A run that was interrupted. */
export type InterruptEvent = z.infer<typeof InterruptEvent>

export const ConversationErrorEvent = z.strictObject({
  kind: z.literal('ConversationErrorEvent'),
  ...treeFields,
  source: EventSource,
  code: z.string(),
  detail: z.string(),
  classification: orNull(ErrorClassification),
})
/** A failure of the run as a whole. */
export type ConversationErrorEvent = z.infer<typeof ConversationErrorEvent>

export const HookEventType = z.enum([
  'PreToolUse',
  'PostToolUse',
  'UserPromptSubmit',
  'SessionStart',
  'SessionEnd',
  'Stop',
])
export type HookEventType = z.infer<typeof HookEventType>

export const HookExecutionEvent = z.strictObject({
  kind: z.literal('HookExecutionEvent'),
  ...treeFields,
  source: EventSource.default('hook'),
  hook_event_type: HookEventType,
  hook_command: z.string(),
  tool_name: orNull(z.string()),
  /** False for a non-zero exit, a timeout or a failed start. */
  success: z.boolean(),
  blocked: z.boolean().default(false),
  exit_code: z.int(),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  reason: orNull(z.string()),
  additional_context: orNull(z.string()),
  error: orNull(z.string()),
  action_id: orNull(z.string()),
  message_id: orNull(z.string()),
  /** The JSON on the hook's standard input. */
  hook_input: orNull(z.record(z.string(), z.unknown())),
})
/** One execution of a hook; stored before the event it concerns. */
export type HookExecutionEvent = z.infer<typeof HookExecutionEvent>

export const StreamingDeltaEvent = z.strictObject({
  kind: z.literal('StreamingDeltaEvent'),
  ...treeFields,
  source: EventSource.default('agent'),
  content: orNull(z.string()),
  reasoning_content: orNull(z.string()),
})
/** A part of an answer while it streams; never stored. */
export type StreamingDeltaEvent = z.infer<typeof StreamingDeltaEvent>

export const LLMCompletionLogEvent = z.strictObject({
  kind: z.literal('LLMCompletionLogEvent'),
  ...treeFields,
  source: EventSource.default('environment'),
  filename: z.string(),
  log_data: z.string(),
  model_name: z.string().default('unknown'),
  usage_id: z.string().default('default'),
})
export type LLMCompletionLogEvent = z.infer<typeof LLMCompletionLogEvent>

export const ACPToolCallEvent = z.strictObject({
  kind: z.literal('ACPToolCallEvent'),
  ...treeFields,
  source: EventSource.default('agent'),
  /** Shared by the events of one call as it progresses. */
  tool_call_id: z.string(),
  title: z.string(),
  status: orNull(z.string()),
  tool_kind: orNull(z.string()),
  raw_input: z.unknown().default(null),
  raw_output: z.unknown().default(null),
  content: orNull(z.array(z.unknown())),
  is_error: z.boolean().default(false),
})
/** Mirror of a tool call made inside an ACP server; for display only. */
export type ACPToolCallEvent = z.infer<typeof ACPToolCallEvent>

export const TokenEvent = z.strictObject({
  kind: z.literal('TokenEvent'),
  ...treeFields,
  source: EventSource,
  prompt_token_ids: z.array(z.int()),
  response_token_ids: z.array(z.int()),
})
export type TokenEvent = z.infer<typeof TokenEvent>

export const ServerErrorEvent = z.strictObject({
  kind: z.literal('ServerErrorEvent'),
  ...treeFields,
  source: EventSource,
  code: z.string(),
  detail: z.string(),
})
/** An error of one socket; never stored. */
export type ServerErrorEvent = z.infer<typeof ServerErrorEvent>

export const ConversationStateUpdateEvent = z.strictObject({
  kind: z.literal('ConversationStateUpdateEvent'),
  ...treeFields,
  source: EventSource.default('environment'),
  /** Name of the state field, or `full_state`. */
  key: z.string(),
  value: z.unknown().default({}),
})
/** State as clients receive it; derived from a control event when it is sent, never stored. */
export type ConversationStateUpdateEvent = z.infer<typeof ConversationStateUpdateEvent>
