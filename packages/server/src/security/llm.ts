/** Analyzer that takes the risk that the model itself predicted. Source: agent-core.md 4.10; F51. */
import { assessmentOf, type Analyzer } from './analyzer.ts'

/** Models predict no risk for built-in tools that change nothing; those calls are LOW. */
export function openLlmAnalyzer(): Analyzer {
  return {
    assess: ({ predicted_risk, is_read_only }) => Promise.resolve(assessmentOf(is_read_only ? 'LOW' : predicted_risk)),
  }
}
