/** Files of conversations, whose working directories are on this machine and on another agent server. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { type Bench, KEY, startBench } from '../../packages/server/testing/two-user-server.ts'

const LINES = Array.from({ length: 20_000 }, (_, index) => `${index + 1} öäü`).join('\n')
const agent = { kind: 'Agent', llm: { model: 'scripted/none' } }

let server: Bench
let other: TestServer
const bases: Record<'local' | 'remote', string> = { local: '', remote: '' }

/** The same files in a directory; `outside.txt` and `outside/` lie beside it. */
function plant(server: TestServer): string {
  const root = server.dir.file('work')
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  write('src/app.ts', 'export const one = 1\n')
  write('src/deep/apple.md', '# Apple\n')
  write('README.md', 'hello')
  write('page.html', '<script>fetch("/api/secrets")</script>')
  write('lines.txt', LINES)
  write('one-line.txt', 'ä'.repeat(2000))
  write('binary.bin', Buffer.from([1, 0, 2]))
  write('node_modules/apple/index.js', '')
  write('.git/config', '[remote "origin"]\nurl = https://token@git.example.org/x\n')
  write(`häßlich "name" & 100%.txt`, 'odd')
  mkdirSync(server.dir.file('outside'))
  writeFileSync(server.dir.file('outside/x'), 'outside')
  writeFileSync(server.dir.file('outside.txt'), 'outside')
  symlinkSync(server.dir.file('outside.txt'), join(root, 'leads-out'))
  symlinkSync(server.dir.file('outside'), join(root, 'folder-out'))
  symlinkSync('src/app.ts', join(root, 'leads-in'))
  symlinkSync('circle', join(root, 'circle'))
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, 'pipe')])
  return root
}

beforeAll(async () => {
  server = await startBench()
  other = await startTestServer()
  const places = {
    local: { kind: 'LocalWorkspace', working_dir: plant(server) },
    remote: { kind: 'RemoteWorkspace', working_dir: plant(other), host: other.url, api_key: KEY },
  }
  for (const at of ['local', 'remote'] as const) {
    const { status, body } = await server.call('POST', '/api/conversations', { workspace: places[at], agent })
    expect(status).toBe(201)
    bases[at] = `/api/conversations/${body.id}/files`
  }
}, 60_000)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

