/** Conversations of other servers: kept per user, listed beside our own, never older than what is known. */
import { type ConversationId, newConversationId, newEventId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { ConversationSort, ReceivedRow, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  at,
  conversation,
  eventTime,
  type MakePlace,
  messages,
  range,
} from '../../../packages/server/testing/store-fixtures.ts'

const SORTS: readonly ConversationSort[] = ['CREATED_AT', 'CREATED_AT_DESC', 'UPDATED_AT', 'UPDATED_AT_DESC']

const told = (change: Partial<ReceivedRow> = {}): ReceivedRow => ({
  id: newConversationId(),
  owner: 'ada',
  created_at: at(0),
  updated_at: at(0),
  sent_at: at(0),
  status: 'idle',
  parent_conversation_id: null,
  info: '{}',
  ...change,
})

const event = (text: string) => ({
  kind: 'AnythingEvent',
  id: newEventId(),
  timestamp: eventTime(0),
  source: 'agent',
  text,
})

async function walk(storage: Storage, sort: ConversationSort, limit: number): Promise<ConversationId[]> {
  const ids: ConversationId[] = []
  for (let from: ConversationId | undefined; ;) {
    const query = { owner: 'ada', sort, limit, ...(from === undefined ? {} : { from }) }
    const { items, next } = await storage.received.search(query)
    ids.push(...items.map(({ id }) => id))
    if (next === null || ids.length > 100) return ids
    from = next
  }
}

export function receivedContract(makePlace: MakePlace): void {
  describe('a received conversation', () => {
    test('a newer report of a received conversation replaces the stored one, an older one does not', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { id } = told()
      const versions = [3, 5, 4, 5].map((second, index) => told({ id, sent_at: at(second), info: `{"n":${index}}` }))
      const outcomes = []
      for (const version of versions) outcomes.push(await storage.received.put(version))
      expect(outcomes).toEqual(['stored', 'stored', 'stale', 'stored'])
      expect(await storage.received.get('ada', id)).toEqual(versions[3])
    })

    test('two users can have received conversations with the same id', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [ada, eve] = [told(), told({ owner: 'eve', info: '{"of":"eve"}' })].map((row, _, all) => ({
        ...row,
        id: all[0]!.id,
      }))
      await storage.received.put(ada!)
      expect(await storage.received.get('eve', ada!.id)).toBeNull()
      await storage.received.put(eve!)
      expect(await storage.received.get('ada', ada!.id)).toEqual(ada)
      expect(await storage.received.count('eve')).toBe(1)
    })

    test('a removed received conversation is not restored by older reports, also when it was unknown', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { id } = told()
      await storage.received.remove('ada', id, at(5))
      expect(await storage.received.put(told({ id, sent_at: at(4) }))).toBe('stale')
      expect(await storage.received.put(told({ id, sent_at: at(5) }))).toBe('stale')
      expect(await storage.received.get('ada', id)).toBeNull()
      expect(await storage.received.put(told({ id, sent_at: at(6) }))).toBe('stored')
      await storage.received.remove('ada', id, at(5))
      expect(await storage.received.get('ada', id)).not.toBeNull()
    })

    test.each(SORTS)(
      'received and own conversations are listed together in order %s, in pages of any size',
      async (sort) => {
        await using place = await makePlace()
        await using storage = await place.open()
        const made: { id: ConversationId; created_at: string; updated_at: string; rank: number }[] = []
        for (const [index, second] of [4, 2, 4, 4, 1, 2, 9, 4].entries()) {
          const times = { created_at: at(second), updated_at: at(20 - second) }
          const row = index % 2 === 0 ? conversation(times) : told(times)
          if ('info' in row) await storage.received.put(row)
          else await storage.conversations.create(row)
          made.push({ id: row.id, ...times, rank: index % 2 })
        }
        const column = sort.startsWith('CREATED') ? 'created_at' : 'updated_at'
        const sorted = made
          .map((row, n) => ({ ...row, n }))
          .sort((a, b) => (a[column] === b[column] ? a.rank - b.rank || a.n - b.n : a[column] < b[column] ? -1 : 1))
          .map(({ id }) => id)
        const wanted = sort.endsWith('DESC') ? sorted.reverse() : sorted
        for (const limit of range(1, 9)) expect(await walk(storage, sort, limit), `pages of ${limit}`).toEqual(wanted)
      },
    )

    test('a listing stays consistent while a received conversation moves', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const rows = range(1, 4).map((n) => told({ updated_at: at(n), sent_at: at(n) }))
      for (const row of rows) await storage.received.put(row)
      const query = { owner: 'ada', sort: 'UPDATED_AT_DESC' as const, limit: 2 }
      const first = await storage.received.search(query)
      expect(first.next).toBe(rows[1]!.id)
      await storage.received.put({ ...rows[1]!, updated_at: at(9), sent_at: at(9) })
      const second = await storage.received.search({ ...query, from: first.next! })
      expect(second.items.map(({ id }) => id)).toEqual([rows[0]!.id])
    })

    test('a received conversation is hidden by an own one of the same user and id', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = told()
      await storage.received.put(row)
      await storage.conversations.create(conversation({ id: row.id }))
      expect(await storage.received.count('ada')).toBe(0)
      expect((await storage.received.search({ owner: 'ada', sort: 'CREATED_AT', limit: 9 })).items).toHaveLength(1)
    })

    test('received conversations are counted and listed by status', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await storage.received.put(told({ status: 'paused' }))
      await storage.received.put(told())
      expect(await storage.received.count('ada', 'paused')).toBe(1)
      const { items } = await storage.received.search({ owner: 'ada', sort: 'CREATED_AT', status: 'paused', limit: 9 })
      expect(items).toMatchObject([{ origin: 'received', status: 'paused' }])
    })
  })

  describe('the log of a received conversation', () => {
    test('a received log contains each event once, in the order of arrival, before and after its conversation is known', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = told()
      const [a, b, c] = ['a', 'b', 'c'].map(event)
      await storage.received.append('ada', row.id, [a!, b!])
      expect(await storage.received.get('ada', row.id)).toBeNull()
      await storage.received.put(row)
      await storage.received.append('ada', row.id, [b!, c!, c!])
      const log = storage.received.events('ada')
      expect(await log.page(row.id, { limit: 10 })).toEqual(
        [a, b, c].map((each, index) => ({ seq: index + 1, event: each })),
      )
      expect(await log.count(row.id)).toBe(3)
      expect((await log.get(row.id, b!.id))?.seq).toBe(2)
      expect(await storage.received.events('eve').page(row.id, { limit: 10 })).toEqual([])
    })

    test('a received log is separate from an own one of the same id, and deleted with its conversation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const own = conversation({ events: messages(2) })
      await storage.conversations.create(own)
      await storage.received.append(
        'eve',
        own.id,
        range(1, 3).map((n) => event(String(n))),
      )
      expect(await storage.events.count(own.id)).toBe(2)
      await storage.received.remove('eve', own.id, at(1))
      expect(await storage.received.events('eve').count(own.id)).toBe(0)
      await storage.received.append('eve', own.id, [event('late')])
      await storage.received.put(told({ owner: 'eve', id: own.id, sent_at: at(2) }))
      await storage.received.append('eve', own.id, [event('new')])
      expect(await storage.received.events('eve').page(own.id, { limit: 9 })).toMatchObject([
        { seq: 1, event: { text: 'new' } },
      ])
      expect(await storage.events.count(own.id)).toBe(2)
    })
  })
}
