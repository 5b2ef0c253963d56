import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { startRelay } from '../../../testing/relay.ts'
import { messages, nextAppend, notifications, owned, range, seqs, told } from '../../../testing/store-fixtures.ts'
import { until } from '../../../testing/until.ts'
import type { ConversationRow } from '../contract/conversations.ts'
import type { Storage } from '../storage.ts'
import { openPostgres } from './open.ts'

/** A store that reaches its database through a relay, whose connections can be broken. */
async function openThroughRelay() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase())
  const relay = stack.use(await startRelay(database.url))
  const url = new URL(database.url)
  url.port = new URL(relay.url).port
  const storage = stack.use(await openPostgres({ url: String(url) }))
  const owned = stack.move()
  return { database, relay, storage, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('appends whose connections break are stored once each, with their notifications, and succeed', async () => {
  await using at = await openThroughRelay()
  const { storage, relay } = at
  await told(storage)
  const rows = await Promise.all(range(1, 4).map(() => owned(storage)))
  let written = 0
  const write = async (row: ConversationRow) => {
    for (let seq = 0; seq < 30; seq += 1) {
      const outbox = [{ topic: 't', payload: String(seq) }]
      // Every third one has no events, so only its own number tells that it was stored.
      const append = seq % 3 === 2 ? { ...nextAppend(row, 0), outbox } : nextAppend(row, 1, { outbox })
      await storage.conversations.append({ ...append, row: { updated_at: String(seq) } })
      row = { ...row, seq: row.seq + append.events.length }
      written += 1
    }
    return row.seq
  }
  const cutting = async () => {
    for (const at of range(1, 10)) {
      await until(() => written >= at * 10)
      relay.cut()
    }
  }
  const [ends] = await Promise.all([Promise.all(rows.map(write)), cutting()])
  expect(ends).toEqual(rows.map(() => 20))
  for (const { id } of rows) expect(seqs(await storage.events.page(id, { limit: 100 }))).toEqual(range(1, 20))
  const sent = await notifications(storage)
  for (const { id } of rows) {
    const own = sent.filter(({ conversation_id }) => conversation_id === id)
    expect(own.map(({ payload }) => Number(payload))).toEqual(range(0, 29))
    expect(own.map(({ sequence }) => sequence)).toEqual(range(1, 30))
  }
})

test('reads and writes work again after every connection has ended', async () => {
  await using at = await openThroughRelay()
  const { storage, relay, database } = at
  const row = await owned(storage)
  const attempts: ((storage: Storage) => Promise<unknown>)[] = [
    (store) => store.conversations.get(row.id),
    (store) => store.settings.update('ada', () => '{}'),
    (store) => store.conversations.append({ ...nextAppend(row, 0), row: { status: 'paused' } }),
  ]
  for (const attempt of attempts) {
    relay.cut()
    await attempt(storage)
    await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parley'`)
    await attempt(storage)
  }
  expect(await storage.conversations.get(row.id)).toMatchObject({ status: 'paused' })
})

test('appends of one turn of the event loop are one statement', async () => {
  await using database = await testDatabase()
  await using storage = await openPostgres({ url: database.url })
  const rows = await Promise.all(range(1, 20).map(() => owned(storage)))
  const commits = async () => {
    const [row] = await database.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid')
    return Number(row!.xid)
  }
  const before = await commits()
  await Promise.all(rows.map((row) => storage.conversations.append({ ...nextAppend(row), events: messages(2) })))
  // Each question uses a number itself.
  expect((await commits()) - before).toBeLessThanOrEqual(2 + 2)
})
