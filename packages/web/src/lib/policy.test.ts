import { expect, test } from 'vitest'
import { DEFAULT_POLICY, type Policy, policyOfRecords, policyOfSettings, recordsOf, settingsOf } from './policy.ts'

const NONE = { confirmation_mode: null, confirmation_threshold: null, security_analyzer: null }
const POLICIES: readonly Policy[] = [
  { when: 'risky', from: 'HIGH', analyzers: ['pattern', 'policy_rail', 'llm'] },
  { when: 'risky', from: 'LOW', analyzers: ['llm'] },
  { ...DEFAULT_POLICY, when: 'always' },
  { ...DEFAULT_POLICY, when: 'never' },
]

test.each(POLICIES)('the policy %o is read from the settings and the records that it is stored as', (policy) => {
  expect(policyOfSettings({ ...NONE, ...settingsOf(policy) })).toEqual(policy)
  const { policy: record, analyzer } = recordsOf(policy)
  const read = policyOfRecords(record, analyzer)
  expect(read.when).toBe(policy.when)
  if (policy.when === 'risky') expect(read).toEqual(policy)
})

test('a user without a choice is asked about risky actions, and one without a known analyzer about every action', () => {
  expect(policyOfSettings(NONE)).toEqual(DEFAULT_POLICY)
  expect(policyOfSettings({ ...NONE, confirmation_mode: true, security_analyzer: 'another' }).when).toBe('always')
})

test('other spellings of the settings are understood', () => {
  const { analyzers } = policyOfSettings({ ...NONE, confirmation_mode: true, security_analyzer: 'invariant' })
  expect(analyzers).toEqual(['pattern', 'policy_rail'])
  const kind = policyOfSettings({ ...NONE, confirmation_mode: true, security_analyzer: 'LLMSecurityAnalyzer' })
  expect(kind).toEqual({ when: 'risky', from: 'HIGH', analyzers: ['llm'] })
})

test('an analyzer that the pages do not offer is not mistaken for another one', () => {
  const ensemble = { kind: 'EnsembleSecurityAnalyzer', analyzers: [{ kind: 'LLMSecurityAnalyzer' }, { kind: 'X' }] }
  expect(policyOfRecords({ kind: 'ConfirmRisky', threshold: 'LOW' }, ensemble).analyzers).toBe(null)
})
