import { newConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { range } from '../../../testing/store-fixtures.ts'
import { openPostgres } from './open.ts'

test('of two nodes that take callbacks at the same time, one gets each, and none is taken from a live node', async () => {
  await using database = await testDatabase()
  await using first = await openPostgres({ url: database.url })
  await using second = await openPostgres({ url: database.url })
  // A handle with a lease of its own takes nothing before that is as old as a lease.
  await using other = await openPostgres({ url: database.url })
  const [ended, left, right] = [await first.nodes.add(), await first.nodes.add(), await second.nodes.add()]
  const callback = (n: number) => ({ id: `${n}`, conversation_id: newConversationId(), is_open: false, json: '{}' })
  await using earlier = await other.shared!.openLease(ended, 60_000)
  await using _left = await other.shared!.openLease(left, 60_000)
  await using _right = await other.shared!.openLease(right, 60_000)
  for (const n of range(1, 60)) await first.callbacks.put(callback(n), ended)
  expect(await first.callbacks.take(left)).toEqual([])
  await earlier[Symbol.asyncDispose]()
  const taken = []
  while (taken.length < 60) {
    const answers = await Promise.all([
      first.callbacks.take(left),
      second.callbacks.take(right),
      first.callbacks.take(left),
      second.callbacks.take(right),
    ])
    taken.push(...answers.flat().map(({ id }) => id))
  }
  expect(new Set(taken).size).toBe(60)
  expect(taken).toHaveLength(60)
})
