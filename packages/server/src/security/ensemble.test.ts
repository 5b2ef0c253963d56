import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ConfirmationPolicy, needsConfirmation, type SecurityRisk } from '@parley/protocol'
import { combine } from './ensemble.ts'
import { isRiskier } from './risk.ts'
import { verifies } from '../../../../test/verifies.ts'

const RISKS: readonly SecurityRisk[] = ['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN']
const CONCRETE = ['LOW', 'MEDIUM', 'HIGH'] as const
const risks = fc.array(fc.constantFrom(...RISKS), { minLength: 1, maxLength: 8 })
/** How careful a person has to be: what isn't known comes before what is known to be at most MEDIUM. */
const CARE = { LOW: 0, MEDIUM: 1, UNKNOWN: 2, HIGH: 3 }

test('an unknown risk can not be compared, not even with itself (P32)', () => {
  for (const a of RISKS) {
    for (const b of RISKS) {
      if (a === 'UNKNOWN' || b === 'UNKNOWN') expect(() => isRiskier(a, b)).toThrow(RangeError)
      else expect(isRiskier(a, b)).toBe(RISKS.indexOf(a) >= RISKS.indexOf(b))
    }
    if (a !== 'UNKNOWN') expect([isRiskier(a, a), isRiskier(a, a, { strict: true })]).toEqual([true, false])
  }
})

test('who is asked about one risk is asked about every higher one (P32)', () => {
  for (const threshold of CONCRETE) {
    const policy = ConfirmationPolicy.parse({ kind: 'ConfirmRisky', threshold })
    const asked = CONCRETE.map((risk) => needsConfirmation(policy, risk))
    expect(asked).toEqual(CONCRETE.map((risk) => isRiskier(risk, threshold)))
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
  'the highest of what is known counts, in any order; what is passed on as unknown never hides a HIGH (P33, F24)',
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

test('one more analyzer never makes it less careful (P33, F24)', () => {
  fc.assert(
    fc.property(risks, fc.constantFrom(...RISKS), (list, more) => {
      expect(CARE[combine([...list, more], true)]).toBeGreaterThanOrEqual(CARE[combine(list, true)])
      // Without propagation an UNKNOWN is taken back by whoever knows; known risks never go down.
      if (list.some((risk) => risk !== 'UNKNOWN')) {
        expect(isRiskier(combine([...list, more], false), combine(list, false))).toBe(true)
      }
    }),
  )
  expect(combine(['HIGH', 'UNKNOWN'], true)).toBe('HIGH')
})
