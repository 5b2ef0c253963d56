/** Interface of security analyzers, and the data that they assess. Source: agent-core.md 4.3. */
import type {
  Action,
  EventId,
  MessageToolCall,
  RiskReason,
  SecurityRisk,
  TokenUsage,
  TreeEvent,
} from '@parley/protocol'

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

/** `reasons`: of each analyzer that reports more than LOW. */
export type Assessment = { risk: SecurityRisk; costs: readonly AnalysisCost[]; reasons: readonly RiskReason[] }

/**
 * An analyzer of one kind. It keeps no state of a conversation, so that the result is the same after a restart or with another
 * owner. It ends within its own time limit. The caller treats an error as HIGH. Rejects with the signal's reason on abort.
 */
export interface Analyzer {
  assess(call: AnalyzedCall, context: AnalysisContext, signal: AbortSignal): Promise<Assessment>
}

/** Characters of matched words that a reason shows. */
const MAX_MATCH_CHARS = 200

/** What an analyzer found. `rule`: its stable name; null for a judgement. `match`: the words that it found. */
export type Finding = { rule: string | null; text: string; match?: string | undefined }

export const reasonOf = (analyzer: string, risk: SecurityRisk, { rule, text, match }: Finding): RiskReason => ({
  analyzer,
  risk,
  rule,
  text,
  matches: match === undefined || match.trim() === '' ? [] : [match.trim().slice(0, MAX_MATCH_CHARS)],
})

/** An assessment without costs; its reason, if it has a finding. */
export const assessmentOf = (risk: SecurityRisk, analyzer?: string, finding?: Finding): Assessment => ({
  risk,
  costs: [],
  reasons: analyzer === undefined || finding === undefined ? [] : [reasonOf(analyzer, risk, finding)],
})

/** An analyzer that failed counts as HIGH. */
export const FAILED_ANALYSIS: Assessment = assessmentOf('HIGH', 'SecurityAnalyzer', {
  rule: 'analysis.failed',
  text: 'the analysis failed, which counts as HIGH',
})
