/** Git queries in repositories that name programs in every way that git knows. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { git } from '../../../testing/two-user-server.ts'
import { openArchive } from '../archive/archive.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import type { Workspace } from '../workspace.ts'
import { hasChanges } from './has-changes.ts'
import { patchOf } from './patch.ts'
import { changesOf, changesSince, fileDiff, newestCommits } from './queries.ts'
import { makeWorktree } from './worktree.ts'

let here: TestWorkspaces
let workspace: Workspace
let root: string
/** A file with a line for each program that was started. */
let proof: string

beforeAll(async () => {
  here = await openTestWorkspaces()
  workspace = await here.open('programs')
  root = workspace.workingDir
  proof = here.dir.file('ran')
  await git(root, 'init', '-q')
  for (const name of ['clean', 'smudged', 'processed', 'info', 'viewed', 'converted', 'plain'])
    writeFileSync(join(root, name), `${name}\n`)
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'first')
  await addModule()
  await sign()
  await nameAll()
})
afterAll(() => here[Symbol.asyncDispose]())

/** A program that notes its name. */
function program(name: string, at = here.dir.file(name)): string {
  writeFileSync(at, `#!/bin/sh\necho ${name} >>${proof}\n`)
  chmodSync(at, 0o755)
  return at
}

/** A repository in the repository, whose changed file makes git look into it. */
async function addModule(): Promise<void> {
  const inner = join(root, 'module')
  mkdirSync(inner)
  await git(inner, 'init', '-q')
  writeFileSync(join(inner, 'x'), 'x')
  await git(inner, 'add', '.')
  await git(inner, 'commit', '-qm', 'inner')
  await git(root, 'add', 'module')
  await git(root, 'commit', '-qm', 'with a submodule')
  writeFileSync(join(inner, '.git', 'info', 'attributes'), 'x filter=module\n')
  await git(inner, 'config', 'filter.module.clean', program('module'))
  writeFileSync(join(inner, 'x'), 'y')
}

/** Gives the newest commit a signature. */
async function sign(): Promise<void> {
  const [head = '', ...message] = (await git(root, 'cat-file', 'commit', 'HEAD')).split('\n\n')
  const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----'
  const file = here.dir.file('signed')
  writeFileSync(file, `${head}\n${signature}\n\n${message.join('\n\n')}\n`)
  await git(root, 'reset', '-q', '--soft', await git(root, 'hash-object', '-t', 'commit', '-w', file))
}

async function nameAll(): Promise<void> {
  const set = (key: string, value: string) => git(root, 'config', key, value)
  const info = join(root, '.git', 'info', 'attributes')
  const drivers = ['clean filter=clean', 'smudged filter=smudge', 'processed filter=process']
  writeFileSync(join(root, '.gitattributes'), [...drivers, 'viewed diff=view', 'converted diff=text', ''].join('\n'))
  writeFileSync(info, 'info filter=with.a.dot\n')
  await set('filter.clean.clean', program('clean'))
  await set('filter.clean.required', 'true')
  await set('filter.smudge.smudge', program('smudge'))
  await set('filter.process.process', program('process'))
  await set('filter.with.a.dot.clean', program('info'))
  await set('core.fsmonitor', program('monitor'))
  await set('diff.external', program('external'))
  await set('diff.view.command', program('view'))
  await set('diff.text.textconv', program('text'))
  await set('diff.submodule', 'diff')
  await set('submodule.recurse', 'true')
  await set('log.showSignature', 'true')
  await set('gpg.program', program('signature'))
  for (const name of ['post-checkout', 'post-index-change', 'reference-transaction'])
    program(name, join(root, '.git', 'hooks', name))
  await set('core.repositoryFormatVersion', '1')
  await set('extensions.partialClone', 'origin')
  await set('remote.origin.promisor', 'true')
  await set('remote.origin.url', `ext::${program('remote')}`)
  await set('protocol.ext.allow', 'always')
  // Files that are newer than the index are compared.
  for (const name of ['clean', 'smudged', 'processed', 'info', 'viewed', 'converted'])
    writeFileSync(join(root, name), `${name}\nchanged\n`)
}

test('git queries start no program of a repository', async () => {
  rmSync(proof, { force: true })
  const [newest] = (await newestCommits(workspace, { path: root, limit: 5 }, never)).commits
  const changed = await changesSince(workspace, { path: root, ref: 'HEAD' }, never)
  expect(changed.map(({ path }) => path)).toEqual(expect.arrayContaining(['clean', 'info', 'processed', 'viewed']))
  await changesSince(workspace, { path: root }, never)
  await changesOf(workspace, { path: root, sha: newest!.sha }, never)
  expect((await fileDiff(workspace, { path: join(root, 'clean') }, never)).original).toBe('clean')
  await fileDiff(workspace, { path: join(root, 'viewed'), commit: newest!.sha }, never)
  for (const name of ['clean', 'viewed', 'converted', 'module'])
    await patchOf(workspace, { path: join(root, name), old_path: 'plain' }, never)
  await fileDiff(workspace, { path: join(root, 'absent'), ref: 'HEAD' }, never).catch(() => undefined)
  expect(await hasChanges(workspace, never)).toBe(true)
  for (const format of ['git-delta', 'tar.gz'] as const) {
    const asked = { path: root, format, baseRef: 'HEAD', useDefaultExcludes: true, exclude: [] }
    await using archive = await openArchive(workspace, asked, never)
    for await (const _ of archive.bytes);
  }
  await makeWorktree(workspace, { directory: root, root: here.dir.file('worktrees'), name: 'w' }, never)
  expect(existsSync(here.dir.file('worktrees', 'w'))).toBe(true)
  expect(existsSync(proof) ? readFileSync(proof, 'utf8') : '').toBe('')
})

