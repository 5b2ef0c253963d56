/** What the security room is told about a judged call, and what it cost to ask. Pure. */
import type { Draft } from '@parley/protocol'
import type { AnalyzedCall, Spending } from '../../security/index.ts'
import { propertiesOf, RISK_FIELD, SUMMARY_FIELD, type Tool } from '../../tools/index.ts'
import type { Judged, Said } from '../gateway.ts'

/** `said`: the words of the answer, for its first call only. */
export function analyzedCall(judged: Judged, said: Said | null): AnalyzedCall {
  const { id, tool, action, toolCall, predictedRisk, summary } = judged
  const declared = propertiesOf(tool.parameters)
  return {
    action_id: id,
    tool_name: tool.name,
    action,
    tool_call: toolCall,
    own_fields: [RISK_FIELD, SUMMARY_FIELD].filter((field) => field in declared),
    predicted_risk: predictedRisk,
    summary,
    thought: said?.text ?? '',
    reasoning: said?.reasoning ?? null,
    is_read_only: tool.isReadOnly && !isForeign(tool),
  }
}

/** Others wrote it, and what they say of it is not taken on trust (F16). */
function isForeign({ definition }: Tool): boolean {
  return definition.kind === 'ClientTool' || definition.kind === 'MCPToolDefinition'
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
