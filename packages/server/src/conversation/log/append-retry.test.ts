import { expect, test } from 'vitest'
import { AppendRetry } from './append-retry.ts'

const HOUR_MS = 3_600_000
const never = new AbortController().signal

test('one append after the other is repeated while the store accepts none, the longest wait first', async () => {
  const retry = new AppendRetry(1)
  const order: number[] = []
  await Promise.all([1, 2, 3].map((each) => retry.wait(never).then(() => order.push(each))))
  expect(order).toEqual([1, 2, 3])
})

test('every append is repeated at once when the store can be reached again', async () => {
  const retry = new AppendRetry(HOUR_MS)
  const waits = [retry.wait(never), retry.wait(never)]
  retry.returned()
  await Promise.all(waits)
})

test('the first accepted append ends all waits that have lasted long enough', async () => {
  const retry = new AppendRetry(20)
  const order: string[] = []
  const waits = Array.from({ length: 100 }, () => retry.wait(never).then(() => order.push('repeated')))
  await waits[0]
  retry.accepted()
  // The last one would have waited for the 99 before it.
  const later = retry.wait(never).then(() => order.push('later'))
  await Promise.all([...waits, later])
  expect(order.at(-1)).toBe('later')
  expect(order.filter((each) => each === 'repeated')).toHaveLength(100)
})

test('an aborted wait rejects with the reason', async () => {
  const controller = new AbortController()
  const waiting = new AppendRetry(HOUR_MS).wait(controller.signal)
  controller.abort(new Error('ended'))
  await expect(waiting).rejects.toThrow('ended')
})
