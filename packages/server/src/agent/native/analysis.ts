/** What the security room is told about a judged call, and what it cost to ask. Pure. */
import type { Draft } from '@parley/protocol'
import type { AnalyzedCall, Spending } from '../../security/index.ts'
import { propertiesOf, RISK_FIELD, SUMMARY_FIELD, type Tool } from '../../tools/index.ts'
import type { Judged, Said } from '../gateway.ts'

/** `said`: the words of the answer, for its first call only. */
export function analyzedCall(judged: Judged, said: Said | null): AnalyzedCall {
  const { id, tool, action, toolCall, predictedRisk, summary } = judged
  const declared = propertiesOf(tool.parameters)
  const executed = tool.executes?.(action) ?? []
  return {
    action_id: id,
    tool_name: tool.name,
    action,
    tool_call:
      executed.length === 0 ? toolCall : { ...toolCall, arguments: withExecuted(toolCall.arguments, executed) },
    own_fields: [RISK_FIELD, SUMMARY_FIELD].filter((field) => field in declared),
    predicted_risk: predictedRisk,
    summary,
    thought: said?.text ?? '',
    reasoning: said?.reasoning ?? null,
    is_read_only: tool.isReadOnly && !isForeign(tool),
  }
}

/** The arguments, which are an object, with what the call would run among them. */
function withExecuted(json: string, commands: readonly string[]): string {
  return JSON.stringify({ ...(JSON.parse(json) as object), commands })
}

/** Others wrote it, and what they say of it is not taken on trust (F16). A tool of an MCP server is read-only on trust alone. */
function isForeign({ definition }: Tool): boolean {
  return definition.kind === 'ClientTool'
}

/** The record of what an analysis cost. */
export function analysisUsage({ usage_id, model, response_id, cost, latency, tokens }: Spending): Draft {
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
