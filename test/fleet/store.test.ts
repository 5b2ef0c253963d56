/** The store of the fleet tests keeps its promises: without them, a fleet test would blame the nodes. */
import { expect, test } from 'vitest'
import { startFleetStore } from '../../packages/server/testing/fleet-store.ts'

test('the store of a fleet keeps committed rows over a crash and over two promotions of its standby', async () => {
  await using store = await startFleetStore()
  const rows = async () => (await store.query<{ n: number }>('SELECT n FROM t ORDER BY n')).map(({ n }) => n)
  await store.query('CREATE TABLE t (n integer)')
  await store.query('INSERT INTO t VALUES (1)')
  await store.crash()
  await store.start()
  expect(await rows()).toEqual([1])
  for (const n of [2, 3]) {
    await store.addStandby()
    await store.query('INSERT INTO t VALUES ($1)', n)
    const before = store.url
    await store.promote()
    expect(store.url).not.toBe(before)
  }
  expect(await rows()).toEqual([1, 2, 3])
}, 120_000)
