/** Contract of files of conversations, and of owed callbacks. */
import { newConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { MAX_FILE_PART } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  type MakePlace,
  messages,
  own,
  owned,
  recount,
} from '../../../packages/server/testing/store-fixtures.ts'

export function fileContract(makePlace: MakePlace): void {
  describe('files of conversations', () => {
    test('a file has the parts that were stored last, in their order, also after reopening', async () => {
      await using place = await makePlace()
      const first = await place.open()
      const row = await owned(first)
      expect(await first.files.get(row.id, 'a')).toBeNull()
      await first.files.put(row, { name: 'a', parts: ['one', 'two', 'three'] })
      await first.files.put(row, { name: 'b', parts: [] })
      await first.files.put(row, { name: 'a', parts: ['four', 'five'] })
      await first[Symbol.asyncDispose]()
      await using storage = await place.open()
      expect(await storage.files.get(row.id, 'a')).toEqual(['four', 'five'])
      expect(await storage.files.get(row.id, 'b')).toEqual([''])
      expect(await storage.files.get(newConversationId(), 'a')).toBeNull()
    })

    test('a conversation is created with its files', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage, { files: [{ name: 'a', parts: ['x', 'y'] }] })
      expect(await storage.files.get(row.id, 'a')).toEqual(['x', 'y'])
    })

    test('a replaced owner, an unknown conversation and a part that is too long change nothing', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      await storage.files.put(row, { name: 'a', parts: ['kept'] })
      await own(storage, row.id)
      const file = { name: 'a', parts: ['lost'] }
      const late = storage.files.put(row, file)
      await expect(late).rejects.toMatchObject({ code: 'conflict', details: { reason: 'epoch' } })
      const unknown = storage.files.put({ id: newConversationId(), epoch: 0 }, file)
      await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
      const long = storage.files.put({ ...row, epoch: 2 }, { name: 'a', parts: ['x'.repeat(MAX_FILE_PART + 1)] })
      await expect(long).rejects.toMatchObject({ code: 'too_large' })
      expect(await storage.files.get(row.id, 'a')).toEqual(['kept'])
    })

    test('files count as stored bytes until they are replaced or their conversation is deleted', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const used = async () => (await storage.usage.of('ada', new Date())).stored_bytes
      const row = await owned(storage, { events: messages(2), files: [{ name: 'a', parts: ['12345', 'ä'] }] })
      const { bytes } = await recount(storage, [row.id])
      expect(await used()).toBe(bytes + 7)
      await storage.files.put(row, { name: 'a', parts: ['1'] })
      await storage.files.put(row, { name: 'b', parts: ['22', '333'] })
      expect(await used()).toBe(bytes + 6)
      await storage.conversations.delete(row.id)
      expect(await used()).toBe(0)
      expect(await storage.files.get(row.id, 'b')).toBeNull()
      await storage.conversations.released(row.id)
      await storage.conversations.create(conversation({ id: row.id }))
      expect(await storage.files.get(row.id, 'b')).toBeNull()
    })
  })

  describe('owed callbacks', () => {
    test('a callback is owed until it is parked or removed, also after the deletion of its conversation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { callbacks } = storage
      const row = await owned(storage)
      const owed = (id: string, json: string) => ({ id, conversation_id: row.id, json })
      for (const id of ['c', 'a', 'b']) await callbacks.put(owed(id, 'begun'))
      await callbacks.put(owed('b', 'ended'))
      await storage.conversations.delete(row.id)
      expect(await callbacks.owed()).toEqual([owed('a', 'begun'), owed('b', 'ended'), owed('c', 'begun')])
      await callbacks.park('a')
      await callbacks.remove('c')
      expect(await callbacks.owed()).toEqual([owed('b', 'ended')])
    })
  })
}
