/** Dependencies of an ACP agent, and the state of one prompt. */
import type { ConfirmationPolicy, EventId, MessageEvent, TreeEvent } from '@parley/protocol'
import type { Fetch } from '../../../egress/index.ts'
import type { ImageShrinker } from '../../../llm/index.ts'
import type { RepetitionDetector } from './repetition-detector.ts'
import type { PermissionGate, PermissionGateDeps } from '../permission/permission-gate.ts'
import type { AgentSecrets, RunningSession, AcpProcessDeps } from '../acp-process.ts'
import type { PromptBlock } from './prompts.ts'
import type { PromptTurn } from './turn.ts'

export type AcpAgentDeps = AcpProcessDeps &
  Pick<PermissionGateDeps, 'analyze' | 'hooks'> & {
    /** Resolves when this process may begin an effect. */
    confirm: (signal: AbortSignal) => Promise<void>
    /** Requests to the address of a critic. */
    fetchCritic: Fetch
    shrinker: ImageShrinker
    /** Names of the secrets at the time the conversation was opened, for the first event. */
    secretNames: AgentSecrets['names']
    /** Texts of the files that the agent's record names; null: none. */
    promptFile: string | null
    policyFile: string | null
    /** Returns all events of the branch that ends at `leaf`, root first. */
    branch: (leaf: EventId) => Promise<readonly TreeEvent[]>
    /** Budget of the conversation in US dollars; null: no limit. */
    budgetUsd: () => number | null
    /** True when an agent that repeats itself is stopped. */
    detectsStuck: () => boolean
    /** Price of tokens in US dollars; null: unknown. */
    priceOf?: (
      model: string,
      tokens: { input: number; output: number; cacheRead: number; cacheWrite: number },
    ) => Promise<number | null>
    now?: () => Date
    retryDelaysMs?: readonly number[]
  }

/** A prompt that has been sent. */
export type PromptState = {
  turn: PromptTurn
  gate: PermissionGate
  message: MessageEvent
  responseId: string
  running: RunningSession
  prompt: readonly PromptBlock[]
  /** Cost of the session in US dollars when the prompt was sent. */
  costBefore: number
  /** The policy that the session's mode was set for. */
  policy: ConfirmationPolicy
  attempt: number
  /** The reason why we cancelled the prompt; null: not cancelled. */
  cancelReason: 'superseded' | 'budget' | 'stuck' | null
  repetition: RepetitionDetector
  /** Description of the repetition; null: none. */
  stuckDetail: string | null
  /** Ends the subscription to the session's updates. */
  unsubscribe: () => void
}
