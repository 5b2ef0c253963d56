import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { testDatabase, type TestDatabase } from '../../../testing/postgres.ts'
import { startRelay } from '../../../testing/relay.ts'
import { until } from '../../../testing/until.ts'
import { openLease } from './lease.ts'
import { LEASE_CLASS } from './liveness.ts'

const HOLDER = fileURLToPath(new URL('./held-lease.testing.ts', import.meta.url))
const NODE = 7
/** Short, so that tests are; a busy machine loses it, and takes it again. */
const SHORT_MS = 1_500
/** Longer than a test. */
const LONG_MS = 120_000

const HELD_SQL = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LEASE_CLASS} AND objid = ${NODE} AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
const holdersIn = async (database: TestDatabase) =>
  (await database.query<{ pid: number }>(HELD_SQL)).map(({ pid }) => pid)

/** The address of the database through a relay. */
async function relayed(database: TestDatabase) {
  const relay = await startRelay(database.url)
  const url = new URL(database.url)
  url.port = new URL(relay.url).port
  return Object.assign(relay, { database: String(url) })
}

const held = (url: string, leaseMs: number, node = NODE) => openLease({ url, name: 'test', node, leaseMs })

test('a lease is free as soon as its process is killed', async () => {
  await using database = await testDatabase()
  const child = spawn(process.execPath, [HOLDER, database.url, String(NODE), String(LONG_MS)], { stdio: 'inherit' })
  try {
    await until(async () => (await holdersIn(database)).length === 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await until(async () => (await holdersIn(database)).length === 0)
  } finally {
    child.kill('SIGKILL')
  }
}, 60_000)

test('the lease of a frozen process ends, and the process takes its own number again when it wakes up', async () => {
  await using database = await testDatabase()
  const child = spawn(process.execPath, [HOLDER, database.url, String(NODE), String(SHORT_MS)], { stdio: 'inherit' })
  try {
    await until(async () => (await holdersIn(database)).length === 1)
    child.kill('SIGSTOP')
    await until(async () => (await holdersIn(database)).length === 0)
    child.kill('SIGCONT')
    await until(async () => (await holdersIn(database)).length === 1)
  } finally {
    child.kill('SIGKILL')
  }
}, 60_000)

test('a node whose questions get no answer has given its lease up before the database ends it, and takes it again', async () => {
  await using database = await testDatabase()
  await using relay = await relayed(database)
  await using lease = await held(relay.database, SHORT_MS)
  await until(() => lease.isConfirmed)
  const { session } = lease
  relay.state = 'silent'
  while ((await holdersIn(database)).length > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(lease.isConfirmed).toBe(false)
  expect(await lease.ping()).toBe(false)
  relay.state = 'open'
  await until(() => lease.isConfirmed)
  expect(lease.session).toBeGreaterThan(session)
  expect(await holdersIn(database)).toHaveLength(1)
}, 60_000)

test('a node takes its number from an earlier session of its own that the database has not ended yet', async () => {
  await using database = await testDatabase()
  await using relay = await relayed(database)
  await using _earlier = await held(relay.database, LONG_MS)
  const [before] = await holdersIn(database)
  // Nothing that the database sends to its end arrives.
  relay.state = 'silent'
  await using again = await held(database.url, LONG_MS)
  expect(again.isConfirmed).toBe(true)
  const after = await holdersIn(database)
  expect(after).toHaveLength(1)
  expect(after).not.toContain(before)
  relay.state = 'refused'
}, 60_000)

test('listeners learn of a session that the database has ended, and of the next one', async () => {
  await using database = await testDatabase()
  await using lease = await held(database.url, LONG_MS)
  const told: boolean[] = []
  using _listening = lease.onSession((isHeld) => told.push(isHeld))
  await database.query(`SELECT pg_terminate_backend(${(await holdersIn(database))[0]})`)
  await until(() => told.length === 2)
  expect(told).toEqual([false, true])
  expect(lease.isConfirmed).toBe(true)
}, 60_000)

test('after a jump of the wall clock, a lease is confirmed only by another question', async () => {
  await using database = await testDatabase()
  await using lease = await held(database.url, LONG_MS)
  expect(lease.isConfirmed).toBe(true)
  const clock = vi.spyOn(Date, 'now')
  try {
    const jumped = performance.timeOrigin + performance.now() + LONG_MS
    clock.mockImplementation(() => jumped)
    expect(lease.isConfirmed).toBe(false)
    expect(await lease.ping()).toBe(true)
    expect(lease.isConfirmed).toBe(true)
  } finally {
    clock.mockRestore()
  }
}, 60_000)

test('conversations of other nodes may be taken when the session is as old as a lease, and not before', async () => {
  await using database = await testDatabase()
  await using young = await held(database.url, LONG_MS)
  expect(young.mayTakeOver).toBe(false)
  await using lease = await held(database.url, SHORT_MS, NODE + 1)
  await until(() => lease.mayTakeOver)
}, 60_000)

test('a named lock has one holder, and is free when it is given back, or when its session ends', async () => {
  await using database = await testDatabase()
  await using first = await held(database.url, LONG_MS)
  const second = await held(database.url, LONG_MS, NODE + 1)
  expect(await Promise.all([first.tryLock('a'), first.tryLock('a')])).toEqual([true, true])
  expect([await second.tryLock('a'), await second.tryLock('b')]).toEqual([false, true])
  await first.unlock('a')
  expect(await second.tryLock('a')).toBe(true)
  await second[Symbol.asyncDispose]()
  await until(() => first.tryLock('b'))
}, 60_000)
