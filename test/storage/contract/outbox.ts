/** Notifications and batches of events on their way: written with their cause, in order per lane, none lost. */
import type { ConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { Delivery, OutboxChange, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  type MakePlace,
  messages,
  nextAppend,
  notifications,
  owned,
  range,
  seqs,
  setTargets,
  TARGET,
  told,
} from '../../../packages/server/testing/store-fixtures.ts'

const LATER = '9999-01-01T00:00:00.000Z'
const OTHER = 'http://other.test'
const ALL = { atLeast: 1, atMost: 1000, maxBytes: 1e9 }

const due = (storage: Storage, target = TARGET) => storage.outbox.due(target, LATER, 100)
const outcome = { at: '2026-01-01T00:00:00.000Z', last_status: 200, last_error: null }
const acknowledge = (storage: Storage, { id }: Delivery) =>
  storage.outbox.record(id, { ...outcome, status: 'delivered' })
const park = (storage: Storage, { id }: Delivery) =>
  storage.outbox.record(id, { ...outcome, status: 'parked', last_status: 404, last_error: 'HTTP 404' })

/** A conversation that has one notification per topic. */
async function notified(storage: Storage, topics: readonly string[]): Promise<ConversationId> {
  let row = await owned(storage)
  for (const topic of topics) {
    await storage.conversations.append(nextAppend(row, 1, { outbox: [{ topic, payload: `{"of":"${topic}"}` }] }))
    row = { ...row, seq: row.seq + 1 }
  }
  return row.id
}

export function outboxContract(makePlace: MakePlace): void {
  describe('a notification', () => {
    test('a notification is not written without a target', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await notified(storage, ['a'])
      await told(storage)
      expect(await notifications(storage)).toEqual([])
    })

    test('a notification is written for every target, with dense numbers per conversation, including deletions', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await setTargets(
        storage,
        [TARGET, OTHER].map((name) => ({ name, events: false })),
      )
      const id = await notified(storage, ['a', 'b'])
      await notified(storage, ['x'])
      await storage.conversations.delete(id, [{ topic: 'c', payload: '{}' }])
      await storage.conversations.released(id)
      const mine = (await notifications(storage)).filter(({ conversation_id }) => conversation_id === id)
      expect(mine.map(({ topic, sequence }) => `${topic}${sequence}`)).toEqual(['a1', 'a1', 'b2', 'b2', 'c3', 'c3'])
      await storage.conversations.create(conversation({ id, outbox: [{ topic: 'd', payload: '{}' }] }))
      expect((await notifications(storage)).at(-1)).toMatchObject({ topic: 'd', sequence: 4 })
    })

    test('a notification is due when the earlier ones of its lane are finished with any result', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const id = await notified(storage, ['a', 'b', 'c'])
      const other = await notified(storage, ['x'])
      const first = await due(storage)
      expect(first.map(({ conversation_id, topic }) => [conversation_id, topic])).toEqual([
        [id, 'a'],
        [other, 'x'],
      ])
      expect(await storage.outbox.body(first[0]!.id)).toEqual({ kind: 'notification', payload: '{"of":"a"}' })
      await acknowledge(storage, first[0]!)
      const second = (await due(storage)).find(({ conversation_id }) => conversation_id === id)
      expect(second?.topic).toBe('b')
      await park(storage, second!)
      expect((await due(storage)).map(({ topic }) => topic).toSorted()).toEqual(['c', 'x'])
    })

    test('a notification waits for its next attempt across a restart and keeps its data', async () => {
      await using place = await makePlace()
      const next = '2027-01-01T00:00:00.000Z'
      {
        await using storage = await place.open()
        await told(storage)
        await notified(storage, ['a'])
        const [only] = await due(storage)
        await storage.outbox.record(only!.id, {
          ...outcome,
          status: 'pending',
          next_attempt_at: next,
          last_status: 503,
          last_error: 'HTTP 503',
        })
      }
      await using storage = await place.open()
      await told(storage)
      expect(await storage.outbox.due(TARGET, '2026-12-31T23:59:59.999Z', 10)).toEqual([])
      expect(await storage.outbox.nextDue(TARGET, '2026-12-31T23:59:59.999Z')).toBe(next)
      const [again] = await storage.outbox.due(TARGET, next, 10)
      expect(again).toMatchObject({ attempts: 1, first_attempt_at: outcome.at, last_status: 503, status: 'pending' })
      expect(await storage.outbox.nextDue(TARGET, next)).toBeNull()
    })

    test('the counts have the waiting and the parked deliveries, and not the delivered ones', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.outbox.counts()).toEqual({ pending: 0, parked: 0 })
      await told(storage)
      await notified(storage, ['a', 'b', 'c', 'd'])
      const [a] = await due(storage)
      await park(storage, a!)
      const [b] = await due(storage)
      await acknowledge(storage, b!)
      expect(await storage.outbox.counts()).toEqual({ pending: 2, parked: 1 })
    })

    test('a redelivered notification is sent after the one in progress and before waiting ones', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notified(storage, ['a', 'b', 'c'])
      const [a] = await due(storage)
      await park(storage, a!)
      expect(await storage.outbox.redeliver(a!.id)).toBe('queued')
      expect(await storage.outbox.redeliver(a!.id)).toBe('pending')
      expect(await storage.outbox.redeliver('nothing')).toBe('unknown')
      const order: string[] = []
      for (let [next] = await due(storage); next !== undefined; [next] = await due(storage)) {
        order.push(next.topic)
        await acknowledge(storage, next)
      }
      expect(order).toEqual(['b', 'a', 'c'])
    })

    test('a notification for a removed target is parked, and cannot be redelivered until the target returns', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notified(storage, ['a'])
      const [a] = await due(storage)
      await setTargets(storage, [{ name: OTHER, events: true }])
      expect(await due(storage)).toEqual([])
      expect(await storage.outbox.redeliver(a!.id)).toBe('gone')
      await told(storage)
      expect(await storage.outbox.redeliver(a!.id)).toBe('queued')
    })

    test('notifications are listed newest first, by status and in pages', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const topics = range(1, 7).map(String)
      await notified(storage, topics)
      const [first] = await due(storage)
      await park(storage, first!)
      const seen: string[] = []
      for (let after: string | undefined; ;) {
        const { items, next } = await storage.outbox.list({ limit: 3, ...(after === undefined ? {} : { after }) })
        seen.push(...items.map(({ topic }) => topic))
        if (next === null) break
        after = next
      }
      expect(seen).toEqual(topics.toReversed())
      const parked = await storage.outbox.list({ status: 'parked', limit: 10 })
      expect(parked.items).toMatchObject([
        { id: first!.id, last_status: 404, last_error: 'HTTP 404', finished_at: outcome.at },
      ])
    })

    test('pruning deletes old and surplus notifications, and never pending ones', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notified(storage, range(1, 6).map(String))
      for (const _ of range(1, 4)) await acknowledge(storage, (await due(storage))[0]!)
      const keep = { deliveredBefore: '2000', parkedBefore: '2000', maxParked: 9 }
      expect(await storage.outbox.prune({ ...keep, maxDelivered: 2 })).toBe(2)
      expect((await notifications(storage)).map(({ topic }) => topic)).toEqual(['3', '4', '5', '6'])
      expect(await storage.outbox.prune({ ...keep, deliveredBefore: LATER, maxDelivered: 9 })).toBe(2)
      expect((await notifications(storage)).map(({ status }) => status)).toEqual(['pending', 'pending'])
      for (const _ of range(1, 2)) await park(storage, (await due(storage))[0]!)
      expect(await storage.outbox.prune({ ...keep, maxDelivered: 9, maxParked: 1 })).toBe(1)
      expect((await notifications(storage)).map(({ topic }) => topic)).toEqual(['6'])
    })

    test('waiting notifications are parked oldest first, by age or beyond a bound, and the next one of a lane is due', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notified(storage, range(1, 4).map(String))
      const [first] = await due(storage)
      const all = { at: outcome.at, reason: 'too old', except: [first!.id] }
      const parking = (which: Parameters<Storage['outbox']['park']>[1]['which'], except: string[] = []) =>
        storage.outbox.park(TARGET, { ...all, which, except })
      expect(await parking({ queuedBefore: '2000' })).toEqual({ parked: 0, batches: [] })
      expect(await parking({ atMost: 4, maxBytes: 1e9 })).toEqual({ parked: 0, batches: [] })
      const bytes = Buffer.byteLength('{"of":"1"}')
      // One of four is too many, and the first is excepted.
      expect(await parking({ atMost: 9, maxBytes: 3 * bytes }, [first!.id])).toEqual({ parked: 1, batches: [] })
      expect((await storage.outbox.list({ status: 'parked', limit: 9 })).items).toMatchObject([
        { topic: '2', last_error: 'too old', finished_at: outcome.at, attempts: 0 },
      ])
      expect(await parking({ atMost: 2, maxBytes: 1e9 })).toMatchObject({ parked: 1 })
      expect((await due(storage)).map(({ topic }) => topic)).toEqual(['3'])
      expect(await parking({ queuedBefore: LATER })).toMatchObject({ parked: 2 })
      expect(await due(storage)).toEqual([])
      expect(await storage.outbox.redeliver(first!.id)).toBe('queued')
      expect((await due(storage)).map(({ topic }) => topic)).toEqual(['1'])
    })

    test('a notification whose next attempt is more than a day ahead is due, because the clock was set back', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      await notified(storage, ['a'])
      const [a] = await due(storage)
      const next_attempt_at = '2027-01-01T00:00:00.000Z'
      await storage.outbox.record(a!.id, { ...outcome, status: 'pending', next_attempt_at })
      expect(await storage.outbox.due(TARGET, '2026-12-31T00:00:00.000Z', 9)).toEqual([])
      expect(await storage.outbox.due(TARGET, '2026-12-30T23:59:59.999Z', 9)).toMatchObject([{ topic: 'a' }])
    })

    test('a change is announced when its commit can be read', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage, true)
      const changes: OutboxChange[] = []
      const read: Promise<number | undefined>[] = []
      const take = (change: OutboxChange) => {
        changes.push(change)
        read.push(storage.conversations.get(change.conversation_id!).then((row) => row?.seq))
      }
      using _end = { [Symbol.dispose]: storage.outbox.subscribe(take) }
      const id = await notified(storage, ['a'])
      const row = await storage.conversations.get(id)
      // Each reader reads before the next change.
      await Promise.all(read)
      await storage.conversations.append(nextAppend(row!, 2))
      await Promise.all(read)
      await storage.conversations.delete(id)
      expect(changes).toEqual([
        { conversation_id: id, deliveries: true, events: 1, isOver: false },
        { conversation_id: id, deliveries: false, events: 2, isOver: false },
        { conversation_id: id, deliveries: false, events: 0, isOver: true },
      ])
      expect(await Promise.all(read)).toEqual([1, 3, undefined])
    })
  })

  describe('a followed log', () => {
    test('a log is followed from the first append after the target was set', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage, { events: messages(3) })
      await told(storage, true)
      expect(await storage.outbox.behind(TARGET)).toEqual([])
      await storage.conversations.append(nextAppend(row, 2))
      expect(await storage.outbox.behind(TARGET)).toEqual([row.id])
      expect(await storage.outbox.cut(TARGET, row.id, ALL)).toEqual({ isCut: true, isBusy: false, left: 0 })
      const [batch] = await due(storage)
      expect(batch).toMatchObject({ kind: 'events', sequence: 4, conversation_id: row.id })
      const body = await storage.outbox.body(batch!.id)
      expect(body?.kind === 'events' && seqs(body.events)).toEqual([4, 5])
    })

    test('a followed log is sent in batches of the requested size, one after another', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage, true)
      const { id } = await owned(storage, { events: messages(7) })
      const limits = { atLeast: 3, atMost: 3, maxBytes: 1e9 }
      expect(await storage.outbox.cut(TARGET, id, limits)).toEqual({ isCut: true, isBusy: false, left: 4 })
      expect(await storage.outbox.cut(TARGET, id, limits)).toEqual({ isCut: false, isBusy: true, left: 4 })
      await acknowledge(storage, (await due(storage))[0]!)
      expect(await storage.outbox.cut(TARGET, id, limits)).toEqual({ isCut: true, isBusy: false, left: 1 })
      await acknowledge(storage, (await due(storage))[0]!)
      expect(await storage.outbox.cut(TARGET, id, limits)).toEqual({ isCut: false, isBusy: false, left: 1 })
    })

    test('batches of a followed log are limited by bytes, and a larger event is a batch of its own', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage, true)
      const { id } = await owned(storage, { events: messages(3) })
      const size = JSON.stringify((await storage.events.page(id, { limit: 1 }))[0]!.event).length
      expect((await storage.outbox.cut(TARGET, id, { ...ALL, maxBytes: size * 2 })).left).toBe(1)
      await acknowledge(storage, (await due(storage))[0]!)
      expect((await storage.outbox.cut(TARGET, id, { ...ALL, maxBytes: 1 })).left).toBe(0)
    })

    test('the log of a deleted conversation is kept until the target has all of it', async () => {
      await using place = await makePlace()
      let id: ConversationId
      {
        await using storage = await place.open()
        await told(storage, true)
        id = (await owned(storage, { events: messages(5) })).id
        await storage.conversations.delete(id)
        await storage.conversations.released(id)
        await storage.conversations.create(conversation({ id, events: messages(2) }))
      }
      await using storage = await place.open()
      await told(storage, true)
      const got: number[][] = []
      for (let at = 0; at < 4; at++) {
        const { isCut } = await storage.outbox.cut(TARGET, id, { atLeast: 1, atMost: 3, maxBytes: 1e9 })
        if (!isCut) break
        const [batch] = await due(storage)
        const body = await storage.outbox.body(batch!.id)
        if (body?.kind === 'events') got.push(seqs(body.events))
        await acknowledge(storage, batch!)
      }
      expect(got).toEqual([
        [1, 2, 3],
        [4, 5],
        [1, 2],
      ])
      expect(await storage.outbox.behind(TARGET)).toEqual([])
    })

    test('batches of a deleted and delivered log cannot be redelivered', async () => {
      await using place = await makePlace()
      let gone: string
      {
        await using storage = await place.open()
        await told(storage, true)
        const { id } = await owned(storage, { events: messages(5) })
        await storage.conversations.delete(id)
        await storage.outbox.cut(TARGET, id, ALL)
        const [batch] = await due(storage)
        await acknowledge(storage, batch!)
        gone = batch!.id
        // Disposing waits for the sweep.
      }
      await using storage = await place.open()
      await told(storage, true)
      await expect.poll(() => storage.outbox.body(gone)).toBeNull()
      expect(await storage.outbox.redeliver(gone)).toBe('gone')
    })
  })
}