test.each<[string, string[]]>([
  ['clean', ['diff', '--no-ext-diff', 'HEAD', '--', 'clean']],
  ['process', ['diff', '--no-ext-diff', 'HEAD', '--', 'processed']],
  ['info', ['diff', '--no-ext-diff', 'HEAD', '--', 'info']],
  ['smudge', ['checkout', 'HEAD', '--', 'smudged']],
  ['monitor', ['ls-files', '--others']],
  ['module', ['-c', 'core.fsmonitor=false', 'diff', '--no-ext-diff', '--submodule=short', 'HEAD', '--', 'module']],
  ['external', ['diff', 'HEAD', '--', 'plain', 'info']],
  ['view', ['diff', 'HEAD', '--', 'viewed']],
  ['text', ['diff', '--no-ext-diff', 'HEAD', '--', 'converted']],
  ['signature', ['log', '-1']],
  ['post-index-change', ['update-index', '--really-refresh']],
  ['reference-transaction', ['update-ref', 'refs/heads/other', 'HEAD']],
  ['post-checkout', ['checkout', '-q', '--detach']],
  ['remote', ['cat-file', '-t', '1234567890123456789012345678901234567890']],
])('plain git would start the program "%s" of that repository', async (name, args) => {
  rmSync(proof, { force: true })
  await git(root, ...args).catch(() => undefined)
  expect(existsSync(proof) ? readFileSync(proof, 'utf8').split('\n') : []).toContain(name)
})

describe('git queries show no files of', () => {
  const secret = () => here.dir.file('data', 'workspaces', 'x', 'repository')
  beforeAll(async () => {
    mkdirSync(secret(), { recursive: true })
    await git(secret(), 'init', '-q')
    writeFileSync(join(secret(), 'hidden.txt'), 'only for others')
    await git(secret(), 'add', '.')
    await git(secret(), 'commit', '-qm', 'only for others')
  })

  async function fresh(name: string): Promise<string> {
    const at = here.dir.file('work', name)
    mkdirSync(at)
    await git(at, 'init', '-q')
    return at
  }
  const answers = async (path: string, file: string) => {
    const asked = [
      changesSince(workspace, { path }, never),
      newestCommits(workspace, { path, limit: 5 }, never),
      fileDiff(workspace, { path: join(path, file) }, never),
      patchOf(workspace, { path: join(path, file) }, never),
    ]
    return JSON.stringify(await Promise.all(asked.map((each) => each.catch((error: unknown) => String(error)))))
  }

  test('another working tree that the configuration names', async () => {
    const at = await fresh('elsewhere')
    await git(at, 'config', 'core.worktree', secret())
    expect(await answers(at, 'hidden.txt')).not.toMatch(/hidden\.txt"|only for/)
  })

  test('another git directory that a file names', async () => {
    const at = here.dir.file('work', 'pointer')
    mkdirSync(at)
    writeFileSync(join(at, '.git'), `gitdir: ${join(secret(), '.git')}\n`)
    expect(await answers(at, 'hidden.txt')).not.toContain('only for')
  })

  test('another repository that lends its objects', async () => {
    const at = await fresh('borrower')
    writeFileSync(join(at, '.git', 'objects', 'info', 'alternates'), `${join(secret(), '.git', 'objects')}\n`)
    writeFileSync(join(at, '.git', 'HEAD'), `${await git(secret(), 'rev-parse', 'HEAD')}\n`)
    expect(await answers(at, 'hidden.txt')).not.toContain('only for')
  })

  test('a repository around the directory that may not be reached', async () => {
    const around = here.dir.file('around')
    mkdirSync(join(around, 'data-of-server', 'workspaces'), { recursive: true })
    expect(await changesSince(workspace, { path: join(around, 'data-of-server') }, never)).toEqual([])
  })

  test('the target of a symlink: a link is shown as a link', async () => {
    const at = await fresh('links')
    symlinkSync(join(secret(), 'hidden.txt'), join(at, 'link'))
    symlinkSync(secret(), join(at, 'folder'))
    expect(await fileDiff(workspace, { path: join(at, 'link') }, never)).toEqual({
      modified: join(secret(), 'hidden.txt'),
      original: '',
    })
    await expect(fileDiff(workspace, { path: join(at, 'folder', 'hidden.txt') }, never)).rejects.toThrow(
      'is in the data directory',
    )
    expect(await changesSince(workspace, { path: at }, never)).toMatchObject([
      { status: 'ADDED', path: 'folder' },
      { status: 'ADDED', path: 'link' },
    ])
  })
})
