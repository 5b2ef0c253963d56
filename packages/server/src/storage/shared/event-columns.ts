/** What is searched or counted of an event without parsing it again. */
import { isTreeEvent } from '@parley/protocol'

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The 16 bytes of a canonical UUID; null for any other id. */
export const uuidBytes = (id: string): Buffer | null =>
  CANONICAL_UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : null

/** Bits of the column `flags`. */
const TREE = 1
export const FAILED = 2
export const HAS_IMAGES = 4
/** The risk of an action, as its place in `RISKS`, from this bit on. */
const RISK_SHIFT = 3
const ACCEPTED = 32
const REJECTED = 64
/** Set in every row of a version that knows `refers_seq` and the bits above it; rows without it are filled before an outline shows them. */
export const IS_COMPLETE = 128

const RISKS = ['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH']

/** The risk of an action in its flags; undefined: none, or not known. */
export const riskIn = (flags: number): string | undefined => RISKS[(flags >> RISK_SHIFT) & 3 || RISKS.length]
/** The decision of a person in its flags; undefined for every other event. */
export const decisionIn = (flags: number): 'accept' | 'reject' | undefined =>
  (flags & ACCEPTED) > 0 ? 'accept' : (flags & REJECTED) > 0 ? 'reject' : undefined

/** Characters of searchable text kept of an event that is not a message; outputs are long and repeat. */
const MAX_OTHER_TEXT = 8192

/** Columns that are computed from an event. */
export type ComputedColumns = {
  /** Id of the parent; null for a root or a control event. */
  parent: string | null
  /** Id of the event that this one is about: the action of a result, the batch of a decision, the new leaf of a move; null: none. */
  refers: string | null
  tool: string | null
  /** Bytes of the event. */
  size: number
  flags: number
  /** Searchable text in lower case, from the masked event; null for an event without text. */
  text: string | null
}

/** The computed columns of an event, of which only the envelope is known. `json`: the event as it is stored. */
export function computedColumns(event: { kind: string }, json: string): ComputedColumns {
  const { parent_id, tool_name } = event as Shape
  return {
    parent: typeof parent_id === 'string' ? parent_id : null,
    refers: refersTo(event as Shape),
    tool: typeof tool_name === 'string' ? tool_name : null,
    size: Buffer.byteLength(json),
    flags: flagsOf(event as Shape),
    text: searchText(event as Shape),
  }
}

/** As `computedColumns`, from the stored text. A text that holds no event has its size only. */
export function computedFrom(json: string): ComputedColumns {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null) return computedColumns(value as { kind: string }, json)
  } catch {
    // The events of a conversation with such a row cannot be read either; the other columns stay empty.
  }
  return { parent: null, refers: null, tool: null, size: Buffer.byteLength(json), flags: IS_COMPLETE, text: null }
}

/** The members of any kind of event that are read here; all may be absent or different in events of other servers. */
type Shape = {
  kind: string
  parent_id?: unknown
  tool_name?: unknown
  llm_message?: { content?: unknown; reasoning_content?: unknown } | null
  extended_content?: unknown
  thought?: unknown
  summary?: unknown
  tool_call?: { arguments?: unknown } | null
  observation?: { content?: unknown; is_error?: unknown } | null
  error?: unknown
  rejection_reason?: unknown
  detail?: unknown
  action_id?: unknown
  actions?: unknown
  batch_id?: unknown
  to?: unknown
  security_risk?: unknown
  decision?: unknown
}

/** Members that hold the id of the event that an event is about. */
const REFERRING: Readonly<Record<string, (event: Shape) => unknown>> = {
  ObservationEvent: ({ action_id }) => action_id,
  UserRejectObservation: ({ action_id }) => action_id,
  ConfirmationRequestedEvent: ({ actions }) =>
    Array.isArray(actions) ? (actions[0] as Shape | null | undefined)?.action_id : null,
  ApprovalEvent: ({ batch_id }) => batch_id,
  LeafMovedEvent: ({ to }) => to,
}

function refersTo(event: Shape): string | null {
  const id = Object.hasOwn(REFERRING, event.kind) ? REFERRING[event.kind]!(event) : null
  return typeof id === 'string' ? id : null
}

function flagsOf(event: Shape): number {
  const parts = partsOf(event.llm_message?.content ?? event.observation?.content)
  const hasFailed =
    event.observation?.is_error === true || event.kind === 'AgentErrorEvent' || event.kind === 'ConversationErrorEvent'
  return (
    (isTreeEvent(event) ? TREE : 0) +
    (hasFailed ? FAILED : 0) +
    (parts.some(({ type }) => type === 'image') ? HAS_IMAGES : 0) +
    (event.kind === 'ActionEvent' ? riskBits(event.security_risk) : 0) +
    (event.kind === 'ApprovalEvent' ? (event.decision === 'accept' ? ACCEPTED : REJECTED) : 0) +
    IS_COMPLETE
  )
}

const riskBits = (risk: unknown): number => Math.max(0, RISKS.indexOf(String(risk))) << RISK_SHIFT

/** The text in which a search finds an event; texts of different members are on lines of their own. */
function textIn(event: Shape): string | null {
  const { llm_message, observation, tool_call } = event
  const texts =
    event.kind === 'MessageEvent'
      ? [...textsOf(llm_message?.content), ...textsOf(event.extended_content), llm_message?.reasoning_content]
      : [
          ...textsOf(event.thought),
          event.summary,
          tool_call?.arguments,
          ...textsOf(observation?.content),
          event.error,
          event.rejection_reason,
          event.detail,
        ]
  const joined = texts.filter((text): text is string => typeof text === 'string' && text !== '').join('\n')
  if (joined === '') return null
  return event.kind === 'MessageEvent' ? joined : joined.slice(0, MAX_OTHER_TEXT)
}

const searchText = (event: Shape): string | null => textIn(event)?.toLowerCase() ?? null

/** Characters before and after the sought text in an excerpt. */
const EXCERPT_BEFORE = 60
const EXCERPT_AFTER = 120

/** The part of an event's searchable text around the first place of `sought`, in any case; empty when it is not there. */
export function excerptOf(event: { kind: string }, sought: string): string {
  const text = textIn(event as Shape) ?? ''
  const lower = text.toLowerCase()
  const at = lower.indexOf(sought.toLowerCase())
  if (at === -1) return ''
  // Lower case may have another length, and then other places.
  const shown = lower.length === text.length ? text : lower
  const end = at + sought.length + EXCERPT_AFTER
  return `${at > EXCERPT_BEFORE ? '…' : ''}${shown.slice(Math.max(0, at - EXCERPT_BEFORE), end)}${end < shown.length ? '…' : ''}`
}

const partsOf = (content: unknown): { type?: unknown; text?: unknown }[] =>
  Array.isArray(content) ? content.filter((part) => typeof part === 'object' && part !== null) : []

const textsOf = (content: unknown): unknown[] => partsOf(content).map(({ text }) => text)
