/** Contract of checkpoints: which tree belongs to which event of a conversation. */
import { describe, expect, test } from 'vitest'
import { type MakePlace, conversation, own } from '../../../packages/server/testing/store-fixtures.ts'

export function checkpointContract(makePlace: MakePlace): void {
  describe('checkpoints', () => {
    test('the last checkpoint at or before an event is found, and the newest without one', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = conversation()
      await storage.conversations.create(row)
      expect(await storage.checkpoints.at(row.id)).toBeNull()
      for (const [seq, tree] of [
        [0, 'a'],
        [4, 'b'],
        [9, 'c'],
      ] as const)
        await storage.checkpoints.put(row.id, 0, { seq, tree })
      expect(await storage.checkpoints.at(row.id)).toEqual({ seq: 9, tree: 'c' })
      expect(await storage.checkpoints.at(row.id, 8)).toEqual({ seq: 4, tree: 'b' })
      expect(await storage.checkpoints.at(row.id, 3)).toEqual({ seq: 0, tree: 'a' })
      await storage.checkpoints.put(row.id, 0, { seq: 4, tree: 'd' })
      await storage.checkpoints.removeBefore(row.id, 4)
      expect(await storage.checkpoints.list(row.id)).toEqual([
        { seq: 4, tree: 'd' },
        { seq: 9, tree: 'c' },
      ])
      expect(await storage.checkpoints.at(row.id, 3)).toBeNull()
    })

    test('a replaced owner stores no checkpoint', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = conversation()
      await storage.conversations.create(row)
      await own(storage, row.id)
      const refused = { code: 'conflict', details: { reason: 'epoch' } }
      await expect(storage.checkpoints.put(row.id, 0, { seq: 1, tree: 'a' })).rejects.toMatchObject(refused)
      expect(await storage.checkpoints.list(row.id)).toEqual([])
    })

    test('checkpoints are created with a fork, and deleted with their conversation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = conversation({ checkpoints: [{ seq: 0, tree: 'a' }] })
      await storage.conversations.create(row)
      expect(await storage.checkpoints.list(row.id)).toEqual([{ seq: 0, tree: 'a' }])
      await storage.conversations.delete(row.id)
      await storage.conversations.released(row.id)
      expect(await storage.checkpoints.list(row.id)).toEqual([])
      await storage.conversations.create(conversation({ id: row.id }))
      expect(await storage.checkpoints.at(row.id)).toBeNull()
      await expect(storage.checkpoints.put(conversation().id, 0, { seq: 1, tree: 'a' })).rejects.toMatchObject({
        code: 'not_found',
      })
    })
  })
}
