import { expect, test } from 'vitest'
import { Buckets } from './buckets.ts'

function clocked(perMinute: number, burst: number) {
  let at = 0
  const buckets = new Buckets({ perMinute, burst, now: () => at })
  return { buckets, pass: (seconds: number) => void (at += seconds * 1000) }
}

test('a full token bucket gives its burst at once, then one token per interval', () => {
  const { buckets, pass } = clocked(60, 3)
  expect([1, 2, 3].map(() => buckets.take('a').left)).toEqual([2, 1, 0])
  expect(buckets.take('a')).toEqual({ isTaken: false, left: 0, nextSeconds: 1, fullSeconds: 3 })
  pass(0.5)
  expect(buckets.take('a').isTaken).toBe(false)
  pass(0.5)
  expect(buckets.take('a')).toMatchObject({ isTaken: true, left: 0 })
  pass(3600)
  expect(buckets.take('a').left).toBe(2)
})

test('a refused take costs no token', () => {
  const { buckets, pass } = clocked(60, 1)
  for (let n = 0; n < 50; n++) buckets.take('a')
  pass(1)
  expect(buckets.take('a').isTaken).toBe(true)
})

test('buckets are independent by name, and look takes no token', () => {
  const { buckets } = clocked(60, 1)
  buckets.take('a')
  expect(buckets.look('a').isTaken).toBe(false)
  expect(buckets.look('b').isTaken).toBe(true)
  expect(buckets.take('b').isTaken).toBe(true)
})

test('a flood of names evicts the least recently used buckets', () => {
  const { buckets } = clocked(60, 1)
  buckets.take('old')
  for (let n = 0; n < 20_000; n++) {
    if (n % 100 === 0) buckets.take('used')
    buckets.take(`name ${n}`)
  }
  expect(buckets.look('used').isTaken).toBe(false)
  expect(buckets.look('old').isTaken).toBe(true)
})
