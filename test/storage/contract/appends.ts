/** Invariants S1 to S4: one durable, guarded transaction per append, and groups of them. */
import { newConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import {
  at,
  conversation,
  HERE,
  everything,
  type MakePlace,
  messages,
  nextAppend,
  notifications,
  own,
  owned,
  range,
  seqs,
  told,
} from '../../../packages/server/testing/store-fixtures.ts'

const refused = (reason: string) => ({ name: 'ParleyError', code: 'conflict', details: { reason } })

export function appendContract(makePlace: MakePlace): void {
  describe('creating', () => {
    test('a created conversation is read back unchanged', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const draft = conversation({ parent_conversation_id: newConversationId(), place: 'here', status: 'paused' })
      expect(await storage.conversations.create(draft)).toBe('created')
      expect(await storage.conversations.get(draft.id)).toEqual({ ...draft, seq: 0, epoch: 0 })
    })

    test('creating an existing conversation changes nothing', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const draft = conversation({ events: messages(2), state: { seq: 2, json: '{}' } })
      await storage.conversations.create(draft)
      const before = await everything(storage, draft.id)
      const again = { ...draft, owner: 'eve', events: messages(5), outbox: [{ topic: 't', payload: 'p' }] }
      expect(await storage.conversations.create(again)).toBe('exists')
      expect(await everything(storage, draft.id)).toEqual(before)
    })

    test('of concurrent creations with the same id, one succeeds', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const draft = conversation()
      const outcomes = await Promise.all(range(1, 20).map(() => storage.conversations.create(draft)))
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
    })

    test('a crash counts for running conversations, and the end of a run resets the count', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const node = await storage.nodes.add({ url: '', version: '', places: [HERE] })
      const [running, resting] = [conversation({ status: 'running', node }), conversation({ status: 'paused', node })]
      for (const each of [running, resting]) await conversations.create(each)
      await conversations.countCrash()
      await conversations.countCrash()
      expect(await own(storage, resting.id)).toMatchObject({ crashes: 0 })
      const taken = await own(storage, running.id)
      expect(taken.crashes).toBe(2)
      const { id, epoch, seq } = taken.row
      await conversations.append({ id, epoch, expectedSeq: seq, events: [], row: { status: 'running' } })
      expect(await own(storage, id)).toMatchObject({ crashes: 2 })
      const next = { id, epoch: epoch + 1, expectedSeq: seq, events: [] }
      await conversations.append({ ...next, row: { status: 'finished' } })
      expect(await own(storage, id)).toMatchObject({ crashes: 0 })
    })

    test('a restored run is marked until it gets another status, and conversations at rest are not marked', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const [running, resting] = [conversation({ status: 'running' }), conversation({ status: 'paused' })]
      for (const each of [running, resting]) await conversations.create(each)
      expect(await conversations.markRestored(at(1))).toBe(1)
      expect(await own(storage, resting.id)).toMatchObject({ restoredFrom: null })
      const taken = await own(storage, running.id)
      expect(taken.restoredFrom).toBe(at(1))
      const { id, epoch, seq } = taken.row
      await conversations.append({ id, epoch, expectedSeq: seq, events: [], row: { status: 'paused' } })
      expect(await own(storage, id)).toMatchObject({ restoredFrom: null })
    })

    test('every record is replaced by a change, or none is', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { conversations } = storage
      const drafts = [conversation({ record: '1' }), conversation({ record: '2' }), conversation({ record: '3' })]
      for (const each of drafts) await conversations.create(each)
      const records = async () => (await conversations.getMany(drafts.map(({ id }) => id))).map((row) => row?.record)
      const failing = conversations.changeRecords((record) => {
        if (record === '3') throw new Error('not this one')
        return 'lost'
      })
      await expect(failing).rejects.toThrow('not this one')
      expect(await records()).toEqual(['1', '2', '3'])
      await conversations.changeRecords((record) => (record === '2' ? record : `${record}0`))
      expect(await records()).toEqual(['10', '2', '30'])
    })

    test('a deleted conversation owes its release until it is released, and keeps its id so long', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const draft = conversation()
      await storage.conversations.create(draft)
      await storage.conversations.delete(draft.id)
      const { id, owner, record } = draft
      expect(await storage.conversations.owedReleases()).toEqual([{ id, owner, record, workspace: 'keep' }])
      expect(await storage.conversations.create(draft)).toBe('exists')
      await storage.conversations.released(draft.id)
      expect(await storage.conversations.owedReleases()).toEqual([])
      expect(await storage.conversations.create(draft)).toBe('created')
    })

    test('a reader caches the state of the newest event only, without becoming the owner', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const draft = conversation({ events: messages(2) })
      await storage.conversations.create(draft)
      await storage.conversations.cacheState(draft.id, { seq: 1, json: '{"n":1}' })
      expect(await storage.conversations.states([draft.id])).toEqual([null])
      const state = { seq: 2, json: '{"n":2}' }
      await storage.conversations.cacheState(draft.id, state)
      expect(await storage.conversations.states([draft.id])).toEqual([state])
      expect(await storage.conversations.get(draft.id)).toMatchObject({ epoch: 0 })
    })

    test('a conversation can be created with thousands of events, state and outbox', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const events = messages(3_000)
      const draft = conversation({
        events,
        state: { seq: 3_000, json: '{"n":1}' },
        outbox: [{ topic: 't', payload: 'p' }],
      })
      await storage.conversations.create(draft)
      const taken = await own(storage, draft.id)
      expect(taken.row.seq).toBe(3_000)
      expect(taken.state).toEqual(draft.state)
      expect(await storage.events.page(draft.id, { limit: 5_000 })).toEqual(events)
      expect(await notifications(storage)).toMatchObject([{ conversation_id: draft.id, topic: 't', payload: 'p' }])
    })

    test('a fork may contain the same event ids as its source', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const events = messages(3)
      const [source, fork] = [conversation({ events }), conversation({ events })]
      await storage.conversations.create(source)
      expect(await storage.conversations.create(fork)).toBe('created')
      const event = events[1]!
      expect(await storage.events.get(source.id, event.event.id)).toEqual(event)
      expect(await storage.events.get(fork.id, event.event.id)).toEqual(event)
    })
  })

  describe('appending', () => {
    test('seq is dense from 1 for appends of any size (S1)', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      let row = await owned(storage)
      for (const size of [1, 3, 1, 7, 2]) {
        await storage.conversations.append(nextAppend(row, size))
        row = { ...row, seq: row.seq + size }
      }
      expect(seqs(await storage.events.page(row.id, { limit: 100 }))).toEqual(range(1, 14))
      expect(await storage.conversations.get(row.id)).toEqual(row)
    })

    test('an append writes events, columns, state and outbox together (S2)', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const row = await owned(storage)
      const change = { status: 'running', updated_at: '2027-01-01T00:00:00.000Z', record: '{"new":1}' } as const
      const state = { seq: 2, json: '{"cached":true}' }
      const append = nextAppend(row, 2, {
        row: change,
        state,
        outbox: [
          { topic: 'a', payload: '1' },
          { topic: 'b', payload: '2' },
        ],
      })
      await storage.conversations.append(append)
      expect(await everything(storage, row.id)).toMatchObject({
        row: { ...row, ...change, seq: 2 },
        state,
        events: append.events,
        outbox: [
          { conversation_id: row.id, topic: 'a', payload: '1' },
          { conversation_id: row.id, topic: 'b', payload: '2' },
        ],
      })
    })

    test('an append without events changes columns only', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      await storage.conversations.append({ ...nextAppend(row, 0), row: { status: 'finished' } })
      expect(await storage.conversations.get(row.id)).toEqual({ ...row, status: 'finished' })
    })

    test.each([
      ['an older epoch', 'epoch', { epoch: 0 }],
      ['an epoch not handed out yet', 'epoch', { epoch: 7 }],
      ['a place that is taken', 'seq', { expectedSeq: 1, events: messages(1, 2) }],
      ['a place beyond the end', 'seq', { expectedSeq: 9, events: messages(1, 10) }],
    ])('an append with %s changes nothing (S3)', async (_, reason, change) => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const row = await owned(storage, { events: messages(2), state: { seq: 2, json: '{}' } })
      const before = await everything(storage, row.id)
      const append = nextAppend(row, 1, {
        row: { status: 'running', updated_at: 'x', record: 'x' },
        state: { seq: 3, json: 'x' },
        outbox: [{ topic: 't', payload: 'p' }],
        ...change,
      })
      await expect(storage.conversations.append(append)).rejects.toMatchObject(refused(reason))
      expect(await everything(storage, row.id)).toEqual(before)
    })

    test('an append to an unknown conversation is refused', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const append = { id: newConversationId(), epoch: 1, expectedSeq: 0, events: messages(1) }
      await expect(storage.conversations.append(append)).rejects.toMatchObject({ code: 'not_found' })
    })

    test('an append with an event id of the conversation changes nothing', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage, { events: messages(2) })
      const [first] = await storage.events.page(row.id, { limit: 1 })
      const before = await everything(storage, row.id)
      const events = [...messages(1, 3), { seq: 4, event: first!.event }]
      await expect(storage.conversations.append({ ...nextAppend(row), events })).rejects.toMatchObject(
        refused('duplicate_event'),
      )
      expect(await everything(storage, row.id)).toEqual(before)
    })

    test('an append whose secrets were changed after it was masked changes nothing (S7)', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await using beside = await place.open()
      const row = await owned(storage)
      const masked = async () => ({ user: 'ada', version: await storage.secrets.version('ada') })
      const early = nextAppend(row, 1, { masked: await masked() })
      await beside.secrets.put('ada', { name: 'A', sealed: 's', description: null })
      const before = await everything(storage, row.id)
      await expect(storage.conversations.append(early)).rejects.toMatchObject(refused('secrets'))
      expect(await everything(storage, row.id)).toEqual(before)
      // Neither those of another user nor the same ones again are in the way.
      await beside.secrets.put('bob', { name: 'A', sealed: 's', description: null })
      await storage.conversations.append({ ...early, masked: await masked() })
      await beside.settings.update('ada', () => '{}')
      const next = nextAppend({ ...row, seq: 1 }, 1)
      const stale = { ...next, masked: { user: 'ada', version: (await masked()).version - 1 } }
      await expect(storage.conversations.append(stale)).rejects.toMatchObject(refused('secrets'))
      await storage.conversations.append({ ...next, masked: await masked() })
      expect(await storage.events.count(row.id)).toBe(2)
    })

    test('an append with a gap in seq is refused before anything is written', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const before = await everything(storage, row.id)
      const events = [...messages(1, 1), ...messages(1, 3)]
      await expect(storage.conversations.append({ ...nextAppend(row), events })).rejects.toThrow('seq 3 instead of 2')
      expect(await everything(storage, row.id)).toEqual(before)
    })

    test('of two owners that append at the same seq, the newer one succeeds', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const old = await owned(storage)
      const now = (await own(storage, old.id)).row
      const [first, second] = await Promise.allSettled([
        storage.conversations.append(nextAppend(old)),
        storage.conversations.append(nextAppend(now)),
      ])
      expect(first).toMatchObject({ status: 'rejected', reason: refused('epoch') })
      expect(second.status).toBe('fulfilled')
    })

    test('several appends of one writer in one turn are stored in order', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const appends = range(0, 99).map((seq) => nextAppend({ ...row, seq }))
      await Promise.all(appends.map((append) => storage.conversations.append(append)))
      expect(await storage.events.page(row.id, { limit: 200 })).toEqual(appends.flatMap(({ events }) => events))
    })

    test('a refused or failed append does not affect the others of its group', async () => {
      await using place = await makePlace()
      const good: { id: string; seq: number }[] = []
      {
        await using storage = await place.open()
        await told(storage)
        const rows = await Promise.all(range(1, 8).map(() => owned(storage, { events: messages(1) })))
        const [taken] = await storage.events.page(rows[3]!.id, { limit: 1 })
        const bad: Record<number, Parameters<typeof nextAppend>[2]> = {
          1: { epoch: 0 },
          2: { expectedSeq: 0, events: messages(1) },
          // Fails after rows of it have been written, which have to be taken back alone.
          3: { events: [...messages(2, 2), { seq: 4, event: taken!.event }], outbox: [{ topic: 'bad', payload: '' }] },
        }
        const outcomes = await Promise.allSettled([
          ...rows.map((row, index) => storage.conversations.append(nextAppend(row, 2, bad[index]))),
          storage.settings.update('ada', () => {
            throw new Error('no change')
          }),
          storage.settings.update('ada', () => '{"kept":true}'),
        ])
        expect(outcomes.map(({ status }) => status)).toEqual(
          range(0, 9).map((index) => ([1, 2, 3, 8].includes(index) ? 'rejected' : 'fulfilled')),
        )
        for (const [index, { id }] of rows.entries()) good.push({ id, seq: index in bad ? 1 : 3 })
      }
      await using storage = await place.open()
      for (const { id, seq } of good) {
        const row = (await storage.conversations.get(id as never))!
        expect(row.seq).toBe(seq)
        expect(seqs(await storage.events.page(row.id, { limit: 10 }))).toEqual(range(1, seq))
      }
      expect(await storage.settings.get('ada')).toBe('{"kept":true}')
      expect(await notifications(storage)).toEqual([])
    })
  })

  describe('deleting', () => {
    test('deleting a conversation removes row, state and log and writes the outbox', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const row = await owned(storage, { events: messages(1_200), state: { seq: 1_200, json: '{}' } })
      const [first] = await storage.events.page(row.id, { limit: 1 })
      expect(await storage.conversations.delete(row.id, [{ topic: 'deleted', payload: row.id }])).toBe(true)
      expect(await everything(storage, row.id)).toMatchObject({
        row: null,
        state: null,
        events: [],
        outbox: [{ conversation_id: row.id, topic: 'deleted' }],
      })
      expect(await storage.events.get(row.id, first!.event.id)).toBeNull()
      expect(await storage.events.count(row.id)).toBe(0)
      await expect(storage.conversations.append(nextAppend(row))).rejects.toMatchObject({ code: 'not_found' })
    })

    test('deleting a conversation twice returns false and writes nothing', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await told(storage)
      const row = await owned(storage)
      await storage.conversations.delete(row.id)
      expect(await storage.conversations.delete(row.id, [{ topic: 't', payload: 'p' }])).toBe(false)
      expect(await notifications(storage)).toEqual([])
    })

    test('the id of a deleted conversation is free for its owner only, also after reopening', async () => {
      await using place = await makePlace()
      const mine = conversation({ owner: 'ada' })
      {
        await using storage = await place.open()
        expect(await storage.conversations.ownerOf(mine.id)).toBeNull()
        await storage.conversations.create(mine)
        expect(await storage.conversations.ownerOf(mine.id)).toBe('ada')
        await storage.conversations.delete(mine.id)
        await storage.conversations.released(mine.id)
      }
      await using storage = await place.open()
      expect(await storage.conversations.create({ ...mine, owner: 'bob' })).toBe('exists')
      expect(await storage.conversations.get(mine.id)).toBeNull()
      expect(await storage.conversations.ownerOf(mine.id)).toBe('ada')
      expect(await storage.conversations.create(mine)).toBe('created')
    })

    test('the id of a deleted conversation can be used for a new, empty one', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage, { events: messages(600) })
      await storage.conversations.delete(row.id)
      await storage.conversations.released(row.id)
      await storage.conversations.create(conversation({ id: row.id, events: messages(1) }))
      expect(await storage.events.count(row.id)).toBe(1)
      expect((await own(storage, row.id)).state).toBeNull()
    })
  })

  describe('reopening', () => {
    test('a reopened store contains all acknowledged writes, and a closed store refuses calls', async () => {
      await using place = await makePlace()
      const first = await place.open()
      const row = await owned(first)
      await first.conversations.append(nextAppend(row, 5))
      const before = await everything(first, row.id)
      await first[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
      const closed = { name: 'ParleyError', code: 'unavailable', message: expect.stringContaining('closed') as string }
      await expect(first.conversations.append(nextAppend({ ...row, seq: 5 }))).rejects.toMatchObject(closed)
      await expect(first.events.page(row.id, { limit: 1 })).rejects.toMatchObject(closed)
      await expect(first.secrets.list('ada')).rejects.toMatchObject(closed)
      await using second = await place.open()
      expect(await everything(second, row.id)).toEqual(before)
    })

    test('closing a store commits waiting writes', async () => {
      await using place = await makePlace()
      const first = await place.open()
      const row = await owned(first)
      const append = first.conversations.append(nextAppend(row, 3))
      await first[Symbol.asyncDispose]()
      await append
      await using second = await place.open()
      expect(await second.events.count(row.id)).toBe(3)
    })
  })
}
