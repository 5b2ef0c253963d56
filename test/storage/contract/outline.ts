/** The outline of a log. */
import { type Event, newConversationId, newEventId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { OutlineRange } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  eventTime,
  type MakePlace,
  message,
  messages,
  nextAppend,
  numbered,
  otherEvent,
  own,
  range,
} from '../../../packages/server/testing/store-fixtures.ts'

const ALL: OutlineRange = { after: 0, before: Number.MAX_SAFE_INTEGER, limit: 50_000 }

const question = message('fix it', { timestamp: eventTime(1) })
const action = otherEvent('ActionEvent', {
  source: 'agent',
  timestamp: '2026-01-01T00:00:01.250000',
  parent_id: question.id,
  tool_name: 'terminal\0',
  security_risk: 'HIGH',
  tool_call: { arguments: 'x'.repeat(1000) },
})
const asked = otherEvent('ConfirmationRequestedEvent', {
  source: 'environment',
  timestamp: '2026-01-01T00:59:59.999000',
  actions: [{ action_id: action.id, risk: 'HIGH' }],
})
const approved = otherEvent('ApprovalEvent', {
  source: 'environment',
  timestamp: '2026-01-01T01:00:00.000000',
  batch_id: asked.id,
  decision: 'accept',
})
const result = otherEvent('ObservationEvent', {
  source: 'environment',
  timestamp: '2026-01-01T01:00:00.001000',
  parent_id: action.id,
  action_id: action.id,
  tool_name: 'terminal\0',
  observation: { is_error: true, content: [] },
})
const moved = otherEvent('LeafMovedEvent', { timestamp: 'no time', to: question.id })
const LOG: readonly Event[] = [question, action, asked, approved, result, moved]

const OUTLINE = {
  first_seq: 1,
  last_seq: 6,
  newest_seq: 6,
  started_at: Date.UTC(2026, 0, 1, 0, 0, 1),
  types: [
    { kind: 'MessageEvent', source: 'user' },
    { kind: 'ActionEvent', source: 'agent', tool: 'terminal\0', risk: 'HIGH' },
    { kind: 'ConfirmationRequestedEvent', source: 'environment' },
    { kind: 'ApprovalEvent', source: 'environment', decision: 'accept' },
    { kind: 'ObservationEvent', source: 'environment', tool: 'terminal\0', error: true },
    { kind: 'LeafMovedEvent', source: null },
  ],
  type: [0, 1, 2, 3, 4, 5],
  parent: [0, 1, 0, 0, 3, 0],
  refers: [0, 0, 1, 1, 3, 5],
  at: [0, 250, 3_598_749, 1, 1, 0],
  size: LOG.map((event) => Math.ceil(Buffer.byteLength(JSON.stringify(event)) / 64)),
}

export function outlineContract(makePlace: MakePlace): void {
  describe('an outline', () => {
    test('an outline has kind, place, time and size of every event, also of those that name each other in one commit', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [forked, appended] = [conversation({ events: numbered(LOG) }), conversation()]
      for (const each of [forked, appended]) await storage.conversations.create(each)
      const { row } = await own(storage, appended.id)
      await storage.conversations.append(nextAppend(row, 0, { events: numbered(LOG.slice(0, 3)) }))
      await storage.conversations.append(nextAppend({ ...row, seq: 3 }, 0, { events: numbered(LOG.slice(3), 4) }))
      for (const { id } of [forked, appended]) expect(await storage.events.outline(id, ALL)).toEqual(OUTLINE)
    })

    test.each([
      [{}, range(1, 9)],
      [{ limit: 3 }, [7, 8, 9]],
      [{ before: 7, limit: 3 }, [4, 5, 6]],
      [{ after: 7 }, [8, 9]],
      [{ after: 2, before: 9, limit: 4 }, [5, 6, 7, 8]],
      [{ after: 9 }, []],
      [{ before: 1 }, []],
    ])('the outline of %j has the newest events of the range', async (change, expected) => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [before, here] = [messages(9), messages(9)].map((events) => conversation({ events }))
      for (const each of [before!, here!]) await storage.conversations.create(each)
      const outline = await storage.events.outline(here!.id, { ...ALL, ...change })
      expect(outline).toMatchObject({ first_seq: expected[0] ?? 0, last_seq: expected.at(-1) ?? 0, newest_seq: 9 })
      for (const column of ['type', 'parent', 'refers', 'at', 'size'] as const)
        expect(outline[column]).toHaveLength(expected.length)
    })

    test('the outline of an unknown conversation has no event, and that of a received one has all', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const id = newConversationId()
      expect(await storage.events.outline(id, ALL)).toMatchObject({ first_seq: 0, newest_seq: 0, type: [] })
      await storage.received.append('ada', id, LOG as never)
      expect(await storage.received.events('ada').outline(id, ALL)).toEqual(OUTLINE)
    })

    test('a text is found in messages, calls and results of any kind, in any case, newest first', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const log = conversation({
        events: numbered([
          message('Where is the Needle?'),
          otherEvent('ActionEvent', {
            thought: [{ type: 'text', text: 'look' }],
            tool_call: { arguments: '{"x":"NEEDLE"}' },
          }),
          otherEvent('ObservationEvent', { observation: { content: [{ type: 'text', text: 'no needle\0here' }] } }),
          otherEvent('StatusChangedEvent', { reason: 'needle' }),
          message('100% hay'),
        ]),
      })
      await storage.conversations.create(log)
      const find = async (filter: { text: string; kinds?: string[] }) =>
        (await storage.events.page(log.id, { order: 'desc', limit: 10, filter })).map(({ seq }) => seq)
      expect(await find({ text: 'nEEdle' })).toEqual([3, 2, 1])
      expect(await find({ text: 'needle', kinds: ['ActionEvent'] })).toEqual([2])
      expect(await find({ text: 'e\0H' })).toEqual([3])
      expect(await find({ text: '0%' })).toEqual([5])
      expect(await find({ text: '_' })).toEqual([])
      expect(await storage.events.count(log.id, { text: 'needle' })).toBe(3)
    })

    test('a page that ends at a seq has no later event, with a filter too', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const log = conversation({ events: messages(9) })
      await storage.conversations.create(log)
      const seqsOf = async (filter: { body?: string }) =>
        (await storage.events.page(log.id, { from: 3, until: 5, limit: 3, filter })).map(({ seq }) => seq)
      expect(await seqsOf({})).toEqual([3, 4, 5])
      expect(await seqsOf({ body: 'message 4' })).toEqual([4])
      expect(await seqsOf({ body: 'message 8' })).toEqual([])
    })

    test('an event of another conversation that has the id of a parent is not the parent', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const there = conversation({ events: numbered([message('there'), question]) })
      const child = message('here', { parent_id: question.id })
      const here = conversation({
        events: numbered([message('first'), message('unknown parent', { parent_id: newEventId() }), child]),
      })
      for (const each of [there, here]) await storage.conversations.create(each)
      expect((await storage.events.outline(here.id, ALL)).parent).toEqual([0, 0, 0])
    })
  })
}
