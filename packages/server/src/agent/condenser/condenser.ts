/** What shortens a view when it grows too long for its model. Source: agent-core.md 3.1. */
import type { Condensation, Draft, EventId, TreeEvent } from '@parley/protocol'
import type { LlmError } from '../../llm/index.ts'
import type { TokenMeter } from './tokens.ts'

/** What a condenser is asked about. */
export type Situation = {
  view: readonly TreeEvent[]
  /** Somebody asked for a shorter view, or the model refused this one for its length. */
  isRequested: boolean
  /** Tokens that the agent's model takes at most; null when nobody knows. */
  inputLimit: number | null
  meter: TokenMeter
}

/** What a Condensation will say, before it is stored. */
export type Shortening = Omit<Extract<Draft, { kind: Condensation['kind'] }>, 'id'>

/**
 * `keep`: the view stays as it is. `condensed`: it is to become shorter. `failed`: it has to become shorter and cannot.
 * `spent` are usage records, to be stored whatever came of it.
 */
export type Verdict =
  | { kind: 'keep'; spent: readonly Draft[] }
  | { kind: 'condensed'; spent: readonly Draft[]; condensation: Shortening }
  | { kind: 'failed'; spent: readonly Draft[]; error: LlmError }

export interface Condenser {
  /** Whether it does something about a request. Without one, a view that the model refuses ends the run. */
  readonly handlesRequests: boolean
  /** Rejects only when aborted. */
  condense(situation: Situation, signal: AbortSignal): Promise<Verdict>
}

export type CondenserLog = { warn(fields: object, message: string): void }

/** Ids of the events that a shortening takes out of the view. */
export const forgottenIn = ({ forgotten_event_ids }: Shortening): ReadonlySet<EventId> => new Set(forgotten_event_ids)
