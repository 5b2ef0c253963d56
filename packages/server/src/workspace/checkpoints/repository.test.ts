import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { openPlace, restoredInEmpty } from './checkpoint-place.testing.ts'
import { CHECKPOINT_LIMITS } from './limits.ts'

let here: TestWorkspaces
beforeAll(async () => {
  here = await openTestWorkspaces()
})
afterAll(() => here[Symbol.asyncDispose]())

describe('a checkpoint', () => {
  test('contains tracked and untracked files with modes and symlinks, and no ignored ones', async () => {
    const at = openPlace(here)
    at.git('init', '-q')
    at.write('tracked.txt', 'one')
    at.git('add', '.')
    at.git('commit', '-qm', 'first')
    at.write('untracked/deep/file', 'two')
    at.write('.gitignore', 'ignored\n')
    at.write('ignored', 'secret')
    at.write('script.sh', '#!/bin/sh\n')
    chmodSync(at.file('script.sh'), 0o755)
    symlinkSync('tracked.txt', at.file('link'))
    const before = at.files()
    const tree = await at.repository.take(never)
    const { ignored: _, ...kept } = before
    expect(await restoredInEmpty(at, tree)).toEqual(kept)
  })

  test('contains a file that the repository tracks although it is ignored', async () => {
    const at = openPlace(here)
    at.git('init', '-q')
    at.write('.gitignore', '*.log\n')
    at.write('kept.log', 'tracked')
    at.write('other.log', 'untracked')
    at.git('add', '-f', 'kept.log')
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': '*.log\n', 'kept.log': 'tracked' })
  })

  test('contains a tracked ignored file that is written again after a checkpoint without it', async () => {
    const at = openPlace(here)
    at.git('init', '-q')
    at.write('.gitignore', '*.log\n')
    at.write('kept.log', 'one')
    at.git('add', '-f', 'kept.log')
    await at.repository.take(never)
    rmSync(at.file('kept.log'))
    await at.repository.take(never)
    at.write('kept.log', 'two')
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': '*.log\n', 'kept.log': 'two' })
  })

  test('loses a file that becomes ignored', async () => {
    const at = openPlace(here)
    at.write('build/out', '1')
    at.write('a', 'a')
    await at.repository.take(never)
    at.write('.gitignore', 'build\n')
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': 'build\n', a: 'a' })
  })

  test('of unchanged files is the same tree, and of changed, added and deleted ones another', async () => {
    const at = openPlace(here)
    at.write('a', '1')
    at.write('b', '1')
    const first = await at.repository.take(never)
    expect(await at.repository.take(never)).toBe(first)
    at.write('a', '2')
    rmSync(at.file('b'))
    at.write('c', '3')
    const second = await at.repository.take(never)
    expect(second).not.toBe(first)
    expect(await at.repository.changes(first, second, 10, never)).toEqual({
      count: 3,
      files: [
        { status: 'changed', path: 'a' },
        { status: 'deleted', path: 'b' },
        { status: 'added', path: 'c' },
      ],
    })
    expect(await restoredInEmpty(at, first)).toEqual({ a: '1', b: '1' })
  })

  test('of an empty workspace can be restored, and creates no git directory', async () => {
    const at = openPlace(here)
    const tree = await at.repository.take(never)
    expect(existsSync(at.place.gitDir)).toBe(false)
    at.write('a', '1')
    await at.repository.take(never)
    await at.repository.checkOut(tree, never)
    expect(at.files()).toEqual({})
  })

  test('contains the files of repositories inside the workspace, and their later files', async () => {
    const at = openPlace(here)
    for (const folder of ['sub', 'sub/deeper']) {
      mkdirSync(at.file(folder), { recursive: true })
      execFileSync('git', ['init', '-q'], { cwd: at.file(folder) })
      at.write(`${folder}/.gitignore`, 'skipped\n')
      at.write(`${folder}/skipped`, '')
      at.write(`${folder}/kept`, folder)
    }
    await at.repository.take(never)
    at.write('sub/later', 'x')
    at.write('sub/kept', 'changed')
    const tree = await at.repository.take(never)
    const { 'sub/skipped': _, 'sub/deeper/skipped': __, ...kept } = at.files()
    expect(await restoredInEmpty(at, tree)).toEqual(kept)
    expect(kept).toMatchObject({ 'sub/later': 'x', 'sub/deeper/kept': 'sub/deeper' })
  })

  test('leaves out files above the limit, and one that grows above it', async () => {
    const at = openPlace(here)
    at.write('large', '')
    truncateSync(at.file('large'), CHECKPOINT_LIMITS.fileBytes + 1)
    at.write('grows', 'small')
    at.write('small', 'x')
    const first = await at.repository.take(never)
    truncateSync(at.file('grows'), CHECKPOINT_LIMITS.fileBytes + 1)
    const second = await at.repository.take(never)
    expect(await at.repository.take(never)).toBe(second)
    expect((await at.repository.changes(first, second, 10, never)).files).toEqual([
      { status: 'deleted', path: 'grows' },
    ])
    expect(Object.keys(await restoredInEmpty(at, first))).toEqual(['grows', 'small'])
  })

  test('follows a file that becomes a directory, and a directory that becomes a symlink', async () => {
    const at = openPlace(here)
    at.write('a', 'file')
    at.write('d/inner', 'inner')
    const first = await at.repository.take(never)
    rmSync(at.file('a'))
    at.write('a/inner', 'now a folder')
    renameSync(at.file('d'), at.file('moved'))
    symlinkSync('moved', at.file('d'))
    const second = await at.repository.take(never)
    expect(await restoredInEmpty(at, first)).toEqual({ a: 'file', 'd/inner': 'inner' })
    expect(await restoredInEmpty(at, second)).toEqual({
      'a/inner': 'now a folder',
      d: '-> moved',
      'moved/inner': 'inner',
    })
  })

  test('survives the end of the git that made it, which left its lock behind', async () => {
    const at = openPlace(here)
    at.write('a', '1')
    const first = await at.repository.take(never)
    writeFileSync(join(at.place.gitDir, 'index.lock'), '')
    at.write('a', '2')
    expect(await at.again().take(never)).not.toBe(first)
  })

  test('is made although an earlier git left its lock, or the index is damaged', async () => {
    const at = openPlace(here)
    at.write('kept', 'kept')
    for (const [name, content] of [
      ['index.lock', ''],
      ['index', 'no index'],
    ] as const) {
      at.write('a', name)
      await at.repository.take(never)
      writeFileSync(join(at.place.gitDir, name), content)
      at.write('a', `${name} again`)
      const tree = await at.repository.take(never)
      expect(await restoredInEmpty(at, tree)).toEqual({ a: `${name} again`, kept: 'kept' })
    }
  })
})

