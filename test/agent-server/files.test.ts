import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectGarbage } from '../../packages/server/testing/collect-garbage.ts'
import { type Bench, git, KEY, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
beforeAll(async () => {
  server = await startBench()
  mkdirSync(at())
})
afterAll(() => server[Symbol.asyncDispose]())

const q = encodeURIComponent
/** A path in a directory that requests may reach. */
const at = (...parts: string[]) => server.dir.file('work', ...parts)
const get = (path: string, headers = {}) =>
  fetch(server.url + path, { headers: { 'X-Session-API-Key': KEY, ...headers } })

async function upload(
  path: string,
  content: Uint8Array | string,
  field = 'file',
): Promise<{ status: number; body: any }> {
  const form = new FormData()
  form.append('other', 'passed over')
  form.append(field, new Blob([typeof content === 'string' ? content : Buffer.from(content)]), 'name.bin')
  const response = await fetch(`${server.url}/api/file/upload?path=${q(path)}`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': KEY },
    body: form,
  })
  return { status: response.status, body: await response.json() }
}

test('an uploaded file replaces the old one and is returned byte for byte', async () => {
  const path = at('up', 'deep', 'data.bin')
  const bytes = randomBytes(3_000_000)
  bytes.write('\r\n--', 1000)
  expect(await upload(path, 'a longer text that is replaced')).toEqual({ status: 200, body: { success: true } })
  expect(await upload(path, bytes)).toEqual({ status: 200, body: { success: true } })
  const response = await get(`/api/file/download?path=${q(path)}`)
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="data.bin"',
    'content-length': '3000000',
    etag: expect.stringMatching(/^".+"$/),
    'last-modified': expect.stringMatching(/GMT$/),
  })
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
})

test('an empty file can be uploaded and downloaded', async () => {
  const path = at('empty')
  expect((await upload(path, '')).status).toBe(200)
  const response = await get(`/api/file/download?path=${q(path)}`)
  expect([response.status, await response.text()]).toEqual([200, ''])
})

test('a generated file of the kernel is downloaded completely', async () => {
  const response = await get(`/api/file/download?path=${q('/proc/version')}`)
  const there = readFileSync('/proc/version', 'utf8')
  expect([response.status, response.headers.get('content-length')]).toEqual([200, String(there.length)])
  expect(await response.text()).toBe(there)
})

test('an upload larger than the limit of JSON bodies is accepted and buffered only on disk', async () => {
  const path = at('large.bin')
  const piece = randomBytes(1024 * 1024)
  const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n')
  const held = () => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const before = held()
  let peak = 0
  async function* body() {
    yield head
    for (let i = 0; i < 128; i++) {
      if (i % 16 === 15) peak = Math.max(peak, held())
      yield piece
    }
    yield Buffer.from('\r\n--b--\r\n')
  }
  const response = await fetch(`${server.url}/api/file/upload?path=${q(path)}`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': KEY, 'content-type': 'multipart/form-data; boundary=b' },
    body: body(),
    duplex: 'half',
  } as RequestInit)
  expect(response.status).toBe(200)
  expect(statSync(path).size).toBe(128 * piece.length)
  // Half of the body, because the amount between the sockets and the disk varies.
  expect(peak - before).toBeLessThan(64 * 1024 * 1024)
})

test('an aborted upload leaves the old file unchanged', async () => {
  const path = at('kept.txt')
  writeFileSync(path, 'old')
  const response = await fetch(`${server.url}/api/file/upload?path=${q(path)}`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': KEY, 'content-type': 'multipart/form-data; boundary=b' },
    body: '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nnew',
  })
  expect([response.status, await response.json()]).toEqual([
    400,
    { detail: 'There was an error parsing the body: it ends before its last boundary' },
  ])
  expect(readFileSync(path, 'utf8')).toBe('old')
})

test('an upload with a relative path or without the part is refused', async () => {
  expect(await upload('relative/path', 'x')).toEqual({ status: 400, body: { detail: 'Path must be absolute' } })
  const missing = { type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }
  expect(await upload(at('a'), 'x', 'upload')).toEqual({ status: 422, body: { detail: [missing] } })
  expect((await server.call('POST', `/api/file/upload?path=${q(at('a'))}`, {})).status).toBe(422)
  expect((await server.call('POST', '/api/file/upload')).body.detail[0]).toMatchObject({ loc: ['query', 'path'] })
  expect((await upload(at(), 'x')).status).toBe(400)
  expect((await upload('/etc/passwd/x/y', 'x')).status).toBe(400)
  expect(existsSync(at('a'))).toBe(false)
})

test.each([
  ['relative', 400, 'Path must be absolute'],
  ['/no/such/file', 404, 'File not found'],
  ['/usr/bin', 400, 'Path is not a file'],
])('a download of %s is refused', async (path, status, detail) => {
  const response = await get(`/api/file/download?path=${q(path)}`)
  expect([response.status, await response.json()]).toEqual([status, { detail }])
})

test('a read-only key cannot read files of the machine', async () => {
  const path = at('secret')
  writeFileSync(path, 'x')
  expect((await get(`/api/file/download?path=${q(path)}`, server.reader)).status).toBe(403)
  expect((await get(`/api/file/archive?path=${q(at())}`, server.reader)).status).toBe(403)
})

test('a directory is created with its parents, and creating it again succeeds', async () => {
  const path = at('made', 'of', 'many')
  const make = (directory: string) => server.call('POST', `/api/file/create_directory?path=${q(directory)}`)
  for (let times = 0; times < 2; times++) expect(await make(path)).toEqual({ status: 200, body: { success: true } })
  expect(statSync(path).isDirectory()).toBe(true)
  writeFileSync(at('plain'), '')
  expect(await make(at('plain'))).toEqual({
    status: 400,
    body: { detail: 'Path exists and is not a directory' },
  })
  expect((await make('relative')).status).toBe(400)
  expect((await make('/etc/passwd/x/y')).status).toBe(400)
})

