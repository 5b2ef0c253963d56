import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asConversationId } from '@parley/protocol'
import { startGitServer, type GitServer } from '../../../testing/git-server.ts'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { openLocalWorkspaces } from '../local-workspaces.ts'
import type { Workspace } from '../workspace.ts'
import { clone, inspectRemote, takeBranch } from './clone.ts'
import { findRemote, type Remote } from './remote.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

const never = new AbortController().signal
const identity = { name: 'A "quoted" name', email: 'a@example.org' }
let stack: AsyncDisposableStack
let dir: TempDir
let git: GitServer
let open: () => Promise<Workspace>
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  dir = stack.use(await tempDir())
  git = stack.use(await startGitServer())
  const workspaces = stack.use(openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')) }))
  open = async () => {
    const conversationId = asConversationId(randomUUID())
    const spec = { conversationId, owner: OWNER, workingDir: dir.file(conversationId), epoch: 1 }
    const workspace = await workspaces.open(spec, never)
    stack.defer(() => workspace.release())
    return workspace
  }
  await git.add('acme/shop', { files: { 'a.txt': 'a\n' }, branches: ['wanted'] })
})
afterAll(() => stack.disposeAsync())

const remote = (name: string): Promise<Remote> =>
  findRemote({ name, provider: 'gitlab' }, { hosts: { gitlab: git.url }, tokenOf: async () => null })

test('the rest of a killed clone is removed, and the clone is repeated', async () => {
  const workspace = await open()
  for (const left of ['.parley-clone-0123', 'shop/.git/objects']) {
    await mkdir(`${workspace.workingDir}/${left}`, { recursive: true })
    await writeFile(`${workspace.workingDir}/${left}/half`, 'x')
  }
  const shop = await remote('acme/shop')
  const { url, defaultBranch } = await inspectRemote(workspace, shop, null, 5000, never)
  expect(defaultBranch).toBe('main')
  await clone(workspace, shop, { url, branch: null, identity }, never)
  expect(await readdir(workspace.workingDir)).toEqual(['shop'])
  // A checkout that was killed leaves its lock; taking the branch twice is the same as once.
  await writeFile(`${workspace.workingDir}/shop/.git/index.lock`, '')
  for (let time = 0; time < 2; time++) await takeBranch(workspace, 'shop', { name: 'fresh/one', isFresh: true }, never)
  expect(await readFile(`${workspace.workingDir}/shop/a.txt`, 'utf8')).toBe('a\n')
  const state = await workspace.exec({ argv: ['git', 'status', '--porcelain', '--branch'], cwd: 'shop' }, never)
  expect(state.stdout).toBe('## fresh/one\n')
  const who = await workspace.exec({ argv: ['git', 'config', '--local', 'user.name'], cwd: 'shop' }, never)
  expect(who.stdout.trim()).toBe(identity.name)
})

test('a branch whose name only ends with the requested name is not found', async () => {
  await git.git('acme/shop', 'branch', 'refs/heads/other', 'main')
  const looking = inspectRemote(await open(), await remote('acme/shop'), 'other', 5000, never)
  await expect(looking).rejects.toMatchObject({ code: 'GIT$BRANCH_NOT_FOUND' })
})

test('an empty repository is cloned onto a new branch', async () => {
  const workspace = await open()
  await git.addEmpty('acme/empty')
  const empty = await remote('acme/empty')
  const { url } = await inspectRemote(workspace, empty, null, 5000, never)
  await clone(workspace, empty, { url, branch: null, identity }, never)
  await takeBranch(workspace, 'empty', { name: 'parley/x', isFresh: true }, never)
  const { stdout } = await workspace.exec({ argv: ['git', 'branch', '--show-current'], cwd: 'empty' }, never)
  expect(stdout).toBe('parley/x\n')
})

test('an aborted clone and its git process end at once', async () => {
  const workspace = await open()
  const shop = await remote('acme/shop')
  git.mode = 'silent'
  const from = git.requests.length
  const calling = new AbortController()
  const looking = inspectRemote(workspace, shop, null, 60_000, calling.signal)
  const arrived = async () => {
    while (git.requests.length === from) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await arrived()
  calling.abort(new Error('called off'))
  await expect(looking).rejects.toThrow('called off')
  git.mode = 'open'
})
