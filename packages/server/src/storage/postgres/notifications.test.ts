import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { range } from '../../../testing/store-fixtures.ts'
import { until } from '../../../testing/until.ts'
import { openNotifications } from './notifications.ts'

const opened = (url: string, node: number) => openNotifications({ url, name: 'test', node })

/** What a listener has received. */
function received(notifications: Awaited<ReturnType<typeof opened>>) {
  const messages: [string, string | null][] = []
  notifications.onMessage((topic, subject) => messages.push([topic, subject]))
  return messages
}

test('messages reach every other node once, and not their sender', async () => {
  await using database = await testDatabase()
  await using first = await opened(database.url, 1)
  await using second = await opened(database.url, 2)
  await using third = await opened(database.url, 3)
  const all = [first, second, third].map(received)
  for (const _ of range(1, 3)) first.send('orphans', null)
  first.send('keys', 'a')
  first.send('keys', 'b')
  await first.flush()
  const expected = [
    ['orphans', null],
    ['keys', 'a'],
    ['keys', 'b'],
  ]
  await until(() => all[1]!.length === 3 && all[2]!.length === 3)
  expect(all).toEqual([[], expected, expected])
}, 60_000)

test('many and long subjects arrive, or one message about all of them', async () => {
  await using database = await testDatabase()
  await using first = await opened(database.url, 1)
  await using second = await opened(database.url, 2)
  const messages = received(second)
  const long = range(1, 20).map((n) => `${n}`.padEnd(1_000, 'é'))
  for (const subject of long) first.send('keys', subject)
  for (const n of range(1, 2_000)) first.send('users', String(n))
  await first.flush()
  await until(() => messages.some(([topic]) => topic === 'users'))
  expect(messages).toEqual([...long.map((subject) => ['keys', subject]), ['users', null]])
}, 60_000)

test('after a lost connection, listeners learn that messages may be missing, and what waits is sent', async () => {
  await using database = await testDatabase()
  await using first = await opened(database.url, 1)
  await using second = await opened(database.url, 2)
  const messages = received(second)
  let missed = 0
  second.onMissed(() => (missed += 1))
  const listeners = `application_name LIKE 'parley notifications%' AND datname = current_database()`
  await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${listeners}`)
  await until(() => missed === 1)
  first.send('targets', null)
  await until(() => messages.length === 1)
}, 60_000)
