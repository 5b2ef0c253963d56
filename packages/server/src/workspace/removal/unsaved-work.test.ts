import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { git } from '../../../testing/two-user-server.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { unsavedWork } from './unsaved-work.ts'

let bench: TestWorkspaces
let count = 0
let root: string
let clone: string
beforeAll(async () => {
  bench = await openTestWorkspaces()
  const origin = bench.dir.file('origin')
  mkdirSync(origin)
  await git(origin, 'init', '-q')
  writeFileSync(join(origin, 'file'), 'content')
  writeFileSync(join(origin, '.gitignore'), 'ignored\n')
  await git(origin, 'add', '.')
  await git(origin, 'commit', '-qm', 'first')
})
afterAll(() => bench[Symbol.asyncDispose]())

/** A workspace with a clone, as the start of a conversation makes it. */
beforeEach(async () => {
  root = bench.dir.file(`workspace ${(count += 1)}`)
  mkdirSync(root)
  clone = join(root, 'shop')
  await git(root, 'clone', '-q', bench.dir.file('origin'), 'shop')
})

async function find(isWorktree = false, at = root) {
  await using workspace = await bench.open('host-test')
  return (await unsavedWork(workspace, { root: at, isWorktree }, never))?.reason ?? null
}

const commit = async (text = 'changed', at = clone) => {
  writeFileSync(join(at, 'file'), text)
  await git(at, 'commit', '-qam', text)
}

test('a clone as it came from its remote has no unsaved work, and ignored files do not count', async () => {
  writeFileSync(join(clone, 'ignored'), 'ignored')
  mkdirSync(join(root, 'empty/empty'), { recursive: true })
  expect(await find()).toBeNull()
})

test('an empty workspace has no unsaved work, and neither has one with a repository without commits', async () => {
  rmSync(clone, { recursive: true })
  expect(await find()).toBeNull()
  mkdirSync(clone)
  await git(clone, 'init', '-q')
  expect(await find()).toBeNull()
})

test.each<[string, () => unknown]>([
  ['a file outside of any repository', () => writeFileSync(join(root, 'notes'), '')],
  ['a symlink outside of any repository', () => symlinkSync('nowhere', join(root, 'link'))],
  ['an untracked file', () => writeFileSync(join(clone, 'new'), '')],
  ['a changed file', () => writeFileSync(join(clone, 'file'), 'changed')],
  ['a deleted file', () => rmSync(join(clone, 'file'))],
  ['a staged change', () => (writeFileSync(join(clone, 'file'), 'changed'), git(clone, 'add', '.'))],
  ['a stash', () => (writeFileSync(join(clone, 'file'), 'changed'), git(clone, 'stash', '-q'))],
  ['a repository in the repository', () => (mkdirSync(join(clone, 'inner')), git(join(clone, 'inner'), 'init', '-q'))],
  [
    'an untracked file that the configuration hides',
    async () => {
      writeFileSync(join(clone, 'new'), '')
      writeFileSync(join(root, '..', 'excludes'), '*')
      await git(clone, 'config', 'status.showUntrackedFiles', 'no')
      await git(clone, 'config', 'core.excludesFile', join(root, '..', 'excludes'))
    },
  ],
  [
    'a change in a repository whose configuration names another work tree',
    async () => {
      writeFileSync(join(clone, 'file'), 'changed')
      await git(clone, 'config', 'core.worktree', bench.dir.file('origin'))
    },
  ],
])('%s is uncommitted work', async (_, make) => {
  await make()
  expect(await find()).toBe('uncommitted')
})

test.each<[string, () => unknown]>([
  ['a commit', () => commit()],
  [
    'a commit on a branch that is not checked out',
    async () => (await git(clone, 'switch', '-qc', 'other'), await commit(), await git(clone, 'switch', '-q', '-')),
  ],
  ['a commit on no branch', async () => (await git(clone, 'switch', '-q', '--detach'), await commit())],
  ['a repository without a remote', () => git(clone, 'remote', 'remove', 'origin')],
])('%s is unpushed work', async (_, make) => {
  await make()
  expect(await find()).toBe('unpushed')
})

test('a pushed commit is saved', async () => {
  await git(clone, 'switch', '-qc', 'feature')
  await commit()
  await git(clone, 'push', '-q', 'origin', 'feature')
  expect(await find()).toBeNull()
})

