/** Another model for an agent. Source: agent-core.md 3.2 (switching), 10.9. */
import type { Agent as AgentConfig, Condenser, LLM } from '@parley/protocol'

/** The configuration with another model. A summariser that had the agent's own model follows, and keeps its bucket of costs. */
export function withLlm(config: AgentConfig, llm: LLM): AgentConfig {
  const { condenser } = config
  return { ...config, llm, condenser: condenser === null ? null : following(condenser, config.llm, llm) }
}

function following(condenser: Condenser, before: LLM, after: LLM): Condenser {
  switch (condenser.kind) {
    case 'PipelineCondenser':
      return { ...condenser, condensers: condenser.condensers.map((part) => following(part, before, after)) }
    case 'LLMSummarizingCondenser':
      return isSame(condenser.llm, before)
        ? { ...condenser, llm: { ...after, usage_id: condenser.llm.usage_id } }
        : condenser
    case 'NoOpCondenser':
      return condenser
  }
}

/** Whether two configurations mean the same model; how it is watched and counted is beside the point. */
const isSame = (a: LLM, b: LLM): boolean =>
  JSON.stringify({ ...a, usage_id: '', stream: false }) === JSON.stringify({ ...b, usage_id: '', stream: false })
