/** The kinds of condensers, and the one place that makes them. */
import { unreachable, type Condenser as CondenserConfig, type LLM } from '@parley/protocol'
import type { OpenLlm } from '../../llm/index.ts'
import type { Condenser, CondenserLog } from './condenser.ts'
import { SummarizingCondenser } from './llm-summarizing.ts'
import { PipelineOfCondensers } from './pipeline.ts'

export { forgottenIn, type Condenser, type Situation, type Verdict } from './condenser.ts'
export { hardRange } from './plan.ts'
export { TokenMeter } from './tokens.ts'

export type CondenserDeps = {
  openLlm: OpenLlm
  log: CondenserLog
  /** The bucket of the agent's own model; a summariser has one of its own. */
  agentUsageId: string
}

const USAGE_ID = 'condenser'

/** The condenser of a configuration. Starts nothing. */
export function openCondenser(config: CondenserConfig, deps: CondenserDeps): Condenser {
  switch (config.kind) {
    case 'NoOpCondenser':
      return { handlesRequests: false, condense: () => Promise.resolve({ kind: 'keep', spent: [] }) }
    case 'PipelineCondenser':
      return new PipelineOfCondensers(config.condensers.map((part) => openCondenser(part, deps)))
    case 'LLMSummarizingCondenser':
      return new SummarizingCondenser(config, deps.openLlm(aside(config.llm, deps.agentUsageId)), deps.log)
    default:
      return unreachable(config)
  }
}

/** Whether a conversation with this configuration can be shortened on request. */
export function canCondense(config: CondenserConfig | null): boolean {
  if (config === null) return false
  return config.kind === 'PipelineCondenser' ? config.condensers.some(canCondense) : config.kind !== 'NoOpCondenser'
}

/** Nobody watches a summary being written, and its cost is counted apart. */
function aside(llm: LLM, agentUsageId: string): LLM {
  return { ...llm, stream: false, usage_id: llm.usage_id === agentUsageId ? USAGE_ID : llm.usage_id }
}
