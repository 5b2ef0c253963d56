import { expect, test } from 'vitest'
import { ConfirmationPolicy, needsConfirmation, type ConfirmationPolicyInput, type SecurityRisk } from './policy.ts'

test.each<[ConfirmationPolicyInput, SecurityRisk, boolean]>([
  [{ kind: 'NeverConfirm' }, 'HIGH', false],
  [{ kind: 'AlwaysConfirm' }, 'LOW', true],
  [{ kind: 'ConfirmRisky' }, 'MEDIUM', false],
  [{ kind: 'ConfirmRisky' }, 'HIGH', true],
  [{ kind: 'ConfirmRisky', threshold: 'LOW' }, 'LOW', true],
  [{ kind: 'ConfirmRisky' }, 'UNKNOWN', true],
  [{ kind: 'ConfirmRisky', confirm_unknown: false }, 'UNKNOWN', false],
])('the policy %o requires approval of the risk %s: %s', (policy, risk, asks) => {
  expect(needsConfirmation(ConfirmationPolicy.parse(policy), risk)).toBe(asks)
})

test('a threshold of UNKNOWN is refused', () => {
  const result = ConfirmationPolicy.safeParse({ kind: 'ConfirmRisky', threshold: 'UNKNOWN' })
  expect(result.error?.issues).toMatchObject([{ path: ['threshold'], params: { type: 'value_error' } }])
})