describe('restoring', () => {
  test('leaves ignored files alone, and records those in its way first', async () => {
    const at = openPlace(here)
    at.write('notes', 'first')
    const first = await at.repository.take(never)
    at.write('.gitignore', 'notes\nother\n')
    at.write('notes', 'ignored now')
    at.write('other', 'stays')
    const before = await at.repository.takeBefore(first, never)
    await at.repository.checkOut(first, never)
    expect(at.files()).toEqual({ notes: 'first', other: 'stays' })
    expect(await restoredInEmpty(at, before)).toMatchObject({ notes: 'ignored now', '.gitignore': 'notes\nother\n' })
  })

  test('packed checkpoints can be restored, and forgotten ones are removed', async () => {
    const at = openPlace(here)
    const trees: string[] = []
    for (const text of ['one', 'two', 'three']) {
      at.write('a', text)
      const tree = await at.repository.take(never)
      await at.repository.keep(tree)
      trees.push(tree)
      expect(await at.repository.pack(never)).toBeGreaterThan(0)
    }
    expect(await restoredInEmpty(at, trees[0]!)).toEqual({ a: 'one' })
    await at.repository.forgetExcept(trees.slice(1), never)
    await restoredInEmpty(at, trees[2]!)
    await at.repository.pack(never)
    expect(await restoredInEmpty(at, trees[1]!)).toEqual({ a: 'two' })
    await expect(at.repository.checkOut(trees[0]!, never)).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'checkpoint_failed' },
    })
  })
})
