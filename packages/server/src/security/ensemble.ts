/** Several analyzers, whose highest risk counts. Source: agent-core.md 4.8; F24. */
import type { EnsembleSecurityAnalyzer, SecurityRisk } from '@parley/protocol'
import { RISK_ORDER } from './risk.ts'
import { type Analyzer, type Assessment, FAILED_ANALYSIS } from './analyzer.ts'

/** The analyzers run in parallel; an error of one counts as HIGH. */
export function openEnsemble({ propagate_unknown }: EnsembleSecurityAnalyzer, children: readonly Analyzer[]): Analyzer {
  return {
    async assess(call, context, signal) {
      const pending = children.map(async (child): Promise<Assessment> => {
        try {
          return await child.assess(call, context, signal)
        } catch {
          signal.throwIfAborted()
          return FAILED_ANALYSIS
        }
      })
      const assessments = await Promise.all(pending)
      const risks = assessments.map(({ risk }) => risk)
      return {
        risk: combine(risks, propagate_unknown),
        costs: assessments.flatMap(({ costs }) => costs),
        reasons: assessments.flatMap(({ reasons }) => reasons),
      }
    },
  }
}

/** HIGH if any risk is HIGH (F24); else UNKNOWN if it propagates or all risks are unknown; else the highest. */
export function combine(risks: readonly SecurityRisk[], propagatesUnknown: boolean): SecurityRisk {
  if (risks.includes('HIGH')) return 'HIGH'
  if (propagatesUnknown && risks.includes('UNKNOWN')) return 'UNKNOWN'
  const concrete = risks.filter((risk) => risk !== 'UNKNOWN')
  return concrete.length === 0 ? 'UNKNOWN' : concrete.reduce((a, b) => (RISK_ORDER[a] >= RISK_ORDER[b] ? a : b))
}
