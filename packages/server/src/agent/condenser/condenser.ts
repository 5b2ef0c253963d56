/** A condenser replaces the older part of a view when the view grows too long for its model. Source: agent-core.md 3.1. */
import type { Condensation, Draft, EventId, LLM, TreeEvent } from '@parley/protocol'
import type { LlmError, LlmRequest } from '../../llm/index.ts'
import type { TokenMeter } from './tokens.ts'

export type CondenserInput = {
  view: readonly TreeEvent[]
  /** True when a person requested the condensation, or the model refused the view for its length. */
  isRequested: boolean
  /** Input limit of the agent's model in tokens; null when unknown. */
  inputLimit: number | null
  meter: TokenMeter
  /** The agent's request for this view; null when its model would refuse it. */
  next: AgentRequest | null
}

type AgentRequest = {
  /** The agent's model. */
  llm: LLM
  /** The same messages as the preceding request of the agent, and those after it. */
  request: () => LlmRequest
  /** Most tokens of a request whose answer is a summary; null when unknown. */
  limit: number | null
}

export type CondensationDraft = Omit<Extract<Draft, { kind: Condensation['kind'] }>, 'id'>

/**
 * `keep`: the view stays unchanged. `condensed`: the draft makes it shorter. `failed`: it has to become shorter and cannot.
 * `spent`: usage records, which are stored in every case.
 */
export type CondenserResult =
  | { kind: 'keep'; spent: readonly Draft[] }
  | { kind: 'condensed'; spent: readonly Draft[]; condensation: CondensationDraft }
  | { kind: 'failed'; spent: readonly Draft[]; error: LlmError }

export interface Condenser {
  /** True when it can condense on request. If not, a view that the model refuses ends the run. */
  readonly handlesRequests: boolean
  /** Rejects only when aborted. */
  condense(input: CondenserInput, signal: AbortSignal): Promise<CondenserResult>
}

/** Ids of the events that a condensation removes from the view. */
export const forgottenIn = ({ forgotten_event_ids }: CondensationDraft): ReadonlySet<EventId> =>
  new Set(forgotten_event_ids)
