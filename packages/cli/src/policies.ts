/** The confirmation policies under the names of the command line. */
import { UsageError } from './args.ts'

export const POLICIES = {
  never: { kind: 'NeverConfirm' },
  risky: { kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: true },
  always: { kind: 'AlwaysConfirm' },
} as const
export type PolicyName = keyof typeof POLICIES

/** Rates each action by known patterns and by the model's own estimate; the higher risk counts. */
export const ANALYZER = {
  kind: 'EnsembleSecurityAnalyzer',
  analyzers: [{ kind: 'PatternSecurityAnalyzer' }, { kind: 'LLMSecurityAnalyzer' }],
} as const

/** @throws UsageError for another word */
export function policyNamed(word: string): PolicyName {
  if (!Object.hasOwn(POLICIES, word)) throw new UsageError(`the policy must be never, risky or always, not "${word}"`)
  return word as PolicyName
}

/** Name of a policy in the state of a conversation. */
export function nameOfPolicy(policy: unknown): string {
  const kind = (policy as { kind?: unknown } | null)?.kind
  return kind === 'AlwaysConfirm' ? 'always' : kind === 'ConfirmRisky' ? 'risky' : 'never'
}
