/** Switches the model of an agent's configuration. Source: agent-core.md 3.2, 10.9. */
import type { Agent as AgentConfig, Condenser, LLM } from '@parley/protocol'
import { isSameModel } from './same-model.ts'

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
      return isSameModel(condenser.llm, before)
        ? { ...condenser, llm: { ...after, usage_id: condenser.llm.usage_id } }
        : condenser
    case 'NoOpCondenser':
      return condenser
  }
}
