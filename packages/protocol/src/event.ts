/** All stored events: tree events and control events; unknown kinds are kept unchanged. */
import { z } from 'zod'
import type { EventId } from './ids.ts'
import { ActionEvent } from './events/action.ts'
import { Condensation, CondensationRequest, CondensationSummaryEvent } from './events/condensation.ts'
import {
  ApprovalEvent,
  ConfirmationRequestedEvent,
  LeafMovedEvent,
  ModelRetryEvent,
  StartPhaseEvent,
  StateChangedEvent,
  StatusChangedEvent,
  UsageRecordedEvent,
} from './events/control.ts'
import { MessageEvent, SystemPromptEvent } from './events/message.ts'
import { AgentErrorEvent, ObservationEvent, UserRejectObservation } from './events/observation.ts'
import {
  ACPToolCallEvent,
  ConversationErrorEvent,
  HookExecutionEvent,
  InterruptEvent,
  LLMCompletionLogEvent,
  PauseEvent,
  TokenEvent,
} from './events/telemetry.ts'

export const TreeEvent = z.discriminatedUnion('kind', [
  MessageEvent,
  SystemPromptEvent,
  ActionEvent,
  ObservationEvent,
  UserRejectObservation,
  AgentErrorEvent,
  Condensation,
  CondensationRequest,
  CondensationSummaryEvent,
  PauseEvent,
  InterruptEvent,
  ConversationErrorEvent,
  HookExecutionEvent,
  LLMCompletionLogEvent,
  ACPToolCallEvent,
  TokenEvent,
])
/** Has a parent and becomes the leaf. CondensationSummaryEvent exists only in views. */
export type TreeEvent = z.infer<typeof TreeEvent>

export const ControlEvent = z.discriminatedUnion('kind', [
  StatusChangedEvent,
  LeafMovedEvent,
  ConfirmationRequestedEvent,
  ApprovalEvent,
  UsageRecordedEvent,
  StartPhaseEvent,
  StateChangedEvent,
  ModelRetryEvent,
])
/** Has no parent and never becomes the leaf. */
export type ControlEvent = z.infer<typeof ControlEvent>

export const Event = z.discriminatedUnion('kind', [TreeEvent, ControlEvent])
export type Event = z.infer<typeof Event>

/** A stored event and its position in the log: dense per conversation, from 1. */
export type StoredEvent = { seq: number; event: Event }

type Without<E, K extends PropertyKey> = E extends unknown ? Omit<E, K> : never

/**
 * An event before the engine stamps and stores it; CondensationSummaryEvent cannot be stored.
 * A draft that other drafts of the same commit refer to has its own new `id`.
 */
export type Draft = Without<Exclude<Event, CondensationSummaryEvent>, 'id' | 'timestamp' | 'parent_id' | 'totals'> & {
  id?: EventId
}

// Not taken from the schemas: that would make the schema of every member of every event at the start of a process.
const tree: Record<TreeEvent['kind'], true> = {
  MessageEvent: true,
  SystemPromptEvent: true,
  ActionEvent: true,
  ObservationEvent: true,
  UserRejectObservation: true,
  AgentErrorEvent: true,
  Condensation: true,
  CondensationRequest: true,
  CondensationSummaryEvent: true,
  PauseEvent: true,
  InterruptEvent: true,
  ConversationErrorEvent: true,
  HookExecutionEvent: true,
  LLMCompletionLogEvent: true,
  ACPToolCallEvent: true,
  TokenEvent: true,
}
const control: Record<ControlEvent['kind'], true> = {
  StatusChangedEvent: true,
  LeafMovedEvent: true,
  ConfirmationRequestedEvent: true,
  ApprovalEvent: true,
  UsageRecordedEvent: true,
  StartPhaseEvent: true,
  StateChangedEvent: true,
  ModelRetryEvent: true,
}
export const TREE_KINDS = Object.keys(tree) as readonly TreeEvent['kind'][]
export const CONTROL_KINDS = Object.keys(control) as readonly ControlEvent['kind'][]

const treeKinds: ReadonlySet<string> = new Set(TREE_KINDS)
const controlKinds: ReadonlySet<string> = new Set(CONTROL_KINDS)
/** Kinds that Parley does not store itself; logs of other servers contain them. Their `parent_id` has no meaning. */
const liveKinds: ReadonlySet<string> = new Set([
  'ConversationStateUpdateEvent',
  'StreamingDeltaEvent',
  'ServerErrorEvent',
])

/**
 * True for a tree event: one of a known kind, and every other event with a `parent_id`, which a newer version wrote. The branch
 * of a newer log is therefore complete; every `switch` over the kinds needs a default.
 */
export const isTreeEvent = (event: { kind: string; parent_id?: unknown }): event is TreeEvent =>
  treeKinds.has(event.kind) || ('parent_id' in event && !controlKinds.has(event.kind) && !liveKinds.has(event.kind))

/** True for a control event. False for kinds that this version does not know. */
export const isControlEvent = (event: { kind: string }): event is ControlEvent => controlKinds.has(event.kind)

/** True for the kind of an event that clients receive unchanged: a known tree event, or an event that is not stored here. */
export const isWireKind = (kind: string): boolean => treeKinds.has(kind) || liveKinds.has(kind)

/** An event of a newer version: stored and counted, not interpreted. */
export type UnknownEvent = { kind: string; id: string; timestamp: string; [member: string]: unknown }

const Envelope = z.looseObject({ kind: z.string(), id: z.string(), timestamp: z.string() })

/**
 * Parses an event from a log. Only the envelope is checked, so that an old or newer log always loads; the result may be
 * an
 * UnknownEvent although its type says otherwise: every `switch` over it needs a default.
 * @throws z.ZodError when there is no kind, id or timestamp.
 */
export function readEvent(value: unknown): Event {
  Envelope.parse(value)
  return value as Event
}
