/** Counters of users, written with what they count. */
import { describe, expect, test } from 'vitest'
import {
  conversation,
  eventTime,
  message,
  nextAppend,
  numbered,
  otherEvent,
  owned,
  recount,
  type MakePlace,
} from '../../../packages/server/testing/store-fixtures.ts'
import type { ReceivedEvent, Storage } from '../../../packages/server/src/storage/index.ts'

const JANUARY = new Date('2026-01-31T23:59:59.999Z')
const FEBRUARY = new Date('2026-02-01T00:00:00.000Z')

const spent = (cost: number | null, members: object = {}) =>
  otherEvent('UsageRecordedEvent', { cost, usage_id: 'agent', ...members })

const used = (storage: Storage, user: string, at = JANUARY) => storage.usage.of(user, at)

export function usageContract(makePlace: MakePlace): void {
  describe('usage', () => {
    test('stored bytes follow creation, appends and deletion, for each user alone', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await used(storage, 'ada')).toEqual({
        stored_bytes: 0,
        cost_usd: 0,
        unpriced_answers: 0,
        uploaded_bytes: 0,
      })
      const row = await owned(storage, { events: numbered([message('a'), message('ä')]) })
      const other = await owned(storage, { owner: 'bob' })
      await storage.conversations.append(nextAppend({ ...row, seq: 2 }, 3))
      await storage.conversations.append(nextAppend(other, 1))
      const [ofAda, ofBob] = [await recount(storage, [row.id]), await recount(storage, [other.id])]
      expect(ofAda.bytes).toBeGreaterThan(ofBob.bytes)
      expect((await used(storage, 'ada')).stored_bytes).toBe(ofAda.bytes)
      expect((await used(storage, 'bob')).stored_bytes).toBe(ofBob.bytes)
      expect(await storage.usage.users()).toEqual(['ada', 'bob'])
      await storage.conversations.delete(row.id)
      expect((await used(storage, 'ada')).stored_bytes).toBe(0)
      expect((await used(storage, 'bob')).stored_bytes).toBe(ofBob.bytes)
    })

    test('files of a conversation count by their newest number of bytes, and are given back with the conversation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage, { events: numbered([message('a')]) })
      const { bytes } = await recount(storage, [row.id])
      await storage.conversations.countFiles(row.id, 500)
      await storage.conversations.countFiles(row.id, 300)
      await storage.conversations.countFiles(conversation().id, 700)
      expect((await used(storage, 'ada')).stored_bytes).toBe(bytes + 300)
      await storage.conversations.delete(row.id)
      expect((await used(storage, 'ada')).stored_bytes).toBe(0)
    })

    test('a refused append and a refused creation count nothing', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const events = numbered([spent(1)])
      const late = storage.conversations.append(nextAppend({ ...row, epoch: 0 }, 1, { events }))
      await expect(late).rejects.toMatchObject({ code: 'conflict' })
      expect(await storage.conversations.create(conversation({ id: row.id, events }))).toBe('exists')
      expect(await used(storage, 'ada')).toMatchObject({ stored_bytes: 0, cost_usd: 0 })
    })

    test('costs count once in the month of their event, and stay when the conversation is deleted', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const ofSubAgent = spent(5, { replaces: { accumulated_cost: 5 } })
      const february = spent(4, { timestamp: `${FEBRUARY.toISOString().slice(0, 23)}000` })
      const events = numbered([spent(0.5), spent(0.25), spent(null), spent(-1), ofSubAgent, february])
      await storage.conversations.append(nextAppend(row, 6, { events }))
      // The copies of a fork have been paid for already.
      await storage.conversations.create(conversation({ events }))
      await storage.conversations.delete(row.id)
      expect(await used(storage, 'ada')).toMatchObject({ cost_usd: 0.75, unpriced_answers: 1 })
      expect(await used(storage, 'ada', FEBRUARY)).toMatchObject({ cost_usd: 4, unpriced_answers: 0 })
    })

    test('uploads count on their day', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.usage.addUpload('ada', JANUARY, 10)
      await storage.usage.addUpload('ada', JANUARY, 5)
      expect((await used(storage, 'ada')).uploaded_bytes).toBe(15)
      await storage.usage.addUpload('ada', FEBRUARY, 1)
      expect((await used(storage, 'ada', FEBRUARY)).uploaded_bytes).toBe(1)
    })

    test('received conversations count until they are removed, and an event that arrives twice counts once', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { id } = conversation()
      const events = [message('from elsewhere'), spent(3)] as unknown as ReceivedEvent[]
      await storage.received.append('ada', id, events)
      await storage.received.append('ada', id, events)
      const { stored_bytes, cost_usd } = await used(storage, 'ada')
      expect(stored_bytes).toBe(events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0))
      expect(cost_usd).toBe(0)
      await storage.received.remove('ada', id, eventTime(9))
      expect((await used(storage, 'ada')).stored_bytes).toBe(0)
    })

    test('counters survive a restart', async () => {
      await using place = await makePlace()
      const first = await place.open()
      const row = await owned(first)
      await first.conversations.append(nextAppend(row, 1, { events: numbered([spent(2)]) }))
      const before = await used(first, 'ada')
      await first[Symbol.asyncDispose]()
      await using again = await place.open()
      expect(before.cost_usd).toBe(2)
      expect(await used(again, 'ada')).toEqual(before)
    })
  })
}
