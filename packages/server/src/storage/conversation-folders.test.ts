import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { openConversationFolders } from './conversation-folders.ts'

test('folders of stored conversations stay where they are', async () => {
  await using dir = await tempDir()
  await mkdir(dir.file('conversations', 'c1'), { recursive: true })
  {
    await using folders = await openConversationFolders({ dataDir: dir.path, ephemeral: false })
    expect(folders.path).toBe(dir.file('conversations'))
  }
  expect(await readdir(dir.file('conversations'))).toEqual(['c1'])
})

test('folders of ephemeral conversations end with their process, or with the next one after a kill', async () => {
  await using dir = await tempDir()
  await mkdir(dir.file('ephemeral', 'conversations-killed'), { recursive: true })
  {
    await using folders = await openConversationFolders({ dataDir: dir.path, ephemeral: true })
    await writeFile(`${folders.path}/tasks.json`, '[]')
    expect((await readdir(dir.file('ephemeral'))).map((name) => dir.file('ephemeral', name))).toEqual([folders.path])
  }
  expect(await readdir(dir.file('ephemeral'))).toEqual([])
})
