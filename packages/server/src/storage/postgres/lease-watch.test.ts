import { expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../../../testing/postgres.ts'
import { until } from '../../../testing/until.ts'
import { openLease } from './lease.ts'
import { watchLeases } from './lease-watch.ts'

/** Longer than the test, so that no lease ends by itself. */
const LEASE_MS = 120_000
const RETURN_MS = 3_000

const leaseOf = ({ url }: TestDatabase, node: number) => openLease({ url, name: 'test', node, leaseMs: LEASE_MS })

/** True when a node waits for the end of the lease of another one. */
async function isWatching(database: TestDatabase, node: number): Promise<boolean> {
  const text = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'parley watch ${node}' AND wait_event_type = 'Lock'`
  return (await database.query(text)).length > 0
}

test('the end of each node is noticed by one of the others, whatever their number is', async () => {
  await using database = await testDatabase()
  const leases = new Map<number, Awaited<ReturnType<typeof leaseOf>>>()
  for (const node of [3, 5, 9]) leases.set(node, await leaseOf(database, node))
  for (const [ended, by] of [
    [9, 3],
    [3, 5],
  ] as const) {
    const noticed: number[] = []
    await using _watches = {
      [Symbol.asyncDispose]: async () => void (await Promise.all(watches.map((each) => each[Symbol.asyncDispose]()))),
    }
    const watches = [...leases.keys()]
      .filter((node) => node !== ended)
      .map((node) => watchLeases({ url: database.url, node, onEnded: () => noticed.push(node) }))
    await until(() => isWatching(database, by))
    await leases.get(ended)![Symbol.asyncDispose]()
    leases.delete(ended)
    await until(() => noticed.length > 0)
    expect(noticed).toEqual([by])
  }
  for (const lease of leases.values()) await lease[Symbol.asyncDispose]()
}, 60_000)

test('a node whose connection was broken and that took its lease again is not reported as ended', async () => {
  await using database = await testDatabase()
  const watched = await leaseOf(database, 1)
  await using _lease = await leaseOf(database, 2)
  let sessions = 0
  using _returning = watched.onSession((isHeld) => (sessions += isHeld ? 1 : 0))
  let noticed = 0
  await using _watch = watchLeases({ url: database.url, node: 2, onEnded: () => (noticed += 1), returnMs: RETURN_MS })
  await until(() => isWatching(database, 2))
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley node 1'`,
  )
  await until(async () => sessions === 1 && (await isWatching(database, 2)))
  expect(noticed).toBe(0)
  await watched[Symbol.asyncDispose]()
  await until(() => noticed > 0)
}, 60_000)

test('a lost connection of a watch is opened again', async () => {
  await using database = await testDatabase()
  const watched = await leaseOf(database, 1)
  await using _lease = await leaseOf(database, 2)
  let noticed = 0
  await using _watch = watchLeases({ url: database.url, node: 2, onEnded: () => (noticed += 1) })
  await until(() => isWatching(database, 2))
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley watch 2'`,
  )
  await until(async () => !(await isWatching(database, 2)))
  await until(() => isWatching(database, 2))
  await watched[Symbol.asyncDispose]()
  await until(() => noticed > 0)
}, 60_000)
