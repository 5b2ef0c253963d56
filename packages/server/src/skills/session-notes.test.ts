import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { diskWorkspace } from '../../testing/disk-workspace.ts'
import { tempDir } from '../../testing/temp.ts'
import { skillNamesOf } from './listing.ts'
import { readNotes } from './session-notes.ts'

const never = new AbortController().signal

async function openHome() {
  const dir = await tempDir()
  const files = {
    'home/.openhands/memory/MEMORY.md': 'Prefers short answers.',
    'home/.agents/skills/release.md': '---\nname: release\ndescription: Releases.\n---\nTag it.',
    'work/.openhands/memory/MEMORY.md': 'The tests need Redis.',
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(dir.file(path)), { recursive: true })
    await writeFile(dir.file(path), text)
  }
  return dir
}

test('notes and skills of the home folder are for the owner of the account alone', async () => {
  await using dir = await openHome()
  const workspace = diskWorkspace(dir.file('work'))
  const notes = (user: string) => readNotes(dir.file('home'), user, workspace, never)
  expect(await notes('default')).toMatch(/Prefers short answers\.[\s\S]*The tests need Redis\./)
  expect(await notes('ann')).not.toContain('Prefers short answers.')
  expect(await notes('ann')).toContain('The tests need Redis.')
  const names = skillNamesOf(dir.file('home'))
  expect([await names('default', never), await names('ann', never)]).toEqual([['release'], []])
})

test('without any notes there is no text', async () => {
  await using dir = await tempDir()
  await mkdir(dir.file('work'))
  expect(await readNotes(dir.file('home'), 'default', diskWorkspace(dir.file('work')), never)).toBeNull()
})
