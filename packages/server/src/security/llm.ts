/** Analyzer that takes the risk that the model itself predicted. Source: agent-core.md 4.10; F51. */
import { assessmentOf, type Analyzer } from './analyzer.ts'

/** Models predict no risk for built-in tools that change nothing; those calls are LOW. */
export function openLlmAnalyzer(): Analyzer {
  return {
    assess: ({ predicted_risk, is_read_only }) => {
      if (is_read_only || predicted_risk === 'LOW') return Promise.resolve(assessmentOf('LOW'))
      const text =
        predicted_risk === 'UNKNOWN'
          ? 'the model gave no risk'
          : `the model rates its own call as ${predicted_risk.toLowerCase()} risk`
      return Promise.resolve(assessmentOf(predicted_risk, 'LLMSecurityAnalyzer', { rule: null, text }))
    },
  }
}
