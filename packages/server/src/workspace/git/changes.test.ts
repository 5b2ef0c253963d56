/** What is shown of the changes of a working tree: counts, moved and binary files, patches. */
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { git } from '../../../testing/two-user-server.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import type { Workspace } from '../workspace.ts'
import { patchOf } from './patch.ts'
import { changesSince } from './queries.ts'

let here: TestWorkspaces
let workspace: Workspace
let root: string
let head: string
const lines = (count: number, word = 'line') => Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join('')

beforeAll(async () => {
  here = await openTestWorkspaces()
  workspace = await here.open('changes')
  root = workspace.workingDir
  const write = (name: string, content: string) => writeFileSync(join(root, name), content)
  await git(root, 'init', '-q')
  mkdirSync(join(root, 'src'))
  write('src/kept name.ts', lines(30))
  write('edited', lines(20))
  write('removed', lines(4))
  write('image', 'a\0b')
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'first')
  head = await git(root, 'rev-parse', 'HEAD')
  renameSync(join(root, 'src/kept name.ts'), join(root, 'src/moved\tname.ts'))
  await git(root, 'add', '-N', '.')
  write('edited', lines(19) + 'other\nmore\n')
  rmSync(join(root, 'removed'))
  write('image', 'a\0c')
  write('new', 'one\ntwo')
  write('new image', 'a\0b')
  write('large', 'x'.repeat(1024 * 1024 + 1))
  symlinkSync('edited', join(root, 'link'))
})
afterAll(() => here[Symbol.asyncDispose]())

const changed = async () =>
  new Map((await changesSince(workspace, { path: root, ref: 'HEAD' }, never)).map((change) => [change.path, change]))
const patch = (name: string, more: object = {}) => patchOf(workspace, { path: join(root, name), ...more }, never)

test('changed files have their counts of lines and the commit that they were compared with', async () => {
  const files = await changed()
  expect(files.get('edited')).toEqual({ status: 'UPDATED', path: 'edited', additions: 2, deletions: 1, ref: head })
  expect(files.get('removed')).toMatchObject({ status: 'DELETED', additions: 0, deletions: 4 })
  expect(files.get('new')).toMatchObject({ status: 'ADDED', additions: 2, deletions: 0 })
  expect(files.get('link')).toMatchObject({ status: 'ADDED', additions: 1, deletions: 0 })
})

test('binary and large files have no counts', async () => {
  const files = await changed()
  expect(files.get('image')).toMatchObject({ status: 'UPDATED', additions: null, deletions: null, binary: true })
  expect(files.get('new image')).toMatchObject({ status: 'ADDED', additions: null, binary: true })
  expect(files.get('large')).toMatchObject({ status: 'ADDED', additions: null })
})

test('a moved file is an added one with its earlier path, beside the deleted one', async () => {
  const files = await changed()
  expect(files.get('src/moved\tname.ts')).toMatchObject({ status: 'ADDED', old_path: 'src/kept name.ts', additions: 0 })
  expect(files.get('src/kept name.ts')).toMatchObject({ status: 'DELETED' })
})

test('the patch of a file has its changed lines', async () => {
  const { patch: text, ...rest } = (await patch('edited'))!
  expect(rest).toEqual({ ref: head, binary: false, bytes: lines(19).length + 'other\nmore\n'.length })
  expect(text).toContain('\n-line 19\n+other\n+more\n')
  expect((await patch('removed'))!.patch).toContain('@@ -1,4 +0,0 @@')
})

test('the patch of a file that git does not know has all of its lines', async () => {
  expect((await patch('new'))!.patch).toBe('@@ -0,0 +1,2 @@\n+one\n+two\n')
})

test('the patch of a moved file names both paths', async () => {
  const moved = await patch('src/moved\tname.ts', { old_path: 'src/kept name.ts' })
  expect(moved!.patch).toContain('rename from src/kept name.ts')
})

test('a binary or large file has a size instead of a patch', async () => {
  expect(await patch('image')).toMatchObject({ patch: null, binary: true, bytes: 3 })
  expect(await patch('new image')).toMatchObject({ patch: null, binary: true, bytes: 3 })
  expect(await patch('large')).toMatchObject({ patch: null, binary: false, bytes: 1024 * 1024 + 1 })
})

test('a file name is not taken as a pattern', async () => {
  expect((await patch('*'))!.patch).toBe('')
})

test('an earlier path outside of the repository is refused', async () => {
  for (const old_path of ['../other', '/etc/passwd', ''])
    await expect(patch('edited', { old_path })).rejects.toThrow('old_path must be a path relative to the repository')
})

test('HEAD of a repository without commits stands for no files', async () => {
  const fresh = (await here.open('fresh')).workingDir
  await git(fresh, 'init', '-q')
  writeFileSync(join(fresh, 'a'), 'a\n')
  const asked = { path: fresh, ref: 'HEAD' }
  expect(await changesSince(workspace, asked, never)).toMatchObject([{ status: 'ADDED', path: 'a', additions: 1 }])
})
