import { expect, test } from 'vitest'
import { TargetAvailability } from './availability.ts'

const open = () => new TargetAvailability(1000, () => 1)

test('a reachable target has all slots minus the running attempts', () => {
  const availability = open()
  expect(availability.freeSlots(0, 16, 0)).toBe(16)
  expect(availability.freeSlots(16, 16, 0)).toBe(0)
  expect(availability.probeInMs(0)).toBeNull()
})

test('an unreachable target is probed by one attempt at a time, at growing intervals of at most 30 s', () => {
  const availability = open()
  let now = 0
  const waits: number[] = []
  for (let probe = 0; probe < 8; probe += 1) {
    availability.onUnreachable(now)
    expect(availability.freeSlots(0, 16, now)).toBe(0)
    const wait = availability.probeInMs(now)!
    waits.push(wait)
    now += wait
    expect(availability.freeSlots(0, 16, now)).toBe(1)
    expect(availability.freeSlots(1, 16, now)).toBe(0)
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test('failures of concurrent attempts count once', () => {
  const availability = open()
  for (let attempt = 0; attempt < 16; attempt += 1) availability.onUnreachable(attempt)
  expect(availability.probeInMs(0)).toBe(1000)
})

test('one response of any kind frees all slots', () => {
  const availability = open()
  availability.onUnreachable(0)
  availability.onResponse()
  expect(availability.freeSlots(0, 16, 1)).toBe(16)
  availability.onUnreachable(10)
  expect(availability.probeInMs(10)).toBe(1000)
})

test('the time without a connection counts from the first failure to the next response', () => {
  const availability = open()
  expect(availability.unreachableMs(5)).toBe(0)
  availability.onUnreachable(10)
  availability.onUnreachable(5000)
  expect(availability.unreachableMs(6010)).toBe(6000)
  availability.onResponse()
  expect(availability.unreachableMs(7000)).toBe(0)
})
