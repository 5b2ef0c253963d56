import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fileTree } from '../../../testing/file-tree.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { openPlace, placeOfCopy, restoredInEmpty } from './checkpoint-place.testing.ts'
import { CHECKPOINT_LIMITS, repositoriesMissing } from './limits.ts'

const LIMITS = { changedFiles: 4, changedBytes: 1_000, repositories: 2, repositoryBytes: 500 * 1024 }

let here: TestWorkspaces
beforeAll(async () => {
  here = await openTestWorkspaces({ checkpointLimits: LIMITS })
})
afterAll(() => here[Symbol.asyncDispose]())

describe('a checkpoint with too many changes', () => {
  test.each<[string, readonly string[], string]>([
    ['files', ['', '', '', '', ''], '5 new or changed files with 0 bytes'],
    ['bytes', ['x'.repeat(600), 'x'.repeat(600)], '2 new or changed files with 1,200 bytes'],
  ])('is refused with the number of %s, the limits and the remedy', async (_, contents, found) => {
    const at = openPlace(here)
    for (const [index, content] of contents.entries()) at.write(`file-${index}`, content)
    const limits = 'one checkpoint takes at most 4 files with 1,000 bytes'
    await expect(at.repository.take(never)).rejects.toMatchObject({
      code: 'conflict',
      message: `The files are not recorded: there are ${found}, and ${limits}. Name generated files in a .gitignore, or remove them.`,
      details: { reason: 'checkpoint_too_large' },
    })
    at.write('.gitignore', 'file-*\n')
    expect(await restoredInEmpty(at, await at.repository.take(never))).toEqual({ '.gitignore': 'file-*\n' })
  })

  test('is counted from the last checkpoint: as many as are allowed may change each time', async () => {
    const at = openPlace(here)
    for (let round = 0; round < 3; round++) {
      for (let file = 0; file < 4; file++) at.write(`file-${round}-${file}`, 'x'.repeat(250))
      await at.repository.take(never)
    }
    const tree = await at.repository.take(never)
    expect(Object.keys(await restoredInEmpty(at, tree))).toHaveLength(12)
  })

  test('does not keep the next one from files that the repository tracks although they are ignored', async () => {
    const at = openPlace(here)
    at.git('init', '-q')
    at.write('.gitignore', '*.log\n')
    at.write('kept.log', 'tracked')
    at.git('add', '-f', 'kept.log')
    for (let file = 0; file < 4; file++) at.write(`file-${file}`, '')
    await expect(at.repository.take(never)).rejects.toMatchObject({ details: { reason: 'checkpoint_too_large' } })
    for (let file = 0; file < 4; file++) rmSync(at.file(`file-${file}`))
    const tree = await at.repository.take(never)
    expect(await restoredInEmpty(at, tree)).toEqual({ '.gitignore': '*.log\n', 'kept.log': 'tracked' })
  })
})

describe('the copy of a workspace', () => {
  test('lacks repositories that are too large or too many, and names them', async () => {
    const at = openPlace(here)
    for (const folder of ['a', 'b', 'c']) {
      mkdirSync(join(at.dir, folder, '.git'), { recursive: true })
      at.write(`${folder}/.git/HEAD`, 'ref: refs/heads/main\n')
      at.write(`${folder}/file`, folder)
    }
    writeFileSync(at.file('b', '.git', 'large'), randomBytes(LIMITS.repositoryBytes + 100_000))
    const to = placeOfCopy(here)
    const tree = await at.repository.take(never)
    expect(await at.checkpoints.copy(at.place, to, tree, never)).toEqual(['b', 'c'])
    expect(fileTree(to.workingDir)).toEqual({ 'a/file': 'a', 'b/file': 'b', 'c/file': 'c' })
  })

  test('is described with the missing repositories, the limits and the remedy', () => {
    expect(repositoriesMissing(['.', 'packages/a'], CHECKPOINT_LIMITS)).toBe(
      'The copy has no .git in these folders: ".", "packages/a". A fork copies at most 50 repositories of at most 1 GiB each, and none that programs change meanwhile. Clone these again where they are needed.',
    )
    const many = Array.from({ length: 30 }, (_, n) => `folder-${n}`)
    expect(repositoriesMissing(many, CHECKPOINT_LIMITS)).toContain('"folder-19", 10 more.')
  })
})
