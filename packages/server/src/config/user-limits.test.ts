import { expect, test } from 'vitest'
import { printedLimits, userLimits } from './user-limits.ts'

const read = (value: unknown) => userLimits.read({ value, origin: 'PARLEY_USER_LIMITS', base: '/' }, '/home/ada')

test('limits are read for everyone and for single users, as an object or as JSON text', () => {
  const listed = { everyone: { runs: 8 }, users: new Map([['ann', { runs: 0 }]]) }
  expect(read({ '*': { runs: 8 }, ann: { runs: 0 } })).toEqual(listed)
  const text = '{"*":{"runs":8},"ann":{"runs":0}}'
  expect(read(text)).toEqual(listed)
  expect(printedLimits(listed)).toBe(text)
  expect(read('{}')).toEqual({ everyone: {}, users: new Map() })
})

test.each([
  [12, /must be an object such as/],
  ['runs=8', /must be an object such as/],
  ['{"*"', /begins like a JSON object/],
  [{ ann: 8 }, /PARLEY_USER_LIMITS: ann must be an object/],
  [{ '': { runs: 8 } }, /user without a name/],
  [{ ann: { run: 8 } }, /PARLEY_USER_LIMITS: ann has an unknown limit "run"; known are runs/],
  [{ ann: { runs: -1 } }, /PARLEY_USER_LIMITS: ann: runs must be a number from 0/],
  [{ ann: { runs: 1.5 } }, /runs must be a number from 0/],
  [{ ann: { runs: '8' } }, /runs must be a number from 0/],
  [{ ann: { constructor: 1 } }, /unknown limit "constructor"/],
])('the limits %j are refused with the reason', (value, reason) => {
  expect(() => read(value)).toThrow(reason)
})
