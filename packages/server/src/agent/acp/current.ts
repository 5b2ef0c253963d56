/** What an external agent works with, and one prompt to it. */
import type { ConfirmationPolicy, EventId, MessageEvent, TreeEvent } from '@parley/protocol'
import type { Circles } from './circles.ts'
import type { Gate, GateDeps } from './gate.ts'
import type { AgentSecrets, Held, HoldDeps } from './hold.ts'
import type { PromptBlock } from './prompts.ts'
import type { PromptTurn } from './turn.ts'

export type AcpAgentDeps = HoldDeps &
  Pick<GateDeps, 'analyze' | 'hooks'> & {
    /** Names of the secrets when the conversation was opened, for the first event. */
    secretNames: AgentSecrets['names']
    /** Texts of the files that the agent's record names; null where it names none. */
    promptFile: string | null
    policyFile: string | null
    /** Every event of the branch that ends here, root first. */
    branch: (leaf: EventId) => Promise<readonly TreeEvent[]>
    /** US dollars that the conversation may cost; null: no limit. */
    budgetUsd: () => number | null
    /** Whether an agent that goes round in circles is stopped. */
    detectsStuck: () => boolean
    /** US dollars of so many tokens; null when no price is known. */
    priceOf?: (
      model: string,
      tokens: { input: number; output: number; cacheRead: number; cacheWrite: number },
    ) => Promise<number | null>
    now?: () => Date
    retryDelaysMs?: readonly number[]
  }

/** A prompt that has been made. */
export type Current = {
  turn: PromptTurn
  gate: Gate
  message: MessageEvent
  responseId: string
  held: Held
  prompt: readonly PromptBlock[]
  /** What the session had cost when the prompt was made. */
  costBefore: number
  /** The policy that the session's mode is for. */
  policy: ConfirmationPolicy
  attempt: number
  /** Why we have it end. */
  because: 'superseded' | 'budget' | 'stuck' | null
  circles: Circles
  /** How it went round in circles. */
  stuck: string | null
  forget: () => void
}
