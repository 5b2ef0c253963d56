import { expect, test } from 'vitest'
import { LIMITS, openLimits } from './limits.ts'

test('a value of a user goes before that of everyone, and that before the default; 0 is no limit', () => {
  const users = new Map([['ann', { runs: 0 }]])
  expect(openLimits({ everyone: {}, users }, true)('bob').runs).toBe(LIMITS.runs)
  expect(openLimits({ everyone: { runs: 3 }, users }, true)('bob').runs).toBe(3)
  expect(openLimits({ everyone: { runs: 3 }, users }, true)('ann').runs).toBe(Infinity)
})

test('with one user there are no limits besides those that are set', () => {
  expect(openLimits({ everyone: {}, users: new Map() }, false)('ann').runs).toBe(Infinity)
  expect(openLimits({ everyone: { runs: 3 }, users: new Map() }, false)('ann').runs).toBe(3)
})
