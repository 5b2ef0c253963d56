import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfirmationPolicy, needsConfirmation, type SecurityRisk } from '@parley/protocol'
import { combine } from './ensemble.ts'
import { isRiskier } from './risk.ts'
import { verifies } from '../../../../test/verifies.ts'

const RISKS: readonly SecurityRisk[] = ['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN']
const CONCRETE = ['LOW', 'MEDIUM', 'HIGH'] as const
const risks = fc.array(fc.constantFrom(...RISKS), { minLength: 1, maxLength: 8 })
/** The order of caution: an unknown risk needs more caution than a known MEDIUM. */
const CARE = { LOW: 0, MEDIUM: 1, UNKNOWN: 2, HIGH: 3 }

test('an unknown risk cannot be compared, not even with itself (P32)', () => {
  for (const a of RISKS) {
    for (const b of RISKS) {
      if (a === 'UNKNOWN' || b === 'UNKNOWN') expect(() => isRiskier(a, b)).toThrow(RangeError)
      else expect(isRiskier(a, b)).toBe(RISKS.indexOf(a) >= RISKS.indexOf(b))
    }
    if (a !== 'UNKNOWN') expect([isRiskier(a, a), isRiskier(a, a, { strict: true })]).toEqual([true, false])
  }
})

test('a policy that confirms a risk confirms every higher one (P32)', () => {
  for (const threshold of CONCRETE) {
    const policy = ConfirmationPolicy.parse({ kind: 'ConfirmRisky', threshold })
    const confirmed = CONCRETE.map((risk) => needsConfirmation(policy, risk))
    expect(confirmed).toEqual(CONCRETE.map((risk) => isRiskier(risk, threshold)))
    expect(needsConfirmation(policy, 'UNKNOWN')).toBe(true)
    expect(needsConfirmation({ ...policy, confirm_unknown: false } as ConfirmationPolicy, 'UNKNOWN')).toBe(false)
  }
  expect(() => ConfirmationPolicy.parse({ kind: 'ConfirmRisky', threshold: 'UNKNOWN' })).toThrow(/UNKNOWN/)
  expect(() => ConfirmationPolicy.parse({ kind: 'SometimesConfirm' })).toThrow()
})

verifies(
  [
    'seed.analyzer.ensemble.highest',
    'seed.analyzer.ensemble.all-unknown',
    'seed.analyzer.ensemble.filtered',
    'seed.analyzer.ensemble.propagated',
  ],
  'an ensemble takes the highest known risk in any order, and a propagated UNKNOWN never hides a HIGH (P33, F24)',
  () => {
    fc.assert(
      fc.property(risks, fc.boolean(), fc.nat(), (list, propagates, turn) => {
        const concrete = list.filter((risk) => risk !== 'UNKNOWN')
        const highest = CONCRETE.findLast((risk) => concrete.includes(risk)) ?? 'UNKNOWN'
        const isHidden = propagates && list.includes('UNKNOWN') && highest !== 'HIGH'
        expect(combine(list, propagates)).toBe(isHidden ? 'UNKNOWN' : highest)
        const at = turn % list.length
        expect(combine([...list.slice(at), ...list.slice(0, at)], propagates)).toBe(combine(list, propagates))
      }),
    )
  },
)

test('another analyzer never lowers the caution of an ensemble (P33, F24)', () => {
  fc.assert(
    fc.property(risks, fc.constantFrom(...RISKS), (list, more) => {
      expect(CARE[combine([...list, more], true)]).toBeGreaterThanOrEqual(CARE[combine(list, true)])
      // Without propagation, a known risk replaces an UNKNOWN, and known risks never decrease.
      if (list.some((risk) => risk !== 'UNKNOWN')) {
        expect(isRiskier(combine([...list, more], false), combine(list, false))).toBe(true)
      }
    }),
  )
  expect(combine(['HIGH', 'UNKNOWN'], true)).toBe('HIGH')
})
