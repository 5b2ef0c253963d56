/** Converts stored events to those of the agent-server API. Pure. Source: agent-server-wire.md 2.4, 4.2, 4.5, 4.9. */
import { unreachable } from './errors.ts'
import type { ControlEvent, Event, TreeEvent, UnknownEvent } from './event.ts'
import { CONTROL_KINDS, isControlEvent, isWireKind, TREE_KINDS } from './event.ts'
import type { ApprovalEvent, ConfirmationRequestedEvent } from './events/control.ts'
import type { ConversationStateUpdateEvent, ServerErrorEvent, StreamingDeltaEvent } from './events/telemetry.ts'

/** An event in a frame or a page. */
export type WireEvent = TreeEvent | ConversationStateUpdateEvent | StreamingDeltaEvent | ServerErrorEvent

/**
 * Returns the wire event of a stored event: tree events without `raw_answer` and `given_back`, which clients refuse, each control event as a
 * state update with the same id and time.
 * Kinds of a newer version become a state update too, because clients fail on an unknown kind and not on an unknown
 * key.
 */
export function wireEvent(event: Event | UnknownEvent): WireEvent {
  if (isWireKind(event.kind)) return withoutOwn(event) as WireEvent
  const [key, value] = isControlEvent(event) ? stateUpdate(event) : ['unknown_event', event]
  return {
    kind: 'ConversationStateUpdateEvent',
    id: event.id as ConversationStateUpdateEvent['id'],
    timestamp: event.timestamp,
    parent_id: null,
    source: 'environment',
    key,
    value,
  }
}

function withoutOwn(event: Event | UnknownEvent): object {
  if (!('raw_answer' in event) && !('given_back' in event)) return event
  const { raw_answer: _raw, given_back: _given, ...shown } = event as Record<string, unknown>
  return shown
}

function stateUpdate(event: ControlEvent): [key: string, value: unknown] {
  switch (event.kind) {
    case 'StatusChangedEvent':
      return ['execution_status', event.status]
    case 'LeafMovedEvent':
      return ['leaf_event_id', event.to]
    case 'ConfirmationRequestedEvent':
      return ['confirmation_request', confirmationRequest(event)]
    case 'ApprovalEvent': {
      return ['approval', approval(event)]
    }
    case 'UsageRecordedEvent':
      return ['stats', { usage_to_metrics: event.totals }]
    case 'StartPhaseEvent': {
      const { phase, status, code, detail } = event
      return ['start_phase', { phase, status, code, detail }]
    }
    case 'ModelRetryEvent': {
      const { usage_id, model, attempt, wait_seconds, code, detail } = event
      return ['model_retry', { usage_id, model, attempt, wait_seconds, code, detail }]
    }
    case 'StateChangedEvent':
      return [event.key, event.value]
    default:
      return unreachable(event)
  }
}

const STORED: ReadonlySet<string> = new Set([...TREE_KINDS, ...CONTROL_KINDS])

/**
 * Returns the stored kinds that a `kind` filter selects: a short name, or the class path that existing clients send.
 * Empty for a kind that is never stored, which matches nothing.
 */
export function wireKindToStored(kind: string): readonly string[] {
  const name = kind.slice(kind.lastIndexOf('.') + 1)
  if (name === 'ConversationStateUpdateEvent') return [...CONTROL_KINDS, name]
  return STORED.has(name) ? [name] : []
}

/** Members with free-form JSON in any event. */
const FREE_FORM = new Set([
  'data',
  'hook_input',
  'raw_input',
  'raw_output',
  'input_schema',
  'mcp_tool',
  'meta',
  'commit',
])

/** True when a member's content is not modelled, so that nulls in it are data. */
function isFreeForm(owner: Readonly<Record<string, unknown>>, member: string): boolean {
  if (FREE_FORM.has(member)) return true
  switch (member) {
    case 'value':
      return owner['kind'] === 'ConversationStateUpdateEvent'
    case 'content':
      return owner['kind'] === 'ACPToolCallEvent'
    case 'metadata':
      return 'score' in owner // of a CriticResult; that of a TerminalObservation is modelled
    case 'action':
      return isClientAction(owner[member])
    default:
      return false
  }
}

const isClientAction = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  typeof value.kind === 'string' &&
  value.kind.startsWith('ClientAction_')

/** Members that existing clients require, null or not: without one of them they refuse the whole event. */
const isRequired = (owner: Readonly<Record<string, unknown>>, member: string) =>
  (member === 'command' && owner['kind'] === 'TerminalObservation') || (member === 'message' && 'score' in owner)

/**
 * Returns a copy without null-valued members, at every depth of modelled fields, for searches and frames.
 * The `value` of a state update stays even when it is null: clients would parse its absence as `{}`.
 */
export function dropNulls<T>(event: T): T {
  return prune(event) as T
}

function prune(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(prune)
  if (typeof value !== 'object' || value === null) return value
  const owner = value as Record<string, unknown>
  const pruned: Record<string, unknown> = {}
  for (const member of Object.keys(owner)) {
    const inner = owner[member]
    if (isFreeForm(owner, member)) {
      if (inner !== null || member === 'value') pruned[member] = inner
    } else if (inner !== null || isRequired(owner, member)) pruned[member] = prune(inner)
  }
  return pruned
}

function confirmationRequest(event: ConfirmationRequestedEvent): object {
  const { id, llm_response_id, actions, policy, timestamp, sub_agent } = event
  const request = { batch_id: id, llm_response_id, actions, asked_at: timestamp }
  return { ...request, ...(policy === undefined ? {} : { policy }), ...(sub_agent === undefined ? {} : { sub_agent }) }
}

function approval({ batch_id, llm_response_id, action_ids, actions, decision, actor, reason }: ApprovalEvent): object {
  const bound = { ...(batch_id === undefined ? {} : { batch_id }), ...(actions === undefined ? {} : { actions }) }
  return { ...bound, llm_response_id, action_ids, decision, actor, reason }
}
