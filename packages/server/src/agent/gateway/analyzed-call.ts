/** A prepared call in the form that security analyzers take, and the record of what an analysis cost. Pure. */
import type { Draft } from '@parley/protocol'
import type { AnalyzedCall, AnalysisCost, Assessment } from '../../security/index.ts'
import { propertiesOf, RISK_FIELD, SUMMARY_FIELD, type Tool } from '../../tools/index.ts'
import type { AnswerContext, PreparedCall } from './prepared-call.ts'

/** An analyzer that failed counts as HIGH. Here, because the module of the analyzers is loaded when a conversation first needs one. */
export const FAILED_ANALYSIS: Assessment = {
  risk: 'HIGH',
  costs: [],
  reasons: [
    {
      analyzer: 'SecurityAnalyzer',
      risk: 'HIGH',
      rule: 'analysis.failed',
      text: 'the analysis failed, which counts as HIGH',
      matches: [],
    },
  ],
}

/** @param answer the text of the answer, given with its first call only */
export function analyzedCall(call: PreparedCall, answer: AnswerContext | null): AnalyzedCall {
  const { id, tool, action, toolCall, predictedRisk, summary } = call
  const declared = propertiesOf(tool.parameters)
  const executed = tool.impliedCommands?.(action) ?? []
  return {
    action_id: id,
    tool_name: tool.name,
    action,
    tool_call:
      executed.length === 0 ? toolCall : { ...toolCall, arguments: withExecuted(toolCall.arguments, executed) },
    own_fields: [RISK_FIELD, SUMMARY_FIELD].filter((field) => field in declared),
    predicted_risk: predictedRisk,
    summary,
    thought: answer?.text ?? '',
    reasoning: answer?.reasoning ?? null,
    is_read_only: tool.isReadOnly && !isForeign(tool),
  }
}

/** Adds the commands that the call would run to its arguments. */
function withExecuted(json: string, commands: readonly string[]): string {
  return JSON.stringify({ ...(JSON.parse(json) as object), commands })
}

/**
 * Returns whether the client of the conversation declared the tool; its own claim to be read-only does not count (F16). That
 * of an MCP tool does.
 */
function isForeign({ definition }: Tool): boolean {
  return definition.kind === 'ClientTool'
}

/** The usage record of an analysis. */
export function analysisUsage({ usage_id, model, response_id, cost, latency, tokens }: AnalysisCost): Draft {
  return {
    kind: 'UsageRecordedEvent',
    source: 'environment',
    usage_id,
    model,
    response_id,
    cost,
    latency,
    tokens: { ...tokens, response_id },
  }
}
