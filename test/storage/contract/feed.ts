/** Contract of the feed: which conversations of a user have changed. */
import { describe, expect, test } from 'vitest'
import { at, conversation, type MakePlace, nextAppend, owned } from '../../../packages/server/testing/store-fixtures.ts'
import type { Storage } from '../../../packages/server/src/storage/index.ts'

/** How many changes a store keeps. */
const KEPT = 500

const changedSince = async ({ feed }: Storage, user: string, n: number) =>
  (await feed.since(user, n))?.changes.map(({ conversation_id }) => conversation_id)

export function feedContract(makePlace: MakePlace): void {
  describe('feed', () => {
    test('a creation, a change of a column and a deletion are changes, and an append of events alone is none', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      expect(await storage.feed.newest('ada')).toBe(0)
      expect(await storage.feed.since('ada', 0)).toEqual({ n: 0, changes: [] })
      const row = await owned(storage)
      expect(await storage.feed.since('ada', 0)).toEqual({ n: 1, changes: [{ n: 1, conversation_id: row.id }] })
      await storage.conversations.append(nextAppend(row, 1, { row: {} }))
      expect(await storage.feed.newest('ada')).toBe(1)
      await storage.conversations.append(nextAppend({ ...row, seq: 1 }, 1, { row: { status: 'paused' } }))
      await storage.conversations.append(nextAppend({ ...row, seq: 2 }, 1, { row: { updated_at: at(9) } }))
      await storage.conversations.append({ ...nextAppend({ ...row, seq: 3 }, 1), events: [], row: { record: '{}' } })
      expect(await storage.feed.newest('ada')).toBe(4)
      await storage.conversations.delete(row.id)
      expect(await storage.feed.since('ada', 4)).toEqual({ n: 5, changes: [{ n: 5, conversation_id: row.id }] })
    })

    test('a conversation that changed several times comes once, at the place of its newest change', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [first, second] = [await owned(storage), await owned(storage)]
      await storage.conversations.append(nextAppend(first, 1, { row: { status: 'paused' } }))
      expect(await changedSince(storage, 'ada', 0)).toEqual([second.id, first.id])
      expect(await changedSince(storage, 'ada', 2)).toEqual([first.id])
    })

    test('the changes of one user are not among those of another one, and each user has numbers of its own', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const ofAda = await owned(storage)
      const ofBob = await owned(storage, { owner: 'bob' })
      expect(await storage.feed.since('ada', 0)).toEqual({ n: 1, changes: [{ n: 1, conversation_id: ofAda.id }] })
      expect(await storage.feed.since('bob', 0)).toEqual({ n: 1, changes: [{ n: 1, conversation_id: ofBob.id }] })
    })

    test('changes of one commit have numbers of their own', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const rows = [await owned(storage), await owned(storage), await owned(storage, { owner: 'bob' })]
      await Promise.all(
        rows.map((row) => storage.conversations.append(nextAppend(row, 1, { row: { status: 'paused' } }))),
      )
      expect((await storage.feed.since('ada', 2))?.changes.map(({ n }) => n)).toEqual([3, 4])
      expect(await storage.feed.newest('bob')).toBe(2)
    })

    test('changes are kept after reopening, up to a number of them, and older ones are reported as not kept', async () => {
      await using place = await makePlace()
      {
        await using storage = await place.open()
        const row = await owned(storage)
        for (let seq = 0; seq < KEPT + 2; seq += 1)
          await storage.conversations.append(nextAppend({ ...row, seq }, 1, { row: { updated_at: at(seq) } }))
      }
      await using storage = await place.open()
      const newest = KEPT + 3
      expect(await storage.feed.newest('ada')).toBe(newest)
      expect(await storage.feed.since('ada', newest - KEPT - 1)).toBeNull()
      expect((await storage.feed.since('ada', newest - KEPT))?.changes.length).toBe(1)
      expect(await storage.feed.since('ada', newest + 1)).toBeNull()
    })

    test('a number of a reader from after the backup is reported as not kept once the backup is restored', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      await owned(storage)
      await storage.conversations.markRestored(at(1))
      await owned(storage)
      expect(await storage.feed.since('ada', 1)).toBeNull()
      expect(await storage.feed.since('ada', 2)).toBeNull()
    })

    test('listeners hear the user of a stored change, and not of a refused one', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const heard: string[] = []
      const leave = storage.feed.subscribe((user) => heard.push(user))
      const row = await owned(storage)
      expect(await storage.conversations.create(conversation({ id: row.id }))).toBe('exists')
      await storage.conversations.append(nextAppend(row, 1, { row: { status: 'paused' } }))
      await expect(
        storage.conversations.append(nextAppend(row, 1, { row: { status: 'running' } })),
      ).rejects.toMatchObject({ code: 'conflict' })
      await storage.conversations.delete(row.id)
      expect(heard).toEqual(['ada', 'ada', 'ada'])
      leave()
      await owned(storage)
      expect(heard.length).toBe(3)
    })
  })
}
