import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { deleteAside, setAside } from './remove-tree.ts'

const never = new AbortController().signal
const throws = (error: unknown) => {
  throw error
}
const bash = (cwd: string, script: string) => promisify(execFile)('bash', ['-euc', script], { cwd })

test('a tree is deleted with everything that its names and depth allow, and nothing behind its symlinks', async () => {
  await using dir = await tempDir()
  const [tree, outside, aside] = [dir.file('tree'), dir.file('outside'), dir.file('aside')]
  for (const folder of [outside, join(tree, 'a/b/c'), join(tree, 'empty')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(outside, 'kept'), 'kept')
  writeFileSync(join(tree, 'a/b/c/file'), '')
  symlinkSync(outside, join(tree, 'link'))
  symlinkSync(join(outside, 'kept'), join(tree, 'a/link'))
  symlinkSync('nowhere', join(tree, 'dangling'))
  // Deeper than the longest path that the system accepts, with names that are no text.
  await bash(
    tree,
    String.raw`
    long=$(printf 'dddddddd/%.0s' $(seq 200))
    for level in 1 2 3; do mkdir -p "$long"; cd "$long"; done
    touch leaf $'\xff\xfe'; mkdir $'\xfe'; touch $'\xfe/\xff'`,
  )
  await setAside(tree, aside)
  expect(existsSync(tree)).toBe(false)
  // In the place of a directory that another process replaced just before it was moved.
  symlinkSync(outside, join(aside, 'link'))
  await deleteAside(aside, never, throws)
  expect(readdirSync(aside)).toEqual([])
  expect(readdirSync(outside)).toEqual(['kept'])
})

test('directories that forbid reading and writing are deleted', async () => {
  await using dir = await tempDir()
  const [tree, aside] = [dir.file('tree'), dir.file('aside')]
  mkdirSync(join(tree, 'a/b'), { recursive: true })
  writeFileSync(join(tree, 'a/b/file'), '')
  for (const folder of ['a/b', 'a', '.']) chmodSync(join(tree, folder), 0o000)
  await setAside(tree, aside)
  await deleteAside(aside, never, throws)
  expect(readdirSync(aside)).toEqual([])
})

test('a deletion that was cut off is continued, and an absent folder is empty', async () => {
  await using dir = await tempDir()
  const aside = dir.file('aside')
  await deleteAside(aside, never, throws)
  for (const name of ['one', 'two', 'three']) {
    for (let n = 0; n < 20; n++) mkdirSync(dir.file(name, `folder ${n}`, 'below'), { recursive: true })
    await setAside(dir.file(name), aside)
  }
  const cut = new AbortController()
  const deleting = deleteAside(aside, cut.signal, throws)
  setImmediate(() => cut.abort())
  await deleting
  expect(readdirSync(aside)).not.toEqual([])
  await deleteAside(aside, never, throws)
  expect(readdirSync(aside)).toEqual([])
})

test('other work is done while a large tree is deleted', async () => {
  await using dir = await tempDir()
  const [tree, aside] = [dir.file('tree'), dir.file('aside')]
  mkdirSync(tree)
  for (let n = 0; n < 500; n++) writeFileSync(join(tree, `file ${n}`), '')
  await setAside(tree, aside)
  let [turns, isDone] = [0, false]
  const deleting = deleteAside(aside, never, throws).finally(() => (isDone = true))
  while (!isDone) {
    turns += 1
    await new Promise((resolve) => setImmediate(resolve))
  }
  await deleting
  expect(turns).toBeGreaterThan(500)
})
