import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeys } from '../../packages/server/src/index.ts'
import { type Bench, KEY, raw, startBench } from '../../packages/server/testing/two-user-server.ts'
import { chosenDatabase } from '../../packages/server/testing/store-choice.ts'

let server: Bench
let base: string
let cookie: string
const COOKIE = 'oh_workspace_session_key'

beforeAll(async () => {
  server = await startBench()
  const working_dir = server.dir.file('work')
  mkdirSync(join(working_dir, 'site', 'css'), { recursive: true })
  mkdirSync(join(working_dir, 'bare'))
  writeFileSync(join(working_dir, 'index.html'), '<h1>top</h1>')
  writeFileSync(join(working_dir, 'site', 'index.html'), '<h1>site</h1>')
  writeFileSync(join(working_dir, 'site', 'css', 'a b.css'), 'h1 {}')
  writeFileSync(server.dir.file('outside.txt'), 'outside')
  symlinkSync(server.dir.file('outside.txt'), join(working_dir, 'leads-out'))
  symlinkSync(server.dir.path, join(working_dir, 'folder-out'))
  symlinkSync(join(working_dir, 'index.html'), join(working_dir, 'leads-in.html'))
  const agent = { kind: 'Agent', llm: { model: 'scripted/none' } }
  const { body } = await server.call('POST', '/api/conversations', { workspace: { working_dir }, agent })
  base = `/api/conversations/${body.id}/workspace`
  cookie = await openSession()
})
afterAll(() => server[Symbol.asyncDispose]())

const session = (method: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/api/auth/workspace-session`, { method, headers: { 'X-Session-API-Key': KEY, ...headers } })

async function openSession(headers: Record<string, string> = {}): Promise<string> {
  const response = await session('POST', headers)
  return /^[^;]+/.exec(response.headers.get('set-cookie') ?? '')![0]
}

test('the workspace cookie authenticates without containing the key', async () => {
  const response = await session('POST')
  expect([response.status, await response.text()]).toEqual([204, ''])
  const set = response.headers.get('set-cookie') ?? ''
  expect(set).toMatch(
    /^oh_workspace_session_key=[^;]{40,}; HttpOnly; Max-Age=315360000; Path=\/api\/conversations; SameSite=none; Secure; Partitioned$/,
  )
  expect(set).not.toContain(KEY)
})

test('the workspace cookie is not Secure without a secure context', async () => {
  const far = await session('POST', { 'X-Forwarded-Host': 'parley.example.org' })
  expect(far.headers.get('set-cookie')).toMatch(/SameSite=none$/)
  const proxied = await session('POST', { 'X-Forwarded-Host': 'parley.example.org', 'X-Forwarded-Proto': 'https' })
  expect(proxied.headers.get('set-cookie')).toMatch(/Secure; Partitioned$/)
})

test('closing the workspace session clears the cookie with the same attributes', async () => {
  const response = await session('DELETE')
  expect(response.status).toBe(204)
  expect(response.headers.get('set-cookie')).toBe(
    `${COOKIE}=; HttpOnly; Max-Age=0; Path=/api/conversations; SameSite=none; Secure; Partitioned`,
  )
  expect((await session('POST', { 'X-Session-API-Key': 'wrong' })).status).toBe(401)
})

test('the workspace cookie authorises only workspace files', async () => {
  const page = await fetch(`${server.url}${base}/site/`, { headers: { cookie } })
  expect([page.status, page.headers.get('content-type'), await page.text()]).toEqual([
    200,
    'text/html; charset=utf-8',
    '<h1>site</h1>',
  ])
  expect((await fetch(`${server.url}/api/conversations/count`, { headers: { cookie } })).status).toBe(401)
  expect((await fetch(server.url + base, { headers: { cookie: `${COOKIE}=v1:00000000:xx` } })).status).toBe(401)
  expect((await fetch(server.url + base)).status).toBe(401)
})

test.each([
  ['', 200, '<h1>top</h1>'],
  ['/', 200, '<h1>top</h1>'],
  ['/index.html', 200, '<h1>top</h1>'],
  ['/site/css/a%20b.css', 200, 'h1 {}'],
  ['/leads-in.html', 200, '<h1>top</h1>'],
  ['/bare', 404, 'No index.html in directory'],
  ['/absent.png', 404, 'File not found'],
  ['/leads-out', 400, 'Path is outside the workspace'],
  ['/folder-out/outside.txt', 400, 'Path is outside the workspace'],
  ['/../outside.txt', 400, 'Path is outside the workspace'],
  ['/%2e%2e/outside.txt', 400, 'Path is outside the workspace'],
  ['/..%2foutside.txt', 400, 'Path is outside the workspace'],
  ['/site/../../outside.txt', 400, 'Path is outside the workspace'],
  ['//etc/passwd', 404, 'File not found'],
  ['/a%00b', 400, 'Path must not contain the character NUL'],
])('the workspace file %s is answered with %i', async (path, status, text) => {
  const answer = await raw(server.url, base + path, { 'X-Session-API-Key': KEY })
  expect([answer.status, answer.text]).toEqual([status, status === 200 ? text : JSON.stringify({ detail: text })])
})

test('workspace files of another user and of an unknown conversation are not found', async () => {
  const theirs = await openSession(server.bob)
  expect((await fetch(server.url + base, { headers: { cookie: theirs } })).status).toBe(404)
  const unknown = `/api/conversations/${crypto.randomUUID()}/workspace/a`
  expect((await server.call('GET', unknown)).status).toBe(404)
  expect((await server.call('GET', '/api/conversations/x/workspace/a')).status).toBe(422)
})

test('the workspace cookie ends with its key', async () => {
  const theirs = await openSession(server.bob)
  const keys = await openKeys({
    dataDir: server.dir.file('data'),
    databaseUrl: await chosenDatabase(server.dir.file('data')),
    sessionApiKeys: [],
    mode: 'personal',
  })
  const row = (await keys.listKeys()).find(({ user }) => user === 'bob')
  await keys.revokeKey(row!.id)
  await keys[Symbol.asyncDispose]()
  expect((await fetch(server.url + base, { headers: { cookie: theirs } })).status).toBe(401)
})

test('a page of a workspace runs in an opaque origin and may be framed by other sites', async () => {
  const { headers } = await fetch(`${server.url}${base}/site/`, { headers: { cookie } })
  expect(headers.get('content-security-policy')).toMatch(/^sandbox (?!.*allow-same-origin)/)
  expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('pages of every web origin may read workspace files, and pages without an origin may not', async () => {
  const origin = async (path: string, value: string) => {
    const { headers } = await fetch(server.url + path, { headers: { 'X-Session-API-Key': KEY, origin: value } })
    return headers.get('access-control-allow-origin')
  }
  expect(await origin(base, 'https://canvas.example.org')).toBe('https://canvas.example.org')
  expect(await origin(`${base}/site/index.html`, 'null')).toBeNull()
  expect(await origin('/api/conversations/count', 'https://canvas.example.org')).toBeNull()
  const preflight = await fetch(`${server.url}/api/auth/workspace-session`, {
    method: 'OPTIONS',
    headers: { origin: 'https://canvas.example.org', 'access-control-request-method': 'POST' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-credentials')]).toEqual([200, 'true'])
})
