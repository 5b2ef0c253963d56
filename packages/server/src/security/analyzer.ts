/** Interface of security analyzers, and the data that they assess. Source: agent-core.md 4.3. */
import type { Action, EventId, MessageToolCall, SecurityRisk, TokenUsage, TreeEvent } from '@parley/protocol'

/** A tool call that has been parsed but not stored yet. */
export type AnalyzedCall = {
  action_id: EventId
  tool_name: string
  action: Action
  /** The call as it will be stored; the arguments are JSON text. */
  tool_call: Pick<MessageToolCall, 'id' | 'name' | 'arguments'>
  /** Predicted fields (`summary`, `security_risk`) that the tool declares itself, so that they are arguments (F52). */
  own_fields?: readonly string[]
  /** The model's own estimate; UNKNOWN when it gave none or was not asked. */
  predicted_risk: SecurityRisk
  summary: string | null
  /** Visible text of the answer that contains the call; only the first call of an answer has it and `reasoning`. */
  thought: string
  reasoning: string | null
  /** True when the tool is built in and changes nothing. Claims of MCP servers and client tools do not count (F16). */
  is_read_only: boolean
}

/** The context of a call. */
export type AnalysisContext = {
  /** The active branch as the model sees it, oldest first, without the answer that contains the call. */
  history: readonly TreeEvent[]
  /** Calls of the same answer that come before this one. */
  earlier: readonly AnalyzedCall[]
  /** Absolute path of the workspace; null when there is none. */
  working_dir: string | null
}

/** Cost of one model request of an analysis. */
export type AnalysisCost = {
  usage_id: string
  model: string
  response_id: string
  tokens: Omit<TokenUsage, 'response_id'>
  /** US dollars; null: no price is known. */
  cost: number | null
  /** Seconds. */
  latency: number
}

export type Assessment = { risk: SecurityRisk; costs: readonly AnalysisCost[] }

/**
 * An analyzer of one kind. It keeps no state of a conversation, so that the result is the same after a restart or with another
 * owner. It ends within its own time limit. The caller treats an error as HIGH. Rejects with the signal's reason on abort.
 */
export interface Analyzer {
  assess(call: AnalyzedCall, context: AnalysisContext, signal: AbortSignal): Promise<Assessment>
}

/** An assessment without costs. */
export const assessmentOf = (risk: SecurityRisk): Assessment => ({ risk, costs: [] })
