/** The web UI as the server serves it: the page, its addresses, its assets and their headers. */
import { once } from 'node:events'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { request, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type KeyedServer, startKeyedServer } from '../../packages/server/testing/keyed-server.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { PAGE_PATHS } from '../../packages/server/src/http/web-ui/web-ui.ts'
import { ROUTES } from '../../packages/web/src/routes.ts'

const SCRIPT = `export const text = ${JSON.stringify('x'.repeat(5000))}\n`
const PAGE = '<!doctype html><title>Parley</title><script type="module" src="/assets/index-AbC123.js"></script>'
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

let dir: TempDir
let folder: string
let edge: KeyedServer
beforeAll(async () => {
  dir = await tempDir()
  folder = dir.file('web')
  await mkdir(join(folder, 'assets'), { recursive: true })
  await writeFile(join(folder, 'index.html'), PAGE)
  await writeFile(join(folder, 'secret.txt'), 'not an asset')
  const script = join(folder, 'assets', 'index-AbC123.js')
  await writeFile(script, SCRIPT)
  await writeFile(`${script}.br`, brotliCompressSync(SCRIPT))
  await writeFile(`${script}.gz`, gzipSync(SCRIPT))
  await writeFile(join(folder, 'assets', 'plain-AbC123.css'), 'body { margin: 0 }\n')
  await writeFile(join(folder, 'assets', '.hidden'), 'hidden')
  await symlink(join(folder, 'secret.txt'), join(folder, 'assets', 'link.txt'))
  edge = await startKeyedServer({ overrides: { uiFolder: folder } })
})
afterAll(async () => {
  await edge[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

/** A request without a key, with exactly these headers and this path, and the bytes of the answer. */
async function ask(path: string, headers: Record<string, string> = {}, url = edge.url) {
  const sent = request(url, { path, headers, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [
    { statusCode: number; headers: IncomingHttpHeaders } & AsyncIterable<Buffer>,
  ]
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return { status: answer.statusCode, headers: answer.headers, body, text: body.toString() }
}

describe('the page', () => {
  test('has the same addresses in the server and in the browser', () => {
    const served = ['/', ...PAGE_PATHS].map((path) => path.replaceAll(/\{\w+\}/g, '*'))
    expect(served.toSorted()).toEqual(
      Object.values(ROUTES)
        .map((path) => path.replaceAll(/:\w+/g, '*'))
        .toSorted(),
    )
  })

  test('a browser gets the page at / and at each of its addresses, without a key', async () => {
    const id = '0f2a1b3c-4d5e-4f60-8a9b-0c1d2e3f4a5b'
    for (const path of ['/', '/new', `/c/${id}`, '/approvals', '/login', '/settings', '/settings/model'])
      expect([path, (await ask(path, { accept: BROWSER })).text]).toEqual([path, PAGE])
    for (const path of ['/c', '/c/a/b', '/new/x', '/nowhere', '/settings/a/b'])
      expect([path, (await ask(path, { accept: BROWSER })).status]).toEqual([path, 404])
  })

  test.each([undefined, '*/*', 'application/json', 'application/json, text/plain, */*', 'text/plain, text/html'])(
    'a program that accepts %s gets the description of the server at /',
    async (accept) => {
      const { status, headers, text } = await ask('/', accept === undefined ? {} : { accept })
      expect([status, headers['content-type'], JSON.parse(text).title]).toEqual([200, 'application/json', 'Parley'])
    },
  )

  test('the page runs only scripts of this server, turns no text into HTML, and cannot be framed', async () => {
    const { headers } = await ask('/new')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types parley",
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(headers['permissions-policy']).toMatch(/^(?:[a-z-]+=\(\)(?:, )?)+$/)
  })

  test('the page is revalidated at each load, and sent again only when its content has changed', async () => {
    const { headers } = await ask('/', { accept: BROWSER })
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'Accept, Origin' })
    const known = { accept: BROWSER, 'if-none-match': `"other", W/${headers.etag}` }
    expect(await ask('/', known)).toMatchObject({ status: 304, text: '', headers: { etag: headers.etag } })
    await writeFile(join(folder, 'index.html'), `${PAGE.slice(0, -1)} `)
    expect(await ask('/', known)).toMatchObject({ status: 200 })
    await writeFile(join(folder, 'index.html'), PAGE)
  })

  test('under a foreign host name the page is refused with the setting that names it', async () => {
    for (const path of ['/', '/new', '/assets/index-AbC123.js']) {
      const refused = await ask(path, { accept: BROWSER, host: 'evil.example' })
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('PARLEY_PUBLIC_HOSTS')])
    }
  })
})

describe('assets', () => {
  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, br;q=0', 'gzip'],
    ['deflate', undefined],
  ])('a client that accepts %s gets the coding %s', async (accepted, coding) => {
    const { status, headers, body } = await ask('/assets/index-AbC123.js', { 'accept-encoding': accepted })
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(body.length),
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding, Origin',
    })
    expect(headers['content-encoding']).toBe(coding)
    const plain = { br: brotliCompressSync(SCRIPT), gzip: gzipSync(SCRIPT) }[coding ?? ''] ?? Buffer.from(SCRIPT)
    expect(body.equals(plain)).toBe(true)
    const again = { 'accept-encoding': accepted, 'if-none-match': headers.etag! }
    expect(await ask('/assets/index-AbC123.js', again)).toMatchObject({ status: 304, text: '' })
  })

  test('an asset without compressed forms is sent as it is', async () => {
    const { headers, text } = await ask('/assets/plain-AbC123.css', { 'accept-encoding': 'br, gzip' })
    expect([headers['content-encoding'], headers['content-type'], text]).toEqual([
      undefined,
      'text/css; charset=utf-8',
      'body { margin: 0 }\n',
    ])
  })

  test.each([
    '/assets/../secret.txt',
    '/assets/..%2Fsecret.txt',
    '/assets/%2e%2e%2fsecret.txt',
    '/assets/..%5Csecret.txt',
    '/assets/%2e%2e/index.html',
    '/assets/..',
    '/assets/.hidden',
    '/assets/link.txt',
    '/assets/%00',
    '/assets/index-AbC123.js%00.css',
    '/assets/',
    '/assets/unknown.js',
    '/assets//etc/passwd',
    `/assets/${'a'.repeat(400)}`,
  ])('%s is refused', async (path) => {
    const { status, text } = await ask(path)
    expect([status, text]).toEqual([404, '{"detail":"Not Found"}'])
  })
})

test('a server whose UI is not built says on the page how to build it, and answers programs', async () => {
  await rm(join(folder, 'index.html'))
  try {
    const page = await ask('/', { accept: BROWSER })
    expect([page.status, page.headers['cache-control']]).toEqual([503, 'no-store'])
    expect(page.text).toContain('npm run build')
    expect((await ask('/')).status).toBe(200)
  } finally {
    await writeFile(join(folder, 'index.html'), PAGE)
  }
})

test('a server whose UI is switched off has no page', async () => {
  await using off = await startKeyedServer({ env: { PARLEY_UI: 'false' }, overrides: { uiFolder: folder } })
  for (const path of ['/new', '/assets/index-AbC123.js'])
    expect((await ask(path, { accept: BROWSER }, off.url)).status).toBe(404)
  const root = await ask('/', { accept: BROWSER }, off.url)
  expect([root.status, JSON.parse(root.text).title]).toEqual([200, 'Parley'])
})
