import { expect, test } from 'vitest'
import { GIVE_UP_MS, judge, LONGEST_WAIT_MS, retryAfterMs, type Answer } from './retry.ts'

const answered = (status: number, retryAfterMs: number | null = null): Answer => ({
  kind: 'answered',
  status,
  retryAfterMs,
})
const first = { baseMs: 1000, attempts: 1, sinceFirstMs: 0 }
const LONGEST = () => 1

test.each<[number, string]>([
  [200, 'delivered'],
  [201, 'delivered'],
  [204, 'delivered'],
  [301, 'pending'],
  [400, 'parked'],
  [401, 'parked'],
  [404, 'parked'],
  [408, 'pending'],
  [409, 'pending'],
  [410, 'parked'],
  [422, 'parked'],
  [425, 'pending'],
  [429, 'pending'],
  [500, 'pending'],
  [503, 'pending'],
])('an answer of %i leaves a delivery %s', (status, verdict) => {
  expect(judge(answered(status), first).status).toBe(verdict)
})

test('silence is tried again', () => {
  expect(judge({ kind: 'silence', reason: 'ECONNREFUSED' }, first)).toMatchObject({
    status: 'pending',
    reason: 'ECONNREFUSED',
  })
})

test('waits double from the first one up to the longest, and are never less than half of that', () => {
  const waits = (random: () => number) =>
    [1, 2, 3, 4, 30].map((attempts) => {
      const verdict = judge(answered(500), { ...first, attempts }, random)
      return verdict.status === 'pending' ? verdict.waitMs : null
    })
  expect(waits(LONGEST)).toEqual([1000, 2000, 4000, 8000, LONGEST_WAIT_MS])
  expect(waits(() => 0)).toEqual([500, 1000, 2000, 4000, LONGEST_WAIT_MS / 2])
})

test('a longer wait that the receiver asked for is honoured', () => {
  expect(judge(answered(503, 60_000), first)).toMatchObject({ waitMs: 60_000 })
  expect(judge(answered(503, 10), first, LONGEST)).toMatchObject({ waitMs: 1000 })
})

test('the last attempt is a day after the first one, and then it is given up', () => {
  const late = { ...first, attempts: 90, sinceFirstMs: GIVE_UP_MS - 5 }
  expect(judge(answered(503, 60_000), late)).toMatchObject({ status: 'pending', waitMs: 5 })
  expect(judge(answered(500), { ...late, sinceFirstMs: GIVE_UP_MS })).toEqual({
    status: 'parked',
    reason: 'HTTP 500; given up after a day',
  })
})

test.each([
  [null, null],
  ['7', 7000],
  ['Thu, 01 Jan 1970 00:00:30 GMT', 20_000],
  ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ['soon', null],
])('Retry-After %j is a wait of %j ms', (header, ms) => {
  expect(retryAfterMs(header, 10_000)).toBe(ms)
})
