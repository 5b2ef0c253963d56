/**
 * Analysis of tool calls for conversations. An analyzer's configuration is part of a conversation's state and so of its log:
 * one that cannot be opened is refused before it is stored, and its secrets are stored encrypted.
 */
import type { SecurityAnalyzer } from '@parley/protocol'
import { sealRecord, unsealRecord, type Cipher } from '../secrets/index.ts'
import type { AnalysisContext, AnalyzedCall, Analyzer, Assessment } from './analyzer.ts'
import { openAnalyzer, type AnalyzerDeps } from './open-analyzer.ts'

/** Assesses one call with the conversation's current analyzer. */
export type Analyze = (
  stored: SecurityAnalyzer,
  call: AnalyzedCall,
  context: AnalysisContext,
  signal: AbortSignal,
) => Promise<Assessment>

export type Analysis = {
  /** @param stored a configuration as `accept` returned it */
  analyze: Analyze
  /** The configuration as it is stored. @throws ParleyError `invalid_input` for one that cannot be opened. */
  accept(requested: SecurityAnalyzer): SecurityAnalyzer
}

export type AnalysisDeps = AnalyzerDeps & { cipher: Cipher }

/** Opens each configuration once, for as long as something refers to it. */
export function openAnalysis(deps: AnalysisDeps): Analysis {
  const opened = new WeakMap<SecurityAnalyzer, Analyzer>()
  return {
    async analyze(stored, call, context, signal) {
      const analyzer = opened.get(stored) ?? openAnalyzer(unsealRecord(stored, deps.cipher) as SecurityAnalyzer, deps)
      opened.set(stored, analyzer)
      return analyzer.assess(call, context, signal)
    },
    accept(requested) {
      openAnalyzer(requested, deps)
      return sealRecord(requested, deps.cipher) as SecurityAnalyzer
    },
  }
}