test('subdirectories are paged by name without regard to case; files, links and hidden ones are omitted', async () => {
  const root = at('look')
  for (const name of ['beta', 'Alpha', '.hidden', 'gamma']) mkdirSync(join(root, name), { recursive: true })
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'beta'), join(root, 'link'))
  const search = async (query: string) =>
    (await server.call('GET', `/api/file/search_subdirs?path=${q(root)}${query}`)).body
  const first = await search('&limit=2')
  expect(first).toEqual({
    items: ['Alpha', 'beta'].map((name) => ({ name, path: join(root, name) })),
    next_page_id: 'gamma',
  })
  expect(await search('&limit=2&page_id=gamma')).toEqual({
    items: [{ name: 'gamma', path: join(root, 'gamma') }],
    next_page_id: null,
  })
  expect((await search('&include_hidden=true')).items.map((item: any) => item.name)).toContain('.hidden')
})

test.each([
  ['/no/such/place', 404, 'Directory not found'],
  ['/etc/passwd', 400, 'Path is not a directory'],
  ['relative', 400, 'Path must be absolute'],
])('a list of the subdirectories of %s is refused', async (path, status, detail) => {
  expect(await server.call('GET', `/api/file/search_subdirs?path=${q(path)}`)).toEqual({ status, body: { detail } })
})

test('a page of more than 100 subdirectories is refused', async () => {
  expect((await server.call('GET', '/api/file/search_subdirs?path=/usr&limit=101')).status).toBe(422)
})

test('the home directory is returned with its subdirectories', async () => {
  const { status, body } = await server.call('GET', '/api/file/home')
  expect(status).toBe(200)
  expect(body).toEqual({ home: homedir(), favorites: expect.any(Array), locations: [{ label: '/', path: '/' }] })
  expect(body.favorites.length).toBeLessThanOrEqual(50)
})

test('a tar.gz archive contains the tree without directories of dependencies and builds', async () => {
  const root = at('tree')
  for (const name of ['src', 'node_modules/x', 'notes']) mkdirSync(join(root, name), { recursive: true })
  writeFileSync(join(root, 'src', 'a.txt'), 'a')
  writeFileSync(join(root, 'node_modules', 'x', 'b.txt'), 'b')
  writeFileSync(join(root, 'notes', 'c.log'), 'c')
  const response = await get(`/api/file/archive?path=${q(root)}&format=tar.gz&exclude=${q('*.log')}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-disposition')).toBe('attachment; filename="tree.tar.gz"')
  const packed = at('tree.tgz')
  writeFileSync(packed, Buffer.from(await response.arrayBuffer()))
  const listed = execFileSync('tar', ['tzf', packed], { encoding: 'utf8' })
  expect(listed.split('\n')).toContain('tree/src/a.txt')
  expect(listed).not.toContain('node_modules')
  expect(listed).not.toContain('c.log')
})

test('a git-delta archive applies to its base with new, changed and deleted files, and the repository stays unchanged', async () => {
  const root = at('delta')
  mkdirSync(root)
  await git(root, 'init', '-q')
  writeFileSync(join(root, 'changed'), 'old\n')
  writeFileSync(join(root, 'deleted'), 'gone\n')
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'base')
  await git(root, 'remote', 'add', 'origin', 'https://user:token@example.org/acme/shop.git')
  const base = await git(root, 'rev-parse', 'HEAD')
  writeFileSync(join(root, 'changed'), 'new\n')
  writeFileSync(join(root, 'added'), Buffer.from([0, 1, 2]))
  await git(root, 'rm', '-q', '--cached', 'deleted')
  execFileSync('rm', [join(root, 'deleted')])
  const before = await git(root, 'status', '--porcelain')
  const response = await get(`/api/file/archive?path=${q(root)}&base_ref=HEAD`)
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/x-patch',
    'x-archive-repo-root': q(root),
    'x-archive-repo-remote': q('https://example.org/acme/shop.git'),
    'x-archive-branch': 'main',
    'x-archive-head-commit': base,
    'x-archive-base-commit': base,
    'x-archive-base-ref': 'HEAD',
  })
  const patch = at('delta.patch')
  writeFileSync(patch, Buffer.from(await response.arrayBuffer()))
  expect(await git(root, 'status', '--porcelain')).toBe(before)
  const copy = at('copy')
  await git(at(), 'clone', '-q', root, copy)
  await git(copy, 'apply', '--index', patch)
  expect(await git(copy, 'status', '--porcelain')).toBe('A  added\nM  changed\nD  deleted')
  const auto = await get(`/api/file/archive?path=${q(root)}`)
  expect(auto.headers.get('x-archive-base-ref')).toBeNull()
  await auto.arrayBuffer()
  const bad = await get(`/api/file/archive?path=${q(root)}&base_ref=nowhere`)
  expect([bad.status, await bad.json()]).toEqual([400, { detail: 'No commit is called nowhere here' }])
})

test.each([
  ['relative', 400, 'Path must be absolute'],
  ['/no/such/place', 404, 'Directory not found'],
  ['/etc/passwd', 400, 'Path is not a directory'],
])('an archive of %s is refused', async (path, status, detail) => {
  expect(await server.call('GET', `/api/file/archive?path=${q(path)}`)).toEqual({ status, body: { detail } })
})

test('a git-delta archive outside a repository is refused', async () => {
  const path = at('plain-folder')
  mkdirSync(path)
  expect((await server.call('GET', `/api/file/archive?path=${q(path)}`)).body).toEqual({
    detail: 'Not a git repository',
  })
})
