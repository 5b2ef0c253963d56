import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bench, git, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
let root: string
let first: string
let second: string
beforeAll(async () => {
  server = await startBench()
  root = server.dir.file('repo')
  mkdirSync(join(root, 'src'), { recursive: true })
  await git(root, 'init', '-q')
  for (const name of ['same', 'edited', 'removed', 'src/moved']) writeFileSync(join(root, name), `${name}\n`.repeat(20))
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'the first')
  first = await git(root, 'rev-parse', 'HEAD')
  await git(root, 'switch', '-qc', 'feature')
  writeFileSync(join(root, 'second'), '2\n')
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'the second')
  second = await git(root, 'rev-parse', 'HEAD')
  writeFileSync(join(root, 'edited'), 'edited again\n')
  rmSync(join(root, 'removed'))
  renameSync(join(root, 'src/moved'), join(root, 'src/to here é'))
  await git(root, 'add', '--intent-to-add', 'src')
  await git(root, 'add', 'src')
  writeFileSync(join(root, 'untracked'), 'u\n')
})
afterAll(() => server[Symbol.asyncDispose]())

const q = encodeURIComponent
const get = (path: string) => server.call('GET', `/api/git/${path}`)

const WORK = [
  { status: 'UPDATED', path: 'edited' },
  { status: 'DELETED', path: 'removed' },
  { status: 'DELETED', path: 'src/moved' },
  { status: 'ADDED', path: 'src/to here é' },
  { status: 'ADDED', path: 'untracked' },
]

test('git changes are relative to a commit, include untracked files, and work from any directory of the repository', async () => {
  expect(await get(`changes?path=${q(root)}&ref=HEAD`)).toMatchObject({ status: 200, body: WORK })
  expect((await get(`changes?path=${q(join(root, 'src'))}&ref=${first}`)).body).toMatchObject([
    WORK[0],
    WORK[1],
    { status: 'ADDED', path: 'second' },
    ...WORK.slice(2),
  ])
})

test('git changes without a ref are relative to the commit where the branch left the default branch', async () => {
  expect((await get(`changes?path=${q(root)}`)).body.map((change: any) => change.path)).toContain('second')
})

test('git changes without another branch are relative to the newest commit; before the first commit all files are new', async () => {
  const fresh = server.dir.file('fresh')
  mkdirSync(fresh)
  await git(fresh, 'init', '-q')
  writeFileSync(join(fresh, 'a'), 'a')
  const changes = async () => (await get(`changes?path=${q(fresh)}`)).body
  expect(await changes()).toMatchObject([{ status: 'ADDED', path: 'a' }])
  await git(fresh, 'add', '.')
  await git(fresh, 'commit', '-qm', 'a')
  expect(await changes()).toEqual([])
  mkdirSync(join(fresh, 'nested'))
  await git(join(fresh, 'nested'), 'init', '-q')
  writeFileSync(join(fresh, 'nested', 'b'), 'b')
  expect(await changes()).toMatchObject([{ status: 'ADDED', path: 'nested/b' }])
})

test('a completely pushed branch shows its own changes, and then only later ones', async () => {
  const [origin, clone] = [server.dir.file('origin.git'), server.dir.file('clone')]
  await git(server.dir.path, 'clone', '-q', '--bare', root, origin)
  await git(origin, 'symbolic-ref', 'HEAD', 'refs/heads/main')
  await git(server.dir.path, 'clone', '-q', origin, clone)
  await git(clone, 'switch', '-q', 'feature')
  const changes = async () => (await get(`changes?path=${q(clone)}`)).body
  expect(await changes()).toMatchObject([{ status: 'ADDED', path: 'second' }])
  writeFileSync(join(clone, 'second'), '3\n')
  expect(await changes()).toMatchObject([{ status: 'UPDATED', path: 'second' }])
})

test('a git diff contains both versions without the last line end, empty where the file does not exist', async () => {
  const diff = async (name: string, query = 'ref=HEAD') => (await get(`diff?path=${q(join(root, name))}&${query}`)).body
  const twenty = (name: string) => `${name}\n`.repeat(20).slice(0, -1)
  expect(await diff('edited')).toEqual({ modified: 'edited again', original: twenty('edited') })
  expect(await diff('removed')).toEqual({ modified: '', original: twenty('removed') })
  expect(await diff('untracked')).toEqual({ modified: 'u', original: '' })
  expect(await diff('second', `commit=${second.slice(0, 10)}`)).toEqual({ modified: '2', original: '' })
  expect(await diff('same', `commit=${first}`)).toEqual({ modified: twenty('same'), original: '' })
})

test('git commits are returned newest first, with has_more', async () => {
  const { body } = await get(`commits?path=${q(root)}&limit=1`)
  expect(body).toEqual({
    commits: [
      {
        sha: second,
        short_sha: expect.stringMatching(/^[0-9a-f]{7,}$/),
        subject: 'the second',
        author: 'Ada',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
    ],
    has_more: true,
  })
  expect((await get(`commits?path=${q(root)}`)).body).toMatchObject({ commits: [{}, { sha: first }], has_more: false })
})

test('the changes of one commit are returned, also of the first one', async () => {
  expect((await get(`commits/${second}/changes?path=${q(root)}`)).body).toEqual([{ status: 'ADDED', path: 'second' }])
  expect((await get(`commits/${first.slice(0, 8)}/changes?path=${q(root)}`)).body).toHaveLength(4)
})

test('git queries outside a repository return empty answers', async () => {
  const plain = server.dir.file('plain')
  mkdirSync(plain)
  writeFileSync(join(plain, 'a'), 'a')
  expect(await get(`changes?path=${q(plain)}`)).toEqual({ status: 200, body: [] })
  expect((await get(`commits?path=${q(plain)}`)).body).toEqual({ commits: [], has_more: false })
  expect((await get(`commits/abcd/changes?path=${q(plain)}`)).body).toEqual([])
  expect((await get(`diff?path=${q(join(plain, 'a'))}`)).body).toEqual({ modified: null, original: null })
})

test('an error of git is answered with its reason', async () => {
  writeFileSync(join(root, 'huge'), 'x'.repeat(1024 * 1024 + 1))
  const rows: [string, number][] = [
    [`changes?path=${q(root)}&ref=nowhere`, 400],
    [`changes?path=${q(root)}&ref=${q('--output=/tmp/x')}`, 400],
    ['changes?path=relative', 400],
    ['changes?path=/no/such/place', 400],
    ['changes', 422],
    [`diff?path=${q(join(root, 'never'))}&ref=HEAD`, 400],
    [`diff?path=${q(join(root, 'huge'))}&ref=HEAD`, 400],
    [`diff?path=${q(join(root, 'same'))}&ref=HEAD&commit=${first}`, 400],
    [`diff?path=${q(join(root, 'same'))}&commit=xyz`, 422],
    [`commits?path=${q(root)}&limit=0`, 422],
    [`commits?path=${q(root)}&limit=201`, 422],
    [`commits/${'0'.repeat(40)}/changes?path=${q(root)}`, 400],
    [`commits/zz/changes?path=${q(root)}`, 422],
  ]
  for (const [path, status] of rows) expect([path, (await get(path)).status]).toEqual([path, status])
  expect((await get(`changes?path=${q(root)}&ref=nowhere`)).body).toEqual({
    detail: 'No commit is called nowhere here',
  })
})
