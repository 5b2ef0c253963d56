/** Who judges what an agent is about to conclude. Source: agent-core.md 3.3, 3.4; F48. */
import type { Action, CriticResult, TreeEvent } from '@parley/protocol'
import type { LlmTool } from '../../llm/index.ts'

/** What is judged, before it is stored: a call, or a message that ends the run. */
export type Judgeable =
  | { kind: 'action'; action: Action; thought: string; name: string; arguments: string }
  | { kind: 'message'; text: string }

/** What a critic may look at. */
export type Evidence = {
  judged: Judgeable
  /** The active branch as the model sees it, without what is judged. */
  history: readonly TreeEvent[]
  tools: readonly LlmTool[]
  /** Whether the working directory holds changes; null where there is no repository. Asked only by who needs it. */
  hasChanges: () => Promise<boolean | null>
}

export interface Critic {
  /** Null when it has nothing to say. Rejects when it fails: whoever asks goes on without a result. */
  evaluate(evidence: Evidence, signal: AbortSignal): Promise<CriticResult | null>
}
