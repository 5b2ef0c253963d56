import { expect, test } from 'vitest'
import { preferredWaitMs } from './prefer-wait.ts'

test.each([
  ['wait=10', 10_000],
  ['respond-async, wait=3', 3000],
  ['wait = "5"; x=1', 5000],
  ['wait=0', 0],
  ['wait=99999', 55_000],
  ['await=5', undefined],
  ['wait=soon', undefined],
  [undefined, undefined],
])('the header Prefer: %s requests a wait of %s ms', (prefer, ms) => {
  expect(preferredWaitMs({ ...(prefer !== undefined && { prefer }) })).toBe(ms)
})
