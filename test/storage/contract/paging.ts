/** Reading logs: pages in both directions, filters, counts, single events. */
import { asEventId, type Event, newConversationId, textContent } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { EventFilter } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  eventTime,
  type MakePlace,
  message,
  messages,
  numbered,
  otherEvent,
  range,
  seqs,
} from '../../../packages/server/testing/store-fixtures.ts'

/** A log with one of everything that a filter can tell apart. */
const MIXED: readonly Event[] = [
  message('Straße nach KÖLN', { source: 'user', timestamp: eventTime(1) }),
  message('plain', { source: 'agent', timestamp: eventTime(2), extended_content: [textContent('100% Extended')] }),
  message('thinking aloud', {
    source: 'agent',
    timestamp: eventTime(3),
    llm_message: { ...message('x').llm_message, reasoning_content: 'a Reasoned answer' },
  }),
  otherEvent('ObservationEvent', { source: 'environment', timestamp: eventTime(4), text: 'köln in another kind' }),
  otherEvent('UsageRecordedEvent', { timestamp: eventTime(5) }),
  otherEvent('WrittenByANewerVersion', { source: 'hook', timestamp: eventTime(6), nested: { any: ['thing', null] } }),
]

export function pagingContract(makePlace: MakePlace): void {
  describe('a page of events', () => {
    test.each([
      [{ limit: 3 }, range(1, 3)],
      [{ limit: 3, from: 1 }, range(1, 3)],
      [{ limit: 3, from: 120 }, range(120, 122)],
      [{ limit: 3, from: 249 }, [249, 250]],
      [{ limit: 3, from: 250 }, [250]],
      [{ limit: 3, from: 251 }, []],
      [{ limit: 3, from: -5 }, range(1, 3)],
      [{ limit: 1_000 }, range(1, 250)],
      [{ limit: 0 }, []],
      [{ limit: 3, order: 'desc' as const }, [250, 249, 248]],
      [{ limit: 3, order: 'desc' as const, from: 250 }, [250, 249, 248]],
      [{ limit: 3, order: 'desc' as const, from: 2 }, [2, 1]],
      [{ limit: 3, order: 'desc' as const, from: 1 }, [1]],
      [{ limit: 3, order: 'desc' as const, from: 0 }, []],
      [{ limit: 3, order: 'desc' as const, from: 9_999 }, [250, 249, 248]],
    ])('the page of events for %j has the expected seqs', async (page, expected) => {
      await using place = await makePlace()
      await using storage = await place.open()
      // Neighbours on both sides, so that a page that runs over an end is seen.
      const [before, here, after] = [250, 250, 250].map((count) => conversation({ events: messages(count) }))
      for (const each of [before!, here!, after!]) await storage.conversations.create(each)
      expect(seqs(await storage.events.page(here!.id, page))).toEqual(expected)
    })

    test('the page of an empty log or an unknown conversation is empty', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const empty = conversation()
      await storage.conversations.create(empty)
      expect(await storage.events.page(empty.id, { limit: 5 })).toEqual([])
      expect(await storage.events.page(empty.id, { limit: 5, order: 'desc' })).toEqual([])
      expect(await storage.events.page(newConversationId(), { limit: 5 })).toEqual([])
    })

    test('a page returns events unchanged, also of an unknown kind', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const log = conversation({ events: numbered(MIXED) })
      await storage.conversations.create(log)
      expect(await storage.events.page(log.id, { limit: 100 })).toEqual(log.events)
    })
  })

  describe('a filter', () => {
    test.each<[EventFilter, number[]]>([
      [{}, range(1, 6)],
      [{ kinds: ['MessageEvent'] }, [1, 2, 3]],
      [{ kinds: ['ObservationEvent', 'WrittenByANewerVersion'] }, [4, 6]],
      [{ kinds: ['NoSuchEvent'] }, []],
      [{ kinds: [] }, []],
      [{ source: 'agent' }, [2, 3]],
      [{ source: 'environment' }, [4]],
      [{ timestampGte: eventTime(3) }, [3, 4, 5, 6]],
      [{ timestampLt: eventTime(3) }, [1, 2]],
      [{ timestampGte: eventTime(2), timestampLt: eventTime(4) }, [2, 3]],
      [{ body: 'köln' }, [1]],
      [{ body: 'STRASSE' }, []],
      [{ body: 'straße' }, [1]],
      [{ body: '100% ext' }, [2]],
      [{ body: '100_' }, []],
      [{ body: 'reasoned' }, [3]],
      [{ body: 'llm_message' }, []],
      [{ body: 'n', source: 'agent' }, [2, 3]],
      [{ kinds: ['ObservationEvent'], body: 'köln' }, []],
    ])('the event filter %j finds %j', async (filter, expected) => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [log, neighbour] = [conversation({ events: numbered(MIXED) }), conversation({ events: numbered(MIXED) })]
      await storage.conversations.create(log)
      await storage.conversations.create(neighbour)
      expect(seqs(await storage.events.page(log.id, { limit: 100, filter }))).toEqual(expected)
      expect(seqs(await storage.events.page(log.id, { limit: 100, filter, order: 'desc' }))).toEqual(
        expected.toReversed(),
      )
      expect(seqs(await storage.events.page(log.id, { limit: 1, filter }))).toEqual(expected.slice(0, 1))
      expect(await storage.events.count(log.id, filter)).toBe(expected.length)
    })

    test('a filter applies from the start of the page', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const log = conversation({ events: numbered(MIXED) })
      await storage.conversations.create(log)
      const filter = { kinds: ['MessageEvent'] }
      expect(seqs(await storage.events.page(log.id, { from: 2, limit: 10, filter }))).toEqual([2, 3])
      expect(seqs(await storage.events.page(log.id, { from: 2, limit: 10, filter, order: 'desc' }))).toEqual([2, 1])
    })
  })

  describe('single events', () => {
    test('an event is found by id in its own conversation only', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [log, other] = [conversation({ events: messages(3) }), conversation({ events: messages(3) })]
      await storage.conversations.create(log)
      await storage.conversations.create(other)
      const second = log.events![1]!
      expect(await storage.events.get(log.id, second.event.id)).toEqual(second)
      expect(await storage.events.get(other.id, second.event.id)).toBeNull()
      expect(await storage.events.get(log.id, asEventId('no-such-event'))).toBeNull()
    })

    test('an event id may be any text', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const ids = ['hand made', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'].map(
        asEventId,
      )
      const log = conversation({ events: numbered(ids.map((id) => message('x', { id }))) })
      await storage.conversations.create(log)
      for (const [index, id] of ids.entries()) expect((await storage.events.get(log.id, id))?.seq).toBe(index + 1)
    })

    test('events are found by seq, ascending, each once, without missing ones', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const log = conversation({ events: messages(10) })
      await storage.conversations.create(log)
      await storage.conversations.create(conversation({ events: messages(10) }))
      expect(seqs(await storage.events.getMany(log.id, [7, 2, 99, 2, 0, 10, -1]))).toEqual([2, 7, 10])
      expect(await storage.events.getMany(log.id, [])).toEqual([])
      expect(await storage.events.getMany(newConversationId(), [1])).toEqual([])
    })

    test.each(['UsageRecordedEvent', 'ObservationEvent'])(
      'the newest events of kind %s are returned newest first',
      async (kind) => {
        await using place = await makePlace()
        await using storage = await place.open()
        const events = numbered(range(1, 40).map((n) => (n % 10 === 0 ? otherEvent(kind, { n }) : message('between'))))
        const log = conversation({ events })
        await storage.conversations.create(log)
        await storage.conversations.create(conversation({ events: numbered([otherEvent(kind)]) }))
        expect(seqs(await storage.events.newest(log.id, kind, 3))).toEqual([40, 30, 20])
        expect(seqs(await storage.events.newest(log.id, kind, 100))).toEqual([40, 30, 20, 10])
        expect(await storage.events.newest(newConversationId(), kind, 1)).toEqual([])
      },
    )
  })
}
