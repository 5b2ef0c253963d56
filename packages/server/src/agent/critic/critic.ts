/** A critic scores what an agent is about to conclude. Source: agent-core.md 3.3, 3.4; F48. */
import type { Action, CriticResult, TreeEvent } from '@parley/protocol'
import type { LlmTool } from '../../llm/index.ts'

/** The call, or the message that ends the run, that a critic scores before it is stored. */
export type CriticSubject =
  | { kind: 'action'; action: Action; thought: string; name: string; arguments: string }
  | { kind: 'message'; text: string }

export type CriticInput = {
  subject: CriticSubject
  /** The active branch as the model sees it, without the subject. */
  history: readonly TreeEvent[]
  tools: readonly LlmTool[]
  /**
   * True when the working directory holds changes; null without a repository. Runs git, so only critics that need it call it.
   */
  hasChanges: () => Promise<boolean | null>
}

export interface Critic {
  /** Resolves to null when the critic has no score. A rejection leaves the subject without a score. */
  evaluate(input: CriticInput, signal: AbortSignal): Promise<CriticResult | null>
}
