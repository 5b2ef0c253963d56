import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { messages, nextAppend, owned, setTargets, TARGET } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import type { Storage } from '../storage.ts'
import type { Delivery } from '../contract/outbox.ts'
import { openSqlite } from './open.ts'

const LATER = '9999-01-01T00:00:00.000Z'
const OTHER = 'http://other.test'
const ALL = { atLeast: 1, atMost: 1000, maxBytes: 1e9 }
const outcome = { at: '2026-01-01T00:00:00.000Z', last_status: 200, last_error: null }

const due = (storage: Storage, target = TARGET) => storage.outbox.due(target, LATER, 100)
const acknowledge = (storage: Storage, { id }: Delivery, at = outcome.at) =>
  storage.outbox.record(id, { ...outcome, at, status: 'delivered' })
const delivery = async (storage: Storage, id: string) =>
  (await storage.outbox.list({ limit: 100 })).items.find((item) => item.id === id)

async function open(names: readonly string[] = [TARGET]) {
  const dir = await tempDir()
  const path = dir.file('parley.db')
  const storage = await openSqlite({ path })
  await setTargets(
    storage,
    names.map((name) => ({ name, events: true })),
  )
  return {
    path,
    storage,
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

async function notify(storage: Storage, topics: readonly string[]) {
  let row = await owned(storage)
  for (const topic of topics) {
    await storage.conversations.append(nextAppend(row, 1, { outbox: [{ topic, payload: `{"of":"${topic}"}` }] }))
    row = { ...row, seq: row.seq + 1 }
  }
  return row.id
}

test.each([
  ['in the middle', 2],
  ['at the beginning', 1],
  ['at the end', 3],
])('a batch that lacks an event %s has no body, so that it is not sent as whole', async (_, seq) => {
  await using at = await open()
  const { id } = await owned(at.storage, { events: messages(3) })
  await at.storage.outbox.cut(TARGET, id, ALL)
  const [batch] = await due(at.storage)
  expect(await at.storage.outbox.body(batch!.id)).toMatchObject({ kind: 'events', events: [{}, {}, {}] })
  using database = new DatabaseSync(at.path)
  database.exec(`DELETE FROM events WHERE seq = ${seq}`)
  expect(await at.storage.outbox.body(batch!.id)).toBeNull()
  await at.storage.outbox.record(batch!.id, { ...outcome, status: 'parked', last_error: 'gone' })
  expect(await at.storage.outbox.redeliver(batch!.id)).toBe('gone')
})

test('a late record does not change a delivery that has ended', async () => {
  await using at = await open()
  await notify(at.storage, ['a', 'b', 'c'])
  const notifications = async () => (await due(at.storage)).filter(({ kind }) => kind === 'notification')
  const [first, ...others] = await notifications()
  expect([first!.topic, others]).toEqual(['a', []])
  await acknowledge(at.storage, first!)
  const ended = await delivery(at.storage, first!.id)
  const late = { ...outcome, at: LATER, last_status: 500, last_error: 'late' }
  await at.storage.outbox.record(first!.id, { ...late, status: 'parked' })
  await at.storage.outbox.record(first!.id, { ...late, status: 'pending', next_attempt_at: outcome.at })
  expect(await delivery(at.storage, first!.id)).toEqual(ended)
  expect(ended).toMatchObject({ status: 'delivered', attempts: 1, last_error: null })
  expect((await notifications()).map(({ topic }) => topic)).toEqual(['b'])
})

test('pruning the deliveries of one target keeps the notification that another target still needs', async () => {
  await using at = await open([TARGET, OTHER])
  await notify(at.storage, ['a'])
  const [mine] = await due(at.storage)
  const [others] = await due(at.storage, OTHER)
  await acknowledge(at.storage, mine!)
  const bounds = { deliveredBefore: LATER, parkedBefore: LATER, maxDelivered: 100, maxParked: 100 }
  expect(await at.storage.outbox.prune(bounds)).toBe(1)
  expect(await at.storage.outbox.body(others!.id)).toEqual({ kind: 'notification', payload: '{"of":"a"}' })
  await acknowledge(at.storage, others!)
  expect(await at.storage.outbox.prune(bounds)).toBe(1)
  expect(await at.storage.outbox.body(others!.id)).toBeNull()
  using database = new DatabaseSync(at.path)
  expect(database.prepare('SELECT id FROM outbox').all()).toEqual([])
})

test('pruning keeps deliveries that ended after the bound of their status', async () => {
  await using at = await open()
  await notify(at.storage, ['a', 'b', 'c'])
  const next = async () => (await due(at.storage)).find(({ kind }) => kind === 'notification')!
  await acknowledge(at.storage, await next(), '2026-01-01T00:00:00.000Z')
  await acknowledge(at.storage, await next(), '2026-01-03T00:00:00.000Z')
  const parked = { ...outcome, at: '2026-01-01T00:00:00.000Z', status: 'parked' as const, last_error: 'HTTP 404' }
  await at.storage.outbox.record((await next()).id, parked)
  const bounds = { deliveredBefore: '2026-01-02', parkedBefore: '2025-01-01', maxDelivered: 100, maxParked: 100 }
  expect(await at.storage.outbox.prune(bounds)).toBe(1)
  const left = (await at.storage.outbox.list({ limit: 9 })).items
  expect(left.map(({ topic, status }) => `${topic} ${status}`).toSorted()).toEqual(['b delivered', 'c parked'])
})

test('an attempt without a connection is not counted, and the first attempt keeps its time', async () => {
  await using at = await open()
  await notify(at.storage, ['a'])
  const [{ id } = { id: '' }] = await due(at.storage)
  const again = { ...outcome, last_status: null, status: 'pending' as const, next_attempt_at: outcome.at }
  await at.storage.outbox.record(id, { ...again, at: '2026-01-01T00:00:00.000Z', last_error: 'x', isSent: false })
  expect(await delivery(at.storage, id)).toMatchObject({ attempts: 0, first_attempt_at: '2026-01-01T00:00:00.000Z' })
  await at.storage.outbox.record(id, { ...again, at: '2026-01-02T00:00:00.000Z', last_error: 'y' })
  expect(await delivery(at.storage, id)).toMatchObject({
    attempts: 1,
    first_attempt_at: '2026-01-01T00:00:00.000Z',
    last_error: 'y',
    finished_at: null,
  })
})

test('a redelivery starts with no attempts and no first attempt, so that it is not given up by its age', async () => {
  await using at = await open()
  await notify(at.storage, ['a'])
  const [{ id } = { id: '' }] = await due(at.storage)
  await at.storage.outbox.record(id, { ...outcome, status: 'parked', last_status: 404, last_error: 'HTTP 404' })
  expect(await due(at.storage)).toEqual([])
  expect(await at.storage.outbox.redeliver(id)).toBe('queued')
  expect(await due(at.storage)).toMatchObject([{ id, attempts: 0, first_attempt_at: null, finished_at: null }])
})

test('the notifications of a conversation are numbered one after another, also those of one commit', async () => {
  await using at = await open()
  const row = await owned(at.storage)
  for (const topics of [['a', 'b'], ['c']]) {
    const outbox = topics.map((topic) => ({ topic, payload: '{}' }))
    await at.storage.conversations.append(nextAppend(row, 0, { outbox }))
  }
  const { items } = await at.storage.outbox.list({ limit: 9 })
  expect(items.map(({ topic, sequence }) => `${topic}${sequence}`).toSorted()).toEqual(['a1', 'b2', 'c3'])
})

test('a parked batch of a deleted conversation keeps its events and can be sent again', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  let parked: string
  {
    await using storage = await openSqlite({ path })
    await setTargets(storage, [{ name: TARGET, events: true }])
    const { id } = await owned(storage, { events: messages(3) })
    await storage.outbox.cut(TARGET, id, ALL)
    const [batch] = await due(storage)
    await storage.conversations.delete(id)
    await storage.outbox.record(batch!.id, { ...outcome, status: 'parked', last_error: 'HTTP 404' })
    parked = batch!.id
    // Closing waits until the logs are deleted that nothing needs.
  }
  await using storage = await openSqlite({ path })
  await setTargets(storage, [{ name: TARGET, events: true }])
  expect(await storage.outbox.redeliver(parked)).toBe('queued')
  expect(await storage.outbox.body(parked)).toMatchObject({ kind: 'events', events: [{}, {}, {}] })
})

test('a target without events loses its batches, keeps its notifications and follows no log', async () => {
  await using at = await open()
  const id = await notify(at.storage, ['a'])
  await at.storage.outbox.cut(TARGET, id, ALL)
  await setTargets(at.storage, [{ name: TARGET, events: false }])
  expect((await due(at.storage)).map(({ kind }) => kind)).toEqual(['notification'])
  await at.storage.conversations.append(nextAppend((await at.storage.conversations.get(id))!))
  expect(await at.storage.outbox.behind(TARGET)).toEqual([])
  expect((await at.storage.outbox.list({ status: 'parked', limit: 9 })).items).toMatchObject([
    { kind: 'events', last_error: 'the target is no longer configured' },
  ])
})
