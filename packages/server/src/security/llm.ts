/** The risk that the model itself gave with its call. Source: agent-core.md 4.10; F51. */
import { assessed, type Analyzer } from './analyzer.ts'

/** A model is not asked about tools that can change nothing: those of ours are LOW. */
export function openLlmAnalyzer(): Analyzer {
  return {
    assess: ({ predicted_risk, is_read_only }) => Promise.resolve(assessed(is_read_only ? 'LOW' : predicted_risk)),
  }
}
