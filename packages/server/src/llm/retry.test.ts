import { expect, test } from 'vitest'
import fc from 'fast-check'
import { sleep } from '../lib/index.ts'
import { LlmError } from './llm.ts'
import { waitBefore, withRetries, type Retry } from './retry.ts'

const POLICY = { num_retries: 5, retry_multiplier: 8, retry_min_wait: 8, retry_max_wait: 64 }
const NEVER = new AbortController().signal
const passing = (retryAfter: number | null = null) => ({
  error: new LlmError('LLMRateLimitError', 'slow down', { retryable: true }),
  retryAfter,
})

test.each<[number, number]>([
  [1, 8],
  [2, 16],
  [3, 32],
  [4, 64],
  [5, 64],
])('the wait before retry %i is at most %i s', (attempt, most) => {
  expect(waitBefore(attempt, POLICY, null, () => 0.999_999)).toBeCloseTo(most, 3)
  expect(waitBefore(attempt, POLICY, null, () => 0)).toBe(0)
})

test('a wait is never shorter than the server requests', () => {
  fc.assert(
    fc.property(
      fc.nat(20),
      fc.double({ min: 0, max: 300, noNaN: true }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (attempt, asked, random) => {
        expect(waitBefore(attempt + 1, POLICY, asked, () => random)).toBeGreaterThanOrEqual(asked)
      },
    ),
  )
})

test('each wait is reported and passed to the sleeper', async () => {
  const waits: number[] = []
  const retries: Retry[] = []
  const deps = {
    random: () => 0.5,
    sleep: async (ms: number) => void waits.push(ms),
    onRetry: (retry: Retry) => void retries.push(retry),
  }
  const attempts: number[] = []
  const failures = [passing(), passing(20), passing()]
  const run = withRetries(
    POLICY,
    async (n) => {
      attempts.push(n)
      if (n < 3) throw n
      return 'done'
    },
    (thrown) => failures[thrown as number] ?? passing(),
    deps,
    NEVER,
  )
  await expect(run).resolves.toBe('done')
  expect(attempts).toEqual([0, 1, 2, 3])
  expect(waits).toEqual([4000, 21_000, 16_000])
  expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
})

test('a permanent failure is not retried', async () => {
  let attempts = 0
  const error = new LlmError('LLMAuthenticationError', 'no')
  const run = withRetries(
    POLICY,
    async () => {
      attempts += 1
      throw error
    },
    () => ({ error, retryAfter: null }),
    { random: Math.random, sleep },
    NEVER,
  )
  await expect(run).rejects.toBe(error)
  expect(attempts).toBe(1)
})

test('a failure can limit the retries further', async () => {
  let attempts = 0
  const run = withRetries(
    POLICY,
    () => Promise.reject(new Error(`attempt ${(attempts += 1)}`)),
    () => ({ ...passing(), mostRetries: 1 }),
    { random: Math.random, sleep: async () => {} },
    NEVER,
  )
  await expect(run).rejects.toMatchObject({ code: 'LLMRateLimitError' })
  expect(attempts).toBe(2)
})

test('a requested wait of an hour ends the attempts, and the error says so', async () => {
  const run = withRetries(
    POLICY,
    () => Promise.reject(new Error('x')),
    () => passing(3600),
    { random: Math.random, sleep },
    NEVER,
  )
  await expect(run).rejects.toMatchObject({ code: 'LLMRateLimitError', message: expect.stringContaining('3600 s') })
})

test('an abort ends the wait at once, with its reason', async () => {
  const controller = new AbortController()
  const reason = new Error('stop')
  const waiting = Promise.withResolvers<void>()
  const run = withRetries(
    POLICY,
    () => Promise.reject(new Error('x')),
    () => passing(60),
    { random: () => 0, sleep, onRetry: () => waiting.resolve() },
    controller.signal,
  )
  const outcome = expect(run).rejects.toBe(reason)
  await waiting.promise
  controller.abort(reason)
  await outcome
})
