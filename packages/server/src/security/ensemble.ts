/** Several analyzers, of which the most worried is believed. Source: agent-core.md 4.8; F24. */
import type { EnsembleSecurityAnalyzer, SecurityRisk } from '@parley/protocol'
import { RISK_ORDER } from './risk.ts'
import type { Analyzer, Assessment } from './analyzer.ts'

/** The children are asked at the same time; one that throws counts as HIGH. */
export function openEnsemble({ propagate_unknown }: EnsembleSecurityAnalyzer, children: readonly Analyzer[]): Analyzer {
  return {
    async assess(call, context, signal) {
      const asked = children.map(async (child): Promise<Assessment> => {
        try {
          return await child.assess(call, context, signal)
        } catch {
          signal.throwIfAborted()
          return { risk: 'HIGH', spent: [] }
        }
      })
      const answers = await Promise.all(asked)
      const risks = answers.map(({ risk }) => risk)
      return { risk: combine(risks, propagate_unknown), spent: answers.flatMap(({ spent }) => spent) }
    },
  }
}

/** HIGH whenever one says so (F24); else UNKNOWN where it is passed on, or nothing else was said; else the highest. */
export function combine(risks: readonly SecurityRisk[], propagatesUnknown: boolean): SecurityRisk {
  if (risks.includes('HIGH')) return 'HIGH'
  if (propagatesUnknown && risks.includes('UNKNOWN')) return 'UNKNOWN'
  const concrete = risks.filter((risk) => risk !== 'UNKNOWN')
  return concrete.length === 0 ? 'UNKNOWN' : concrete.reduce((a, b) => (RISK_ORDER[a] >= RISK_ORDER[b] ? a : b))
}
