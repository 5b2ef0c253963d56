/** A process that is frozen inside of a transaction, as seen by another one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { nextAppend, owned } from '../../../testing/store-fixtures.ts'
import { until } from '../../../testing/until.ts'
import { openPostgres } from './open.ts'

const WRITER = fileURLToPath(new URL('./frozen-writer.testing.ts', import.meta.url))

test('rows that a frozen process has locked are free before a statement that waits for them fails, and the process repeats its transaction when it wakes up', async () => {
  await using database = await testDatabase()
  await using store = await openPostgres({ url: database.url })
  const row = await owned(store)
  const child = spawn(process.execPath, [WRITER, database.url], { stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const holders = `SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`
    await until(async () => (await database.query(holders)).length > 0)
    await store.conversations.append(nextAppend(row, 1, { row: { record: '{"sealed":"newer"}' } }))
    const ended = once(child, 'exit')
    // The transaction is repeated, with another freeze in it.
    await until(() => !child.kill('SIGCONT') || child.exitCode !== null)
    expect(await ended).toEqual([0, null])
    expect((await store.conversations.get(row.id))?.record).toBe('{"sealed":"newer"} ')
  } finally {
    child.kill('SIGKILL')
  }
}, 60_000)
