/** Who estimates the risk of a call, and what of the call there is to look at. Source: agent-core.md 4.3. */
import type { Action, EventId, MessageToolCall, SecurityRisk, TokenUsage, TreeEvent } from '@parley/protocol'

/** A call that has been understood and not been recorded yet. */
export type AnalyzedCall = {
  action_id: EventId
  tool_name: string
  action: Action
  /** As it will be recorded; the arguments are JSON text. */
  tool_call: Pick<MessageToolCall, 'id' | 'name' | 'arguments'>
  /** Predicted fields (`summary`, `security_risk`) that the tool itself declares; they count as its arguments (F52). */
  own_fields?: readonly string[]
  /** The model's own estimate; UNKNOWN where it gave none or was not asked. */
  predicted_risk: SecurityRisk
  summary: string | null
  /** Visible text and reasoning that came with the call; only the first call of an answer has them. */
  thought: string
  reasoning: string | null
  /** A tool of ours that can change nothing. What MCP servers and client tools say of themselves does not count (F16). */
  is_read_only: boolean
}

/** What stands around a call. */
export type AnalysisContext = {
  /** The active branch as the model sees it, oldest first, without the answer that holds the call. */
  history: readonly TreeEvent[]
  /** Calls of the same answer that come before this one. */
  earlier: readonly AnalyzedCall[]
  /** Absolute path of the workspace; null when there is none. */
  working_dir: string | null
}

/** What an analysis cost, where it asked a model. */
export type Spending = {
  usage_id: string
  model: string
  response_id: string
  tokens: Omit<TokenUsage, 'response_id'>
  /** US dollars; null when no price is known. */
  cost: number | null
  /** Seconds. */
  latency: number
}

export type Assessment = { risk: SecurityRisk; spent: readonly Spending[] }

/**
 * An analyzer of one kind. It holds nothing of any conversation, so that a restart or another owner concludes the same.
 * It ends within a bound of its own; whoever calls it counts a throw as HIGH. Rejects with the signal's reason when aborted.
 */
export interface Analyzer {
  assess(call: AnalyzedCall, context: AnalysisContext, signal: AbortSignal): Promise<Assessment>
}

/** An assessment that cost nothing. */
export const assessed = (risk: SecurityRisk): Assessment => ({ risk, spent: [] })
