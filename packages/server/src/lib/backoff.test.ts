import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const LONGEST = () => 1

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [4, 800],
  [5, 1000],
  [5000, 1000],
])('the wait before repetition %i is at most %i ms', (attempt, limit) => {
  expect(backoffMs({ baseMs: 100, maxMs: 1000 }, attempt, LONGEST)).toBe(limit)
})

test('every wait is between 0 and the limit, and both can occur', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(100), (random, attempt) => {
      const wait = backoffMs({ baseMs: 10, maxMs: 5_000, factor: 3 }, attempt, () => random)
      expect(wait).toBeGreaterThanOrEqual(0)
      expect(wait).toBeLessThanOrEqual(5_000)
    }),
  )
  expect(backoffMs({ baseMs: 100, maxMs: 1000 }, 3, () => 0)).toBe(0)
})
