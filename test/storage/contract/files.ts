/** Contract of files of conversations, and of owed callbacks. */
import { newConversationId, type ConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { MAX_FILE_PART, type NewConversation } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  type MakePlace,
  messages,
  NODE,
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
      const owed = (id: string, json: string) => ({ id, conversation_id: row.id, is_open: json === 'begun', json })
      for (const id of ['c', 'a', 'b']) await callbacks.put(owed(id, 'begun'), NODE)
      await callbacks.put(owed('b', 'ended'), NODE)
      await storage.conversations.delete(row.id)
      expect(await callbacks.owed()).toEqual([owed('a', 'begun'), owed('b', 'ended'), owed('c', 'begun')])
      await callbacks.park('a')
      await callbacks.remove('c')
      expect(await callbacks.owed()).toEqual([owed('b', 'ended')])
      expect([await callbacks.isOf('a', NODE), await callbacks.isOf('b', NODE)]).toEqual([false, true])
    })

    test('a run that continues at another node has the callback that it began with, which ends once', async () => {
      await using place = await makePlace()
      await using first = await place.open()
      await using second = await place.open()
      const id = newConversationId()
      const callback = (name: string, json = 'begun') => ({
        id: name,
        conversation_id: id,
        is_open: json === 'begun',
        json,
      })
      expect(await first.callbacks.openOf(id)).toBeNull()
      expect(await first.callbacks.begin(callback('a'), 1)).toBe('a')
      expect(await second.callbacks.begin(callback('b'), 2)).toBe('a')
      expect(await first.callbacks.openOf(id)).toBe('a')
      expect([await first.callbacks.isOf('a', 1), await first.callbacks.isOf('a', 2)]).toEqual([false, true])
      expect(await second.callbacks.end(callback('a', 'ended'), 2)).toBe(true)
      expect(await first.callbacks.end(callback('a', 'too late'), 1)).toBe(false)
      expect(await first.callbacks.owed()).toEqual([callback('a', 'ended')])
      expect(await first.callbacks.isOf('a', 2)).toBe(true)
      // The next run has a callback of its own.
      expect(await first.callbacks.begin(callback('c'), 1)).toBe('c')
    })

    test('a node takes the callbacks of earlier nodes, except for those of runs that continue', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { callbacks, nodes } = storage
      const [earlier, now] = [await nodes.add(), await nodes.add()]
      const of = async (status: NewConversation['status'], wants_owner = false) => {
        const draft = conversation({ status, wants_owner })
        await storage.conversations.create(draft)
        return draft.id
      }
      const gone = newConversationId()
      const callback = (id: string, conversation_id: ConversationId, is_open: boolean) => ({
        id,
        conversation_id,
        is_open,
        json: id,
      })
      const theirs = [
        callback('ended', await of('running'), false),
        callback('gone', gone, true),
        callback('over', await of('finished'), true),
      ]
      const continuing = [
        callback('approval', await of('waiting_for_confirmation'), true),
        callback('runs', await of('running'), true),
        callback('starts', await of('idle', true), true),
      ]
      for (const each of [...theirs, ...continuing]) await callbacks.put(each, earlier)
      await callbacks.put(callback('mine', gone, false), now)
      await callbacks.put(callback('nobody', gone, false), null)
      await callbacks.put(callback('parked', gone, false), earlier)
      await callbacks.park('parked')
      const taken = [theirs[0]!, theirs[1]!, callback('nobody', gone, false), theirs[2]!]
      expect(await callbacks.take(now)).toEqual(taken)
      expect(await callbacks.take(now)).toEqual([])
    })
  })
}
