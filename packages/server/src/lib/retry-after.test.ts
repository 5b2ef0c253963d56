import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')

test.each<[string | null | undefined, number | null]>([
  ['120', 120_000],
  [' 3 ', 3_000],
  ['0.5', 500],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['1.2.3', null],
  ['-5 minutes', null],
  ['soon', null],
  ['', null],
  [null, null],
  [undefined, null],
])('a Retry-After header of %o asks for %o ms', (header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms)
})
