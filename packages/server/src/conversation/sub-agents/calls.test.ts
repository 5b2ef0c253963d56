import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { Calls } from './calls.ts'

const one = asConversationId('00000000-0000-4000-8000-000000000001')
const other = asConversationId('00000000-0000-4000-8000-000000000002')
const LONG_MS = 600_000

test('settled waits for all calls of a conversation, also failing ones, and for no others', async () => {
  const calls = new Calls()
  const [first, second, never] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const order: string[] = []
  const performed = [calls.perform(one, () => first!.promise), calls.perform(one, () => second!.promise)]
  void calls.perform(other, () => never!.promise)
  const settled = calls.settled(one, LONG_MS).then(() => order.push('settled'))
  first!.resolve()
  await performed[0]
  order.push('first')
  second!.reject(new Error('failed'))
  await expect(performed[1]).rejects.toThrow('failed')
  await settled
  expect(order).toEqual(['first', 'settled'])
  await calls.settled(one, LONG_MS)
})

test('settled waits no longer than its timeout', async () => {
  const calls = new Calls()
  void calls.perform(one, () => new Promise<never>(() => undefined))
  await calls.settled(one, 1)
})
