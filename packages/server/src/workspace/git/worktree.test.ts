/** Worktrees of conversations. The tests in a sandbox need bubblewrap; without it, they are skipped. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { git } from '../../../testing/two-user-server.ts'
import { findBubblewrap } from '../runner/sandbox/sandbox.ts'
import { never, openTestWorkspaces, type TestWorkspaces } from '../workspace.testing.ts'
import { makeWorktree, placeOfWorktree } from './worktree.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

const bubblewrap = await findBubblewrap()
let here: TestWorkspaces
let root: string
const open = (mode: 'off' | 'required') => async () => {
  here = await openTestWorkspaces({ sandbox: { mode, network: false } })
  root = here.dir.file('data', 'worktrees')
}
const close = () => here[Symbol.asyncDispose]()

/** A repository with one commit, which has a file in the folder `inner`. */
async function repository(at: string): Promise<string> {
  mkdirSync(join(at, 'inner'), { recursive: true })
  await git(at, 'init', '-q')
  writeFileSync(join(at, 'inner', 'file'), 'content')
  await git(at, 'add', '.')
  await git(at, 'commit', '-qm', 'first')
  return at
}

async function make(directory: string, name: string) {
  const conversationId = asConversationId(name)
  await using workspace = await here.workspaces.open(
    { conversationId, owner: OWNER, workingDir: directory, epoch: 1 },
    never,
  )
  return makeWorktree(workspace, { directory, root, name }, never)
}

/** Worktrees that git lists, and what it finds wrong with them. */
async function listed(at: string): Promise<string[]> {
  const lines = (await git(at, 'worktree', 'list', '--porcelain')).split('\n')
  return lines.filter((line) => /^(worktree|prunable)/.test(line))
}

describe('a worktree', () => {
  beforeAll(open('off'))
  afterAll(close)

  test('is made again where an earlier attempt was cut off, with the commits of its branch', async () => {
    const shop = await repository(here.dir.file('again', 'shop'))
    const tree = (await make(shop, 'plain-again'))!.workingDir
    await git(tree, 'commit', '-q', '--allow-empty', '-m', 'second')
    rmSync(join(tree, '.git'))
    expect((await make(shop, 'plain-again'))!.workingDir).toBe(tree)
    expect(await git(tree, 'log', '-1', '--format=%s')).toBe('second')
    expect(await git(tree, 'status', '--porcelain')).toBe('')
  })

  test('leaves a worktree of another program in the list whose directory is missing at the moment', async () => {
    const shop = await repository(here.dir.file('missing', 'shop'))
    const away = here.dir.file('away')
    await git(shop, 'worktree', 'add', '-q', away)
    rmSync(away, { recursive: true })
    await make(shop, 'plain-missing')
    expect(await listed(shop)).toContain(`worktree ${away}`)
  })

  test('is not made outside of a repository, nor in one without commits', async () => {
    const plain = here.dir.file('plain')
    mkdirSync(plain)
    expect(await make(plain, 'plain-plain')).toBeNull()
    await git(plain, 'init', '-q')
    expect(await make(plain, 'plain-plain')).toBeNull()
  })
})

describe.skipIf('reason' in bubblewrap)('a worktree of a sandboxed conversation', () => {
  beforeAll(open('required'))
  afterAll(close)

  test('has the files of the default branch, and leaves those of other conversations in the list', async () => {
    const shop = await repository(here.dir.file('shop'))
    const made = [await make(shop, 'boxed-1'), await make(shop, 'boxed-2')]
    const trees = [1, 2].map((n) => join(root, `boxed-${n}`, 'shop'))
    expect(made.map((tree) => tree?.workingDir)).toEqual(trees)
    expect(await listed(shop)).toEqual([shop, ...trees].map((path) => `worktree ${path}`))
    for (const [index, tree] of trees.entries()) {
      expect(await git(tree, 'status', '--porcelain', '--branch')).toBe(`## openhands/boxed-${index + 1}`)
      expect(existsSync(join(tree, 'inner', 'file'))).toBe(true)
    }
  })

  test('of a directory in a repository has the same directory, also where everything around it is hidden', async () => {
    const shop = await repository(here.dir.file('data', 'workspaces', randomUUID(), 'shop'))
    const inner = join(shop, 'inner')
    const expected = join(root, 'boxed-inner', 'shop', 'inner')
    const roots = testRoots(here.dataDir)(OWNER)
    expect(await placeOfWorktree(roots, inner, { root, name: 'boxed-inner' })).toBe(expected)
    expect((await make(inner, 'boxed-inner'))?.workingDir).toBe(expected)
    expect(existsSync(join(expected, 'file'))).toBe(true)
  })
  /** Runs a script in a sandboxed conversation that works in a directory. */
  async function run(workingDir: string, script: string) {
    const spec = { conversationId: asConversationId(randomUUID()), owner: OWNER, workingDir, epoch: 1 }
    await using workspace = await here.workspaces.open(spec, never)
    const { exit_code, stdout, stderr } = await workspace.exec({ argv: ['sh', '-c', script] }, never)
    return { code: exit_code, text: stdout + stderr }
  }
  const commit = 'echo more > added && git add . && git -c user.name=a -c user.email=a@b.example commit -qm more'

  test('takes commits, and cannot change what leads to its repository', async () => {
    const shop = await repository(here.dir.file('committed'))
    const id = randomUUID()
    const tree = (await make(shop, id))!.workingDir
    expect(await run(tree, `${commit} && git status --porcelain && git log --format=%s`)).toEqual({
      code: 0,
      text: 'more\nfirst\n',
    })
    expect(await git(shop, 'log', '-1', '--format=%s', `openhands/${id}`)).toBe('more')
    const own = join(shop, '.git', 'worktrees', 'committed')
    for (const script of [
      `touch '${shop}/.git/hooks/x'`,
      `echo x >> '${shop}/.git/config'`,
      `echo x > '${own}/commondir'`,
      `mv '${own}' '${own}-old'`,
      'echo "gitdir: /tmp/x" > .git',
      'rm -f .git',
    ])
      expect([script, (await run(tree, script)).code]).not.toEqual([script, 0])
    await run(tree, `touch '${shop}/x'`)
    expect(existsSync(join(shop, 'x'))).toBe(false)
  })

  test('that is forged by its files shows no other repository', async () => {
    const secret = await repository(here.dir.file('secret'))
    const forged = here.dir.file('forged')
    mkdirSync(join(forged, 'fake'), { recursive: true })
    writeFileSync(join(forged, '.git'), `gitdir: ${join(forged, 'fake')}\n`)
    writeFileSync(join(forged, 'fake', 'commondir'), join(secret, '.git'))
    writeFileSync(join(forged, 'fake', 'gitdir'), join(forged, '.git'))
    expect((await run(forged, `ls '${secret}' '${secret}/.git'`)).code).toBe(2)
  })

  test('a directory of a repository shows the rest of the repository, read-only, and takes commits', async () => {
    const shop = await repository(here.dir.file('mono'))
    writeFileSync(join(shop, 'top'), 'kept')
    const inner = join(shop, 'inner')
    expect(await run(inner, `git status --porcelain && cat ../top && ${commit} && git log --format=%s`)).toEqual({
      code: 0,
      text: '?? top\nkeptmore\nfirst\n',
    })
    expect((await run(inner, 'touch ../x')).code).not.toBe(0)
    expect((await run(inner, 'touch ../.git/hooks/x')).code).not.toBe(0)
  })
})
