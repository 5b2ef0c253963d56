import type { Draft, EventId, RiskReason, SecurityRisk, TreeEvent } from '@parley/protocol'
import type { NormalisedCall } from './normalise-call.ts'

/** A call that can be stored as an action under `id`. */
export type PreparedCall = NormalisedCall & {
  id: EventId
  risk: SecurityRisk
  /** Why the risk is not LOW; empty when no analyzer says so. */
  reasons: readonly RiskReason[]
  /** The reason why a hook blocked the call; null when none did. */
  blocked: string | null
  /** Records of the hooks that ran, and of what the analysis cost. */
  drafts: Draft[]
}

/** The text of the answer that holds the calls, and the branch that it answers. */
export type AnswerContext = { text: string; reasoning: string | null; history: readonly TreeEvent[] }
