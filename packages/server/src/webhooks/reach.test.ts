import { expect, test } from 'vitest'
import { Reach } from './reach.ts'

const open = () => new Reach(1000, () => 1)

test('a target that answers takes as many attempts as are allowed', () => {
  const reach = open()
  expect(reach.room(0, 16, 0)).toBe(16)
  expect(reach.room(16, 16, 0)).toBe(0)
  expect(reach.waitMs(0)).toBeNull()
})

test('a target that is away is looked for by one attempt at a time, ever less often, at least every 30 s', () => {
  const reach = open()
  let now = 0
  const waits: number[] = []
  for (let look = 0; look < 8; look += 1) {
    reach.unreached(now)
    expect(reach.room(0, 16, now)).toBe(0)
    const wait = reach.waitMs(now)!
    waits.push(wait)
    now += wait
    expect(reach.room(0, 16, now)).toBe(1)
    expect(reach.room(1, 16, now)).toBe(0)
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test('attempts that fail together count once', () => {
  const reach = open()
  for (let attempt = 0; attempt < 16; attempt += 1) reach.unreached(attempt)
  expect(reach.waitMs(0)).toBe(1000)
})

test('one answer of any kind and everything may go', () => {
  const reach = open()
  reach.unreached(0)
  reach.answered()
  expect(reach.room(0, 16, 1)).toBe(16)
  reach.unreached(10)
  expect(reach.waitMs(10)).toBe(1000)
})
