import { readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { CompletionFiles, listCompletions, readCompletion } from './completion-files.ts'

const LIMITS = { bytes: 10, files: 3 }

/** Files with small limits, and the counted bytes. */
function filesIn(folder: string) {
  const counted: number[] = []
  const count = async (bytes: number) => void counted.push(bytes)
  return { files: new CompletionFiles(folder, count, LIMITS), counted }
}
const names = async (folder: string) => (await listCompletions(folder)).map(({ filename }) => filename)

test('the oldest files are removed when all have more bytes than the limit', async () => {
  await using dir = await tempDir()
  const { files, counted } = filesIn(dir.file('log'))
  for (const name of ['a', 'b', 'c']) await files.add(`${name}.json`, '1234')
  expect(await names(dir.file('log'))).toEqual(['b.json', 'c.json'])
  expect(counted).toEqual([4, 8, 8])
})

test('the oldest files are removed when there are more than the limit', async () => {
  await using dir = await tempDir()
  const { files } = filesIn(dir.file('log'))
  for (const name of ['a', 'b', 'c', 'd']) await files.add(`${name}.json`, '1')
  expect(await names(dir.file('log'))).toEqual(['b.json', 'c.json', 'd.json'])
})

test('files of an earlier process count, and what it left of interrupted writes is removed', async () => {
  await using dir = await tempDir()
  await filesIn(dir.path).files.add('a.json', '123456')
  await writeFile(dir.file('b.json.part'), 'half')
  const { files, counted } = filesIn(dir.path)
  await files.add('c.json', '123456')
  expect(await readdir(dir.path)).toEqual(['c.json'])
  expect(counted).toEqual([6])
})

test('a write that fails leaves no file, and later ones succeed', async () => {
  await using dir = await tempDir()
  const { files } = filesIn(dir.path)
  await files.add('a.json', '1')
  await expect(files.add(join('absent', 'b.json'), '2')).rejects.toMatchObject({ code: 'ENOENT' })
  await files.add('c.json', '3')
  expect(await readdir(dir.path)).toEqual(['a.json', 'c.json'])
})

test('a link in the folder is neither listed nor read', async () => {
  await using dir = await tempDir()
  await writeFile(dir.file('elsewhere'), '{}')
  await filesIn(dir.file('log')).files.add('a.json', '{"n":1}')
  await symlink(dir.file('elsewhere'), dir.file('log', 'b.json'))
  expect(await names(dir.file('log'))).toEqual(['a.json'])
  expect(await readCompletion(dir.file('log'), 'b.json')).toBeNull()
  expect(await readCompletion(dir.file('log'), '../elsewhere')).toBeNull()
  expect(await readCompletion(dir.file('log'), 'a.json')).toBe(await readFile(dir.file('log', 'a.json'), 'utf8'))
})
