import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { diskFull } from '../../testing/faulty-storage.ts'
import { conversation, own } from '../../testing/store-fixtures.ts'
import { openCipher } from '../secrets/index.ts'
import { openSqlite, type NoteStore } from '../storage/index.ts'
import { openCallNotes, UnreadableNote } from './call-notes.ts'

const OWNER = { id: asConversationId('c1'), epoch: 0 }
const never = new AbortController().signal

/** Notes over a real store, whose next `refusals` notes are refused as by a full disk. */
async function bench() {
  const storage = await openSqlite({ path: ':memory:' })
  await storage.conversations.create(conversation({ id: OWNER.id }))
  const faults = { refusals: 0, refused: 0 }
  const put: NoteStore['put'] = async (...asked) => {
    if (faults.refusals === 0) return storage.notes.put(...asked)
    faults.refusals -= 1
    faults.refused += 1
    throw diskFull()
  }
  const noted: number[] = []
  const open = async (keyText: string) => {
    const cipher = await openCipher({ keyText, keyFile: '', salt: '' })
    const proof = { noted: async (note: number) => void noted.push(note) }
    return openCallNotes({ notes: { ...storage.notes, put }, cipher, proof })
  }
  return { storage, faults, noted, open, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() }
}

test('a note is sealed in the store, and its number is reported before the write resolves', async () => {
  await using the = await bench()
  const notes = (await the.open('one'))(OWNER)
  await notes.write('file_editor', 'call', 'text of a file')
  expect(await the.storage.notes.get(OWNER.id, 'file_editor', 'call')).toMatch(/^v1:/)
  expect(the.noted).toEqual([await the.storage.notes.newest()])
  expect(await notes.read('file_editor', 'call')).toBe('text of a file')
  await notes.remove('file_editor', 'call')
  expect(await notes.read('file_editor', 'call')).toBeNull()
})

test('a note that was sealed with another key is unreadable, not missing', async () => {
  await using the = await bench()
  await (await the.open('one'))(OWNER).write('file_editor', 'call', 'text')
  await expect((await the.open('other'))(OWNER).read('file_editor', 'call')).rejects.toThrow(UnreadableNote)
})

test('a note that the store refuses is repeated until it is stored', async () => {
  await using the = await bench()
  const notes = (await the.open('one'))(OWNER)
  the.faults.refusals = 2
  await notes.write('file_editor', 'call', 'text', never)
  expect([the.faults.refused, await notes.read('file_editor', 'call')]).toEqual([2, 'text'])
})

test('the repetition of a refused note ends with its signal, and without a signal there is none', async () => {
  await using the = await bench()
  const notes = (await the.open('one'))(OWNER)
  the.faults.refusals = 1_000_000
  await expect(notes.write('file_editor', 'call', 'text')).rejects.toMatchObject({ code: 'unavailable' })
  expect(the.faults.refused).toBe(1)
  const stop = new AbortController()
  const writing = notes.write('file_editor', 'call', 'text', stop.signal)
  stop.abort(new Error('interrupted'))
  await expect(writing).rejects.toThrow('interrupted')
  expect(the.noted).toEqual([])
})

test('a note of an earlier owner is refused at once', async () => {
  await using the = await bench()
  const notes = (await the.open('one'))(OWNER)
  await own(the.storage, OWNER.id)
  await expect(notes.write('file_editor', 'call', 'text', never)).rejects.toMatchObject({ code: 'conflict' })
})
