import { expect, test } from 'vitest'
import { GIVE_UP_MS, classifyResponse, MAX_WAIT_MS, MIN_FAILING_MS, type DeliveryResponse } from './retry.ts'

const response = (status: number, retryAfterMs: number | null = null): DeliveryResponse => ({
  kind: 'response',
  status,
  retryAfterMs,
})
const first = { baseMs: 1000, attempts: 1, ageMs: 0, sinceFirstMs: 0 }
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
])('a response of %i leaves a delivery %s', (status, decision) => {
  expect(classifyResponse(response(status), first).status).toBe(decision)
})

test('an attempt without a response is repeated', () => {
  expect(classifyResponse({ kind: 'no_response', reason: 'ECONNREFUSED' }, first)).toMatchObject({
    status: 'pending',
    reason: 'ECONNREFUSED',
  })
})

test('a delivery that did not reach its target stays due, whatever its age', () => {
  const old = { ...first, ageMs: 2 * GIVE_UP_MS, sinceFirstMs: 2 * GIVE_UP_MS }
  expect(classifyResponse({ kind: 'unreachable', reason: 'ECONNREFUSED' }, old)).toEqual({
    status: 'pending',
    waitMs: 0,
    reason: 'ECONNREFUSED',
  })
})

test('waits double up to the longest, and jitter keeps at least half of each', () => {
  const waits = (random: () => number) =>
    [1, 2, 3, 4, 30].map((attempts) => {
      const decision = classifyResponse(response(500), { ...first, attempts }, random)
      return decision.status === 'pending' ? decision.waitMs : null
    })
  expect(waits(LONGEST)).toEqual([1000, 2000, 4000, 8000, MAX_WAIT_MS])
  expect(waits(() => 0)).toEqual([500, 1000, 2000, 4000, MAX_WAIT_MS / 2])
})

test('a longer wait in Retry-After is honoured', () => {
  expect(classifyResponse(response(503, 60_000), first)).toMatchObject({ waitMs: 60_000 })
  expect(classifyResponse(response(503, 10), first, LONGEST)).toMatchObject({ waitMs: 1000 })
})

test('a delivery is given up after a last attempt one day after its creation', () => {
  const late = { ...first, attempts: 90, ageMs: GIVE_UP_MS - 5, sinceFirstMs: MIN_FAILING_MS }
  expect(classifyResponse(response(503, 60_000), late)).toMatchObject({ status: 'pending', waitMs: 5 })
  expect(classifyResponse(response(500), { ...late, ageMs: GIVE_UP_MS })).toEqual({
    status: 'parked',
    reason: 'HTTP 500; given up after a day',
  })
})

test('an old delivery is tried for 15 minutes before it is given up', () => {
  const old = { ...first, attempts: 90, ageMs: 7 * GIVE_UP_MS, sinceFirstMs: MIN_FAILING_MS - 5 }
  expect(classifyResponse(response(500), old)).toMatchObject({ status: 'pending', waitMs: 5 })
  expect(classifyResponse(response(500), { ...old, sinceFirstMs: MIN_FAILING_MS }).status).toBe('parked')
})

test('no wait is longer than a day, even when the clock was set back since the delivery was queued', () => {
  const future = { ...first, ageMs: -365 * GIVE_UP_MS, sinceFirstMs: -365 * GIVE_UP_MS }
  expect(classifyResponse(response(503, 30 * GIVE_UP_MS), future)).toMatchObject({ waitMs: GIVE_UP_MS })
})
