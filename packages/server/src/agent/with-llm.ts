/** Switches the model of an agent's configuration. Source: agent-core.md 3.2, 10.9. */
import type { Agent as AgentConfig, Condenser, LLM } from '@parley/protocol'

/**
 * Returns the configuration with another model. A condenser that used the agent's model switches too and keeps its usage id.
 */
export function withLlm(config: AgentConfig, llm: LLM): AgentConfig {
  const { condenser } = config
  return { ...config, llm, condenser: condenser === null ? null : withModel(condenser, config.llm, llm) }
}

function withModel(condenser: Condenser, before: LLM, after: LLM): Condenser {
  switch (condenser.kind) {
    case 'PipelineCondenser':
      return { ...condenser, condensers: condenser.condensers.map((part) => withModel(part, before, after)) }
    case 'LLMSummarizingCondenser':
      return isSame(condenser.llm, before)
        ? { ...condenser, llm: { ...after, usage_id: condenser.llm.usage_id } }
        : condenser
    case 'NoOpCondenser':
      return condenser
  }
}

/** Returns whether two configurations mean the same model; streaming and usage id do not count. */
const isSame = (a: LLM, b: LLM): boolean =>
  JSON.stringify({ ...a, usage_id: '', stream: false }) === JSON.stringify({ ...b, usage_id: '', stream: false })
