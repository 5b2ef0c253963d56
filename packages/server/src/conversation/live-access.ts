/** One conversation in memory as its parts see it: the facts that they may read, and the actions that they may take. */
import type { ConversationId, ConversationState, Draft, StoredEvent } from '@parley/protocol'
import type { ToolServices } from '../tools/index.ts'
import type { Agent } from '../agent/index.ts'
import type { LlmCompletion } from '../llm/index.ts'
import type { Masker } from '../secrets/index.ts'
import type { ConversationRecord } from './record/record.ts'

/** A conversation as its models know it. */
export type ModelUser = {
  readonly id: ConversationId
  readonly owner: string
  /** True while the conversation, or one that it works for, has a budget. */
  readonly hasBudget: () => Promise<boolean>
  /** Stores drafts beside the step in progress, in the background; those of a conversation that leaves memory may be lost. */
  readonly note: (drafts: readonly Draft[]) => void
  /** Takes a request to a model and what came of it for the completion log, in the background. */
  readonly logCompletion: (completion: LlmCompletion) => void
}

export type LiveReader = ModelUser & {
  /** Shows the output of a command while it runs. */
  readonly liveOutput: NonNullable<ToolServices['liveOutput']>
  readonly epoch: number
  /** State as of the last commit. */
  readonly state: () => ConversationState
  /** Record as of the last commit. */
  readonly record: () => ConversationRecord
  /** Hides the secret values that the conversation has at this moment. */
  readonly masker: () => Promise<Masker>
  /** True once this copy has left memory or another owner has taken over. */
  readonly isClosed: () => boolean
}

export type LiveActions = {
  /** Runs `work` alone among everything that changes the conversation. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Runs `work` in a turn. While the store refuses its append, the same work is repeated, with growing waits between the turns.
   * Rejects with the signal's reason as soon as it aborts, and with the error of work that can never be stored. `isForced`: such
   * an error is a reason to repeat the work, too.
   */
  readonly untilStored: <T>(work: () => Promise<T>, signal: AbortSignal, force?: { isForced: boolean }) => Promise<T>
  /** Checks that the store accepts appends, before work that would be lost without it. @throws the error of the store */
  readonly expectAccepting: () => Promise<void>
  /** Commits the drafts, and the record where one is given. Only in a turn. `isEdited`: a person changed the title or the tags. */
  readonly append: (drafts: readonly Draft[], record?: ConversationRecord, isEdited?: boolean) => Promise<StoredEvent[]>
  /** Runs `work` beside the run. Its signal aborts with the given one, and when the conversation leaves memory. */
  readonly inBackground: <T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal) => Promise<T>
  /** Opens the agent on first use. Rejects when it cannot be opened; the next call tries again. */
  readonly openAgent: () => Promise<Agent>
  /** Returns the agent that is open or being opened; null when there is none. */
  readonly currentAgent: () => Promise<Agent | null>
  /** Takes the conversation through its start. Rejects with the reason that was recorded. */
  readonly start: () => Promise<void>
  /** Starts a run, which waits for the start of the conversation. Does nothing while one is active. */
  readonly startRun: () => void
  /** Sends the whole state to the watchers. */
  readonly emitSnapshot: () => void
}
