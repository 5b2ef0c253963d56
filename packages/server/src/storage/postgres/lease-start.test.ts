import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { startRelay } from '../../../testing/relay.ts'
import { until } from '../../../testing/until.ts'
import { openLease } from './lease.ts'

test('a node takes its lease although the database does not answer its first connection in time', async () => {
  await using database = await testDatabase()
  await using relay = await startRelay(database.url)
  relay.state = 'silent'
  const url = new URL(database.url)
  url.host = new URL(relay.url).host
  const opening = openLease({ url: String(url), name: 'test', node: 1, leaseMs: 3_000 })
  // The first connection was given up, and another one arrives.
  await until(() => relay.connections > 1)
  relay.state = 'open'
  await using lease = await opening
  expect(lease.isConfirmed).toBe(true)
})
