/** Opens analyzers by kind. Each kind has its own file. */
import { invalidInput, type SecurityAnalyzer, under, unreachable } from '@parley/protocol'
import type { OpenLlm } from '../llm/index.ts'
import type { Analyzer } from './analyzer.ts'
import { patternBudget, type PatternBudget } from './compile-patterns.ts'
import { openEnsemble } from './ensemble.ts'
import { openGuardrail } from './guardrail-llm.ts'
import { openLlmAnalyzer } from './llm.ts'
import { openPattern } from './pattern.ts'
import { openPolicyRail } from './policy-rail.ts'
import { openVendor, type VendorDeps } from './vendor.ts'

export type AnalyzerDeps = VendorDeps & {
  openLlm: OpenLlm
  /** Milliseconds for one assessment of a guardrail model. Default: 60,000. */
  guardrailLimitMs?: number
}

/** Limits of nesting and of the total number, because each call runs every analyzer. */
const MAX_DEPTH = 8
const MAX_ANALYZERS = 64

/**
 * Opens an analyzer from its configuration. Sends no request.
 * @throws ParleyError `invalid_input` for an invalid list, address or nesting.
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
    throw invalidInput(`The ensemble is too large: ${limits} are allowed.`, ['analyzers'])
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
        record.analyzers.map((child, index) =>
          under(['analyzers', index], () => open(child, deps, { ...at, depth: at.depth + 1 })),
        ),
      )
    case 'VendorAnalyzer':
    case 'GraySwanAnalyzer':
      return openVendor(record, deps)
    case 'GuardrailLLMSecurityAnalyzer':
    case 'ToolShieldLLMSecurityAnalyzer':
      return openGuardrail(record, deps.openLlm, deps.guardrailLimitMs)
    default:
      return unreachable(record)
  }
}
