/** The door of this room: analyzers by kind. Each kind is a file; this is the one place that knows them all. */
import { ParleyError, unreachable, type SecurityAnalyzer } from '@parley/protocol'
import type { OpenLlm } from '../llm/index.ts'
import type { AnalysisContext, AnalyzedCall, Analyzer, Assessment } from './analyzer.ts'
import { patternBudget, type PatternBudget } from './compile-patterns.ts'
import { openEnsemble } from './ensemble.ts'
import { openGuardrail } from './guardrail-llm.ts'
import { openLlmAnalyzer } from './llm.ts'
import { openPattern } from './pattern.ts'
import { openPolicyRail } from './policy-rail.ts'
import { openVendor, type VendorAccess } from './vendor.ts'

export type { AnalysisContext, AnalyzedCall, Analyzer, Assessment, Spending } from './analyzer.ts'
export { NO_VENDOR_ACCESS, type VendorAccess } from './vendor.ts'
export { fullMatch } from './full-match.ts'
export { isRiskier } from './risk.ts'

export type AnalyzerDeps = {
  openLlm: OpenLlm
  vendor: VendorAccess
  /** Milliseconds for one judgement of a guardrail model. Default: a minute. */
  guardrailLimitMs?: number
}

/** Analyzers within analyzers, and all of them together: each call asks every one. */
const MAX_DEPTH = 8
const MAX_ANALYZERS = 64

/**
 * Makes an analyzer from its configuration. Starts nothing and asks nobody.
 * @throws ParleyError `invalid_input` for a list, an address or a nesting that can't be used.
 */
export function openAnalyzer(record: SecurityAnalyzer, deps: AnalyzerDeps): Analyzer {
  return open(record, deps, { depth: 0, left: { analyzers: MAX_ANALYZERS }, patterns: patternBudget() })
}

function open(
  record: SecurityAnalyzer,
  deps: AnalyzerDeps,
  at: { depth: number; left: { analyzers: number }; patterns: PatternBudget },
): Analyzer {
  if (at.depth > MAX_DEPTH || --at.left.analyzers < 0) {
    const limits = `at most ${MAX_ANALYZERS} analyzers in at most ${MAX_DEPTH} levels`
    throw new ParleyError('invalid_input', `The ensemble is too large: ${limits} are allowed.`, {
      details: { member: 'analyzers' },
    })
  }
  switch (record.kind) {
    case 'PatternSecurityAnalyzer':
      return openPattern(record, at.patterns)
    case 'PolicyRailSecurityAnalyzer':
      return openPolicyRail()
    case 'LLMSecurityAnalyzer':
      return openLlmAnalyzer()
    case 'EnsembleSecurityAnalyzer':
      return openEnsemble(
        record,
        record.analyzers.map((child) => open(child, deps, { ...at, depth: at.depth + 1 })),
      )
    case 'VendorAnalyzer':
    case 'GraySwanAnalyzer':
      return openVendor(record, deps.vendor)
    case 'GuardrailLLMSecurityAnalyzer':
    case 'ToolShieldLLMSecurityAnalyzer':
      return openGuardrail(record, deps.openLlm, deps.guardrailLimitMs)
    default:
      return unreachable(record)
  }
}

/** Asks the analyzer that a conversation has now about one call. */
export type Analyze = (
  record: SecurityAnalyzer,
  call: AnalyzedCall,
  context: AnalysisContext,
  signal: AbortSignal,
) => Promise<Assessment>

/** Opens each configuration once, for as long as something holds it. */
export function openAnalyze(deps: AnalyzerDeps): Analyze {
  const opened = new WeakMap<SecurityAnalyzer, Analyzer>()
  return async (record, call, context, signal) => {
    const analyzer = opened.get(record) ?? openAnalyzer(record, deps)
    opened.set(record, analyzer)
    return analyzer.assess(call, context, signal)
  }
}
