import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { conversation, own } from '../../testing/store-fixtures.ts'
import { tempDir } from '../../testing/temp.ts'
import { openCipher } from '../secrets/index.ts'
import { MAX_FILE_PART, openSqlite } from '../storage/index.ts'
import { openConversationFiles, sealedFile } from './conversation-files.ts'

async function openPlace() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const storage = stack.use(await openSqlite({ path: ':memory:' }))
  const row = conversation()
  await storage.conversations.create(row)
  const cipher = await openCipher({ keyText: 'key of the test', keyFile: '', salt: '' })
  const files = openConversationFiles({ files: storage.files, cipher, folderOf: () => dir.path })
  const open = stack.move()
  return { dir, storage, cipher, files, id: row.id, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

test.each([
  ['an empty text', ''],
  ['a short text', 'a list'],
  ['a text of several parts with characters of four bytes at every boundary', '😀x'.repeat(400_000)],
  ['a text of characters of three bytes', '€'.repeat(600_000)],
])('%s is read as it was written, in sealed parts of at most 1 MiB', async (_, text) => {
  await using at = await openPlace()
  const files = at.files({ id: at.id, epoch: 0 })
  await files.write('name', text)
  expect((await files.read('name')) === text).toBe(true)
  const parts = (await at.storage.files.get(at.id, 'name'))!
  expect(parts.every((part) => part.startsWith('v1:') && Buffer.byteLength(part) <= MAX_FILE_PART)).toBe(true)
  expect(parts.length).toBe(sealedFile('name', text, at.cipher).parts.length)
})

test('a file of version 0.1.0 becomes rows at the first read, and is removed', async () => {
  await using at = await openPlace()
  const files = at.files({ id: at.id, epoch: 0 })
  await writeFile(at.dir.file('TASKS.json'), 'from before')
  expect(await files.read('TASKS.json')).toBe('from before')
  expect(existsSync(at.dir.file('TASKS.json'))).toBe(false)
  expect(await files.read('TASKS.json')).toBe('from before')
  expect(await files.read('unknown')).toBeNull()
})

test('a file that was written since is not replaced by the one of version 0.1.0', async () => {
  await using at = await openPlace()
  const files = at.files({ id: at.id, epoch: 0 })
  await writeFile(at.dir.file('TASKS.json'), 'from before')
  await files.write('TASKS.json', 'newer')
  expect(await files.read('TASKS.json')).toBe('newer')
})

test('a replaced owner neither writes a file nor removes one of version 0.1.0', async () => {
  await using at = await openPlace()
  await own(at.storage, at.id)
  const files = at.files({ id: at.id, epoch: 0 })
  await writeFile(at.dir.file('TASKS.json'), 'from before')
  await expect(files.read('TASKS.json')).rejects.toMatchObject({ code: 'conflict', details: { reason: 'epoch' } })
  await expect(files.write('TASKS.json', 'late')).rejects.toMatchObject({ code: 'conflict' })
  expect(existsSync(at.dir.file('TASKS.json'))).toBe(true)
})