test.each<[string, () => unknown]>([
  [
    'a submodule',
    () => git(clone, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', bench.dir.file('origin'), 'sub'),
  ],
  [
    'a repository in the repository that was committed',
    async () => {
      await git(clone, 'clone', '-q', bench.dir.file('origin'), 'inner')
      await git(clone, '-c', 'advice.addEmbeddedRepo=false', 'add', 'inner')
      await git(clone, 'commit', '-qm', 'inner')
      await git(clone, 'push', '-q', 'origin', 'HEAD:inner')
    },
  ],
  [
    'a file whose changes git is configured to overlook',
    () => git(clone, 'update-index', '--assume-unchanged', 'file'),
  ],
  [
    'a repository that is in another place',
    () => (
      renameSync(join(clone, '.git'), join(root, '..', `moved ${count}`)),
      writeFileSync(join(clone, '.git'), `gitdir: ${join(root, '..', `moved ${count}`)}`)
    ),
  ],
  [
    'a repository behind a symlink',
    () => (
      renameSync(join(clone, '.git'), join(root, '..', `moved ${count}`)),
      symlinkSync(join(root, '..', `moved ${count}`), join(clone, '.git'))
    ),
  ],
  ['a damaged repository', () => rmSync(join(clone, '.git', 'objects'), { recursive: true })],
])('a workspace with %s is not checked', async (_, make) => {
  await make()
  expect(await find()).toBe('unchecked')
})

test('a worktree has unsaved commits only if no other branch of its repository has them', async () => {
  const tree = join(root, 'tree')
  await git(clone, 'worktree', 'add', '-q', '-b', 'openhands/1', tree)
  expect(await find(true, tree)).toBeNull()
  writeFileSync(join(tree, 'file'), 'changed')
  expect(await find(true, tree)).toBe('uncommitted')
  await git(tree, 'commit', '-qam', 'changed')
  expect(await find(true, tree)).toBe('unpushed')
  await git(clone, 'branch', 'copy', 'openhands/1')
  expect(await find(true, tree)).toBeNull()
})

test('nothing that a repository configures is run by the search for unsaved work', async () => {
  const trace = bench.dir.file('trace')
  const program = bench.dir.file('program')
  writeFileSync(program, `#!/bin/sh\necho "$0" "$@" >> ${trace}\n`)
  chmodSync(program, 0o755)
  for (const hook of ['post-index-change', 'reference-transaction', 'post-checkout', 'fsmonitor-watchman'])
    symlinkSync(program, join(clone, '.git', 'hooks', hook))
  const included = bench.dir.file('included')
  writeFileSync(included, `[filter "in = cluded"]\n\tclean = ${program}\n\trequired = true\n`)
  for (const [key, value] of Object.entries({
    'core.fsmonitor': program,
    'core.hooksPath': join(clone, '.git', 'hooks'),
    'core.pager': program,
    'core.sshCommand': program,
    'core.editor': program,
    'core.askPass': program,
    'core.attributesFile': join(root, '..', 'attributes'),
    'filter.evil.clean': program,
    'filter.evil.smudge': program,
    'filter.evil.required': 'true',
    'filter.process.process': program,
    'diff.evil.command': program,
    'diff.evil.textconv': program,
    'gpg.program': program,
    'log.showSignature': 'true',
    'alias.status': `!${program}`,
    'remote.origin.promisor': 'true',
    'remote.origin.uploadpack': program,
    'include.path': included,
  }))
    await git(clone, 'config', key, value)
  writeFileSync(
    join(clone, '.gitattributes'),
    'file filter=evil diff=evil\n*.p filter=process\n*.i filter="in = cluded"\n',
  )
  writeFileSync(join(root, '..', 'attributes'), '* filter=evil\n')
  appendFileSync(join(clone, '.git', 'info', 'attributes'), 'file filter=evil\n')
  // Another time than in the index, so that git has to read the file.
  writeFileSync(join(clone, 'file'), 'content')
  writeFileSync(join(clone, 'a.p'), '')
  writeFileSync(join(clone, 'a.i'), '')
  rmSync(trace, { force: true })
  expect(await find()).toBe('uncommitted')
  for (const name of ['.gitattributes', 'a.p', 'a.i']) rmSync(join(clone, name))
  writeFileSync(join(clone, 'file'), 'content')
  expect(await find()).toBeNull()
  const calm = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false']
  const made = await git(clone, ...calm, 'commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'made')
  await git(clone, ...calm, 'update-ref', 'HEAD', made)
  expect(await find()).toBe('unpushed')
  expect(existsSync(trace)).toBe(false)
  // Git itself would have run them.
  await git(clone, 'status')
  expect(existsSync(trace)).toBe(true)
})

test('a search that takes too long ends with the workspace unchecked', async () => {
  await using workspace = await bench.open('host-test')
  const late = AbortSignal.abort(new Error('too late'))
  expect(await unsavedWork(workspace, { root, isWorktree: false }, late)).toMatchObject({ reason: 'unchecked' })
})