describe.each(['local', 'remote'] as const)('a %s workspace', (at) => {
  const get = (path: string, query: Record<string, string | number> = {}) =>
    server.call('GET', `${bases[at]}${path}?${new URLSearchParams(query as Record<string, string>).toString()}`)

  test('a listing has directories first, and what links lead to', async () => {
    const { status, body } = await get('')
    expect([status, body.has_more]).toEqual([200, false])
    const kinds = body.entries.map(({ name, kind }: any) => [name, kind])
    const folders = kinds.filter(([, kind]: any) => kind === 'directory').map(([name]: any) => name)
    expect(folders.filter((name: string) => name !== 'folder-out')).toEqual(['.git', 'node_modules', 'src'])
    expect(Object.fromEntries(kinds)).toMatchObject({ 'README.md': 'file', 'leads-in': 'file', pipe: 'other' })
    expect(JSON.stringify(body)).not.toContain(server.dir.path)
    expect((await get('', { path: 'src/deep' })).body.entries).toEqual([{ name: 'apple.md', kind: 'file' }])
    expect((await get('', { path: './src//deep/' })).body.entries).toHaveLength(1)
  })

  test('the parts of a long file are whole lines, and together the file', async () => {
    let text = ''
    let parts = 0
    for (let offset: number | null = 0; offset !== null; parts++) {
      const { body }: { body: any } = await get('/text', { path: 'lines.txt', offset, limit: 65_536 })
      if (body.next_offset !== null) expect(body.text.endsWith('\n')).toBe(true)
      expect(body.size).toBe(Buffer.byteLength(LINES))
      text += body.text
      offset = body.next_offset
    }
    expect([text === LINES, parts]).toEqual([true, Math.ceil(Buffer.byteLength(LINES) / 65_536)])
  })

  test('a part of a line that is longer than the part ends with a whole character', async () => {
    const { body } = await get('/text', { path: 'one-line.txt', limit: 101 })
    expect([body.text, body.next_offset]).toEqual(['ä'.repeat(50), 100])
    const behind = await get('/text', { path: 'one-line.txt', offset: 1_000_000 })
    expect([behind.body.text, behind.body.next_offset]).toEqual(['', null])
  })

  test('a file that is not text has no text, and can be downloaded', async () => {
    expect((await get('/text', { path: 'binary.bin' })).body).toMatchObject({ size: 3, text: null, next_offset: null })
    const answer = await fetch(`${server.url}${bases[at]}/content?path=binary.bin`, {
      headers: { 'X-Session-API-Key': KEY },
    })
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from([1, 0, 2]))
  })

  test('a page of the workspace is a download without a type that browsers show', async () => {
    const answer = await fetch(`${server.url}${bases[at]}/content?path=page.html`, {
      headers: { 'X-Session-API-Key': KEY },
    })
    expect([
      answer.status,
      answer.headers.get('content-type'),
      answer.headers.get('content-disposition'),
      answer.headers.get('x-content-type-options'),
    ]).toEqual([200, 'application/octet-stream', 'attachment; filename="page.html"', 'nosniff'])
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('a search finds names before directories, in any case, and skips dependencies', async () => {
    expect((await get('/search', { q: 'APP' })).body).toEqual({
      paths: ['src/app.ts', 'src/deep/apple.md'],
      is_complete: true,
    })
    expect((await get('/search', { q: 'deep md' })).body.paths).toEqual(['src/deep/apple.md'])
    expect((await get('/search', { q: 'a', limit: 1 })).body).toMatchObject({ is_complete: false })
    expect((await get('/search', { q: 'config' })).body.paths).toEqual([])
  })

  test('a name with blanks, quotes and letters beyond ASCII is a name', async () => {
    expect((await get('/text', { path: `häßlich "name" & 100%.txt` })).body.text).toBe('odd')
  })

  test.each([
    ['../outside.txt', 400],
    ['src/../../outside.txt', 400],
    ['/etc/passwd', 400],
    ['a\0b', 400],
    ['leads-out', 400],
    ['folder-out/x', 400],
    ['src', 400],
    ['pipe', 400],
    ['', 400],
    ['absent', 404],
    ['README.md/x', 404],
    ['.git/config', 403],
  ])('reading %j is refused', async (path, status) => {
    for (const route of ['/text', '/content']) {
      const answer = await get(route, { path })
      expect([route, answer.status]).toEqual([route, status])
      expect(answer.body.detail).toMatch(/\w/)
      expect(JSON.stringify(answer.body)).not.toMatch(new RegExp(`${server.dir.path}|${other.dir.path}`))
    }
  })

  test('listing what is no directory of the workspace is refused', async () => {
    for (const [path, status] of [
      ['..', 400],
      ['folder-out', 400],
      ['README.md', 400],
      ['pipe', 400],
      ['absent', 404],
    ] as const) {
      const answer = await get('', { path })
      expect([path, answer.status]).toEqual([path, status])
    }
  })

  test('files of another user and of an unknown conversation are not found', async () => {
    for (const route of ['', '/text?path=README.md', '/search?q=a', '/content?path=README.md']) {
      const path = `${bases[at]}${route}`
      expect([route, (await server.call('GET', path, undefined, server.bob)).status]).toEqual([route, 404])
      expect((await server.call('GET', path, undefined, { 'X-Session-API-Key': 'wrong' })).status).toBe(401)
      expect((await server.call('GET', path, undefined, server.reader)).status).toBe(200)
      const unknown = path.replace(/conversations\/[^/]+/, `conversations/${crypto.randomUUID()}`)
      expect((await server.call('GET', unknown)).status).toBe(404)
    }
  })
})

test.each(['x'.repeat(300), 'circle', 'circle/x'])('the path %j is refused', async (path) => {
  for (const route of ['', '/text', '/content'])
    expect((await server.call('GET', `${bases.local}${route}?path=${path}`)).status).toBe(400)
})

test('a file of many gigabytes is read in parts', async () => {
  const huge = server.dir.file('work/huge.txt')
  writeFileSync(huge, 'first line\n')
  truncateSync(huge, 5 * 1024 ** 3)
  const { body } = await server.call('GET', `${bases.local}/text?path=huge.txt&offset=${4 * 1024 ** 3}&limit=1000`)
  expect([body.size, body.text]).toEqual([5 * 1024 ** 3, null])
})

test('a working directory that does not exist yet is empty', async () => {
  const workspace = { working_dir: server.dir.file('later') }
  const { body } = await server.call('POST', '/api/conversations', { workspace, agent })
  const { status, body: files } = await server.call('GET', `/api/conversations/${body.id}/files`)
  expect([status, files]).toEqual([200, { entries: [], has_more: false }])
})
