/** When a person is asked, as the pages show it: from the settings, from a conversation, and back. Pure. */

export const ANALYZERS = ['pattern', 'policy_rail', 'llm'] as const
export type Analyzer = (typeof ANALYZERS)[number]
export const RISKS = ['LOW', 'MEDIUM', 'HIGH'] as const
type Risk = (typeof RISKS)[number]
export const MOMENTS = ['risky', 'always', 'never'] as const

export type Policy = {
  readonly when: (typeof MOMENTS)[number]
  /** The lowest risk that needs an approval; an unknown risk always needs one. */
  readonly from: Risk
  /** What rates the risk of an action; the highest risk counts. */
  readonly analyzers: readonly Analyzer[]
}

/** The members of the settings that are the policy of new conversations. */
export type PolicySettings = {
  readonly confirmation_mode: boolean | null
  readonly confirmation_threshold: Risk | null
  readonly security_analyzer: string | null
}

/** The policy of pages for a user who has chosen none. */
export const DEFAULT_POLICY: Policy = { when: 'risky', from: 'MEDIUM', analyzers: ['pattern', 'llm'] }

const KINDS = {
  pattern: 'PatternSecurityAnalyzer',
  policy_rail: 'PolicyRailSecurityAnalyzer',
  llm: 'LLMSecurityAnalyzer',
} as const

/** Names of analyzers in the settings without their punctuation and the ending of a kind. */
const NAMED: Readonly<Record<string, readonly Analyzer[]>> = {
  pattern: ['pattern'],
  policyrail: ['policy_rail'],
  llm: ['llm'],
  ensemble: ['pattern', 'policy_rail'],
  invariant: ['pattern', 'policy_rail'],
}

export function policyOfSettings(settings: PolicySettings): Policy {
  const { confirmation_mode, confirmation_threshold, security_analyzer } = settings
  if (confirmation_mode === null) return DEFAULT_POLICY
  const analyzers = analyzersNamed(security_analyzer ?? '')
  const from = confirmation_threshold ?? 'HIGH'
  if (confirmation_mode && analyzers.length > 0) return { when: 'risky', from, analyzers }
  return { ...DEFAULT_POLICY, when: confirmation_mode ? 'always' : 'never' }
}

function analyzersNamed(names: string): readonly Analyzer[] {
  const words = names.split(',').map((name) =>
    name
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '')
      .replace(/(?:security)?analyzer$/, ''),
  )
  const found = words.flatMap((word) => NAMED[word] ?? [])
  return ANALYZERS.filter((one) => found.includes(one))
}

/** The members of the settings for a policy. Without an analyzer, every action needs an approval. */
export function settingsOf({ when, from, analyzers }: Policy): Partial<PolicySettings> {
  if (when === 'never') return { confirmation_mode: false }
  if (when === 'always') return { confirmation_mode: true, security_analyzer: 'none' }
  return { confirmation_mode: true, security_analyzer: analyzers.join(','), confirmation_threshold: from }
}

type AnalyzerRecord = { kind: string; analyzers?: readonly AnalyzerRecord[] }
type PolicyRecord = { kind: string; threshold?: string }

/** The records that a conversation takes. */
export function recordsOf({ when, from, analyzers }: Policy): {
  policy: PolicyRecord & { confirm_unknown?: boolean }
  analyzer: AnalyzerRecord | null
} {
  if (when !== 'risky')
    return { policy: { kind: when === 'always' ? 'AlwaysConfirm' : 'NeverConfirm' }, analyzer: null }
  const records = analyzers.map((one) => ({ kind: KINDS[one] }))
  const [first = null, ...others] = records
  return {
    policy: { kind: 'ConfirmRisky', threshold: from, confirm_unknown: true },
    analyzer: others.length === 0 ? first : { kind: 'EnsembleSecurityAnalyzer', analyzers: records },
  }
}

/** The policy of a conversation; `analyzers` is null when one of them is configured in another way than the pages offer. */
export function policyOfRecords(
  policy: { readonly kind?: unknown; readonly threshold?: unknown },
  analyzer: unknown,
): Omit<Policy, 'analyzers'> & { readonly analyzers: readonly Analyzer[] | null } {
  const when = policy.kind === 'AlwaysConfirm' ? 'always' : policy.kind === 'ConfirmRisky' ? 'risky' : 'never'
  const from = RISKS.find((risk) => risk === policy.threshold) ?? (when === 'risky' ? 'HIGH' : DEFAULT_POLICY.from)
  return { when, from, analyzers: analyzersIn(analyzer) }
}

function analyzersIn(record: unknown): readonly Analyzer[] | null {
  if (typeof record !== 'object' || record === null) return []
  const { kind, analyzers } = record as Partial<AnalyzerRecord>
  if (kind !== 'EnsembleSecurityAnalyzer') {
    const own = ANALYZERS.find((one) => KINDS[one] === kind)
    return own === undefined ? null : [own]
  }
  const found = (analyzers ?? []).map(analyzersIn)
  if (found.includes(null)) return null
  return ANALYZERS.filter((one) => found.some((list) => list?.includes(one)))
}
