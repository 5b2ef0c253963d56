/** Adapts the tools to one model. Source: agent-core.md 8.9. */
import type { LLM } from '@parley/protocol'
import { featuresOf, type LlmTool } from '../../llm/index.ts'
import { RISK_FIELD, SUMMARY_FIELD } from '../../tools/index.ts'

const PATCH = 'apply_patch'

/**
 * Models of the Responses API were trained on `apply_patch` with a single text argument, so the tool has no predicted fields for
 * them; its risk is then UNKNOWN.
 */
export function offeredTo(
  llm: Pick<LLM, 'model' | 'model_canonical_name' | 'capability_overrides' | 'disable_vision'>,
  tools: readonly LlmTool[],
): readonly LlmTool[] {
  if (!featuresOf(llm).responsesApi || !tools.some(({ name }) => name === PATCH)) return tools
  return tools.map((tool) =>
    tool.name === PATCH ? { ...tool, parameters: withoutPredictedFields(tool.parameters) } : tool,
  )
}

function withoutPredictedFields(schema: Record<string, unknown>): Record<string, unknown> {
  const {
    [RISK_FIELD]: _risk,
    [SUMMARY_FIELD]: _summary,
    ...properties
  } = schema['properties'] as Record<string, unknown>
  return { ...schema, properties }
}
