/** Contract of the notes of open calls. */
import { newConversationId, newEventId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import type { NoteKind, Storage } from '../../../packages/server/src/storage/index.ts'
import {
  conversation,
  type MakePlace,
  nextAppend,
  own,
  owned,
} from '../../../packages/server/testing/store-fixtures.ts'

const KINDS: readonly NoteKind[] = ['file_editor', 'apply_patch', 'remote_call', 'remote_shell', 'arguments', 'batch']

export function noteContract(makePlace: MakePlace): void {
  describe('notes', () => {
    test('notes are stored by conversation, kind and call, and outlive the process', async () => {
      await using place = await makePlace()
      const [call, other] = [newEventId(), newEventId()]
      const first = conversation()
      const second = conversation()
      {
        await using storage = await place.open()
        for (const made of [first, second]) await storage.conversations.create(made)
        for (const kind of KINDS)
          await storage.notes.put({ id: first.id, epoch: 0 }, { about: call, kind, text: `old ${kind}` })
        for (const kind of KINDS) await storage.notes.put({ id: first.id, epoch: 0 }, { about: call, kind, text: kind })
        await storage.notes.put({ id: second.id, epoch: 0 }, { about: call, kind: 'file_editor', text: 'second' })
      }
      await using storage = await place.open()
      for (const kind of KINDS) expect(await storage.notes.get(first.id, kind, call)).toBe(kind)
      expect(await storage.notes.get(second.id, 'file_editor', call)).toBe('second')
      expect(await storage.notes.get(second.id, 'apply_patch', call)).toBeNull()
      expect(await storage.notes.get(first.id, 'file_editor', other)).toBeNull()
      expect(await storage.notes.get(newConversationId(), 'file_editor', call)).toBeNull()
    })

    test('the number of a note is higher than those of all notes before, also of deleted ones', async () => {
      await using place = await makePlace()
      const numbers: number[] = []
      for (let opened = 0; opened < 3; opened++) {
        await using storage = await place.open()
        expect(await storage.notes.newest()).toBe(numbers.at(-1) ?? 0)
        const { id, epoch } = await owned(storage)
        for (const text of ['one', 'two'])
          numbers.push(await storage.notes.put({ id, epoch }, { about: 'call', kind: 'file_editor', text }))
        await storage.conversations.delete(id)
      }
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
      expect(numbers).toHaveLength(6)
    })

    test('only the owner of a conversation adds notes', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { id, epoch } = await owned(storage)
      const note = { about: 'call', kind: 'file_editor' as const, text: 'late' }
      await own(storage, id)
      await expect(storage.notes.put({ id, epoch }, note)).rejects.toMatchObject({
        code: 'conflict',
        details: { reason: 'epoch' },
      })
      await expect(storage.notes.put({ id: newConversationId(), epoch }, note)).rejects.toMatchObject({
        code: 'not_found',
      })
      expect(await storage.notes.get(id, 'file_editor', 'call')).toBeNull()
      expect(await storage.notes.newest()).toBe(0)
    })

    test('an append deletes the notes of the calls that it settles, and of their parts, and no others', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const row = await owned(storage)
      const another = await owned(storage)
      const [settled, open] = [newEventId(), newEventId()]
      const abouts = [settled, `${settled}-0`, `${settled}-12`, open, `${open}-0`, 'newest']
      for (const { id, epoch } of [row, another])
        for (const about of abouts) await storage.notes.put({ id, epoch }, { about, kind: 'remote_call', text: about })
      const left = (of: Storage, id: typeof row.id) =>
        Promise.all(abouts.map((about) => of.notes.get(id, 'remote_call', about)))
      const refused = { ...nextAppend(row, 1, { settled: [settled] }), expectedSeq: 7 }
      await expect(storage.conversations.append({ ...refused, events: [] })).rejects.toMatchObject({ code: 'conflict' })
      expect(await left(storage, row.id)).toEqual(abouts)
      await storage.conversations.append(nextAppend(row, 1, { settled: [settled] }))
      expect(await left(storage, row.id)).toEqual([null, null, null, open, `${open}-0`, 'newest'])
      expect(await left(storage, another.id)).toEqual(abouts)
    })

    test('an append stores its notes with its events, or neither', async () => {
      await using place = await makePlace()
      const call = newEventId()
      const note = { about: call, kind: 'arguments' as const, text: 'sealed' }
      let id = newConversationId()
      {
        await using storage = await place.open()
        const row = await owned(storage)
        id = row.id
        const refused = nextAppend(row, 1, { notes: [note], epoch: row.epoch + 1 })
        await expect(storage.conversations.append(refused)).rejects.toMatchObject({ code: 'conflict' })
        expect(await storage.notes.get(id, 'arguments', call)).toBeNull()
        await storage.conversations.append(nextAppend(row, 1, { notes: [note] }))
      }
      await using storage = await place.open()
      expect(await storage.notes.get(id, 'arguments', call)).toBe('sealed')
    })

    test('the text of existing notes is changed, without an owner, and no note is added', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const [one, other] = [await owned(storage), await owned(storage)]
      for (const { id, epoch } of [one, other])
        await storage.notes.put({ id, epoch }, { about: 'b1', kind: 'batch', text: 'waiting' })
      await storage.notes.change(one.id, 'batch', ['b1', 'b2'], 'shown')
      await storage.notes.change(newConversationId(), 'batch', ['b1'], 'shown')
      const texts = ['b1', 'b2'].map((batch) => storage.notes.get(one.id, 'batch', batch))
      expect(await Promise.all(texts)).toEqual(['shown', null])
      expect(await storage.notes.get(other.id, 'batch', 'b1')).toBe('waiting')
    })

    test('notes are removed one by one or by kind, and with their conversation', async () => {
      await using place = await makePlace()
      await using storage = await place.open()
      const { id, epoch } = await owned(storage)
      for (const kind of KINDS)
        for (const about of ['a', 'b'])
          await storage.notes.put({ id, epoch }, { about, kind, text: `${kind} ${about}` })
      await storage.notes.remove(id, 'apply_patch', 'a')
      await storage.notes.remove(id, 'remote_call')
      const texts = () =>
        Promise.all(KINDS.flatMap((kind) => ['a', 'b'].map((about) => storage.notes.get(id, kind, about))))
      expect(await texts()).toEqual([
        'file_editor a',
        'file_editor b',
        null,
        'apply_patch b',
        null,
        null,
        'remote_shell a',
        'remote_shell b',
        'arguments a',
        'arguments b',
        'batch a',
        'batch b',
      ])
      await storage.conversations.delete(id)
      await storage.conversations.released(id)
      await storage.conversations.create(conversation({ id }))
      expect(await texts()).toEqual(Array.from({ length: 12 }, () => null))
      await storage.notes.remove(newConversationId(), 'file_editor')
    })
  })
}
