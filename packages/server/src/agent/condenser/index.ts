/** Opens the condenser of a configuration. */
import { unreachable, type Condenser as CondenserConfig, type LLM } from '@parley/protocol'
import type { OpenLlm } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Condenser } from './condenser.ts'
import { SummarizingCondenser } from './llm-summarizing.ts'
import { PipelineOfCondensers } from './pipeline.ts'

export { forgottenIn, type Condenser, type CondenserInput, type CondenserResult } from './condenser.ts'
export { hardRange } from './plan.ts'
export { TokenMeter } from './tokens.ts'

export type CondenserDeps = {
  openLlm: OpenLlm
  log: Pick<Log, 'warn'>
  /** Usage id of the agent's own model; condensers are counted under another one. */
  agentUsageId: string
}

const USAGE_ID = 'condenser'

/** Returns the condenser of a configuration. Starts nothing. */
export function openCondenser(config: CondenserConfig, deps: CondenserDeps): Condenser {
  switch (config.kind) {
    case 'NoOpCondenser':
      return { handlesRequests: false, condense: () => Promise.resolve({ kind: 'keep', spent: [] }) }
    case 'PipelineCondenser':
      return new PipelineOfCondensers(config.condensers.map((part) => openCondenser(part, deps)))
    case 'LLMSummarizingCondenser':
      return new SummarizingCondenser(config, deps.openLlm(summaryLlm(config.llm, deps.agentUsageId)), deps.log)
    default:
      return unreachable(config)
  }
}

/** Returns whether a conversation with this condenser can be condensed on request. */
export function canCondense(config: CondenserConfig | null): boolean {
  if (config === null) return false
  return config.kind === 'PipelineCondenser' ? config.condensers.some(canCondense) : config.kind !== 'NoOpCondenser'
}

/** Without streaming, because summaries have no watchers, and with a usage id of its own. */
function summaryLlm(llm: LLM, agentUsageId: string): LLM {
  return { ...llm, stream: false, usage_id: llm.usage_id === agentUsageId ? USAGE_ID : llm.usage_id }
}
