/** Another user's key, and a read-only key, on the routes for files, git and commands. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSocket } from '../../packages/server/testing/socket.ts'
import { ANNS, closedDirectories, closedFiles, openAttackBench, type AttackBench, type Who } from './bench.ts'

let bench: AttackBench
beforeAll(async () => {
  bench = await openAttackBench()
})
afterAll(() => bench[Symbol.asyncDispose]())

const q = encodeURIComponent
const get = (who: Who, path: string) => bench.as(who, 'GET', path)
/** Paths that were not refused with the status, or whose answer contains a secret. */
async function notRefused(
  paths: readonly string[],
  ask: (path: string) => Promise<{ status: number; text: string }>,
  expected = 422,
) {
  const found: unknown[] = []
  for (const path of paths) {
    const { status, text } = await ask(path)
    if (status !== expected || text.replaceAll(path, '').includes(ANNS)) found.push([path, status, text.slice(0, 200)])
  }
  return found
}

describe('the key of another user', () => {
  test('reads none of these files with the program of an MCP server that is tried', async () => {
    const targets = closedFiles(bench).filter((path) => !path.startsWith('/proc'))
    const script = `cat "$@" > copied; echo yes > ran`
    const server = { type: 'stdio', command: 'sh', args: ['-c', script, 'sh', ...targets] }
    const { status, json, text } = await bench.as('bob', 'POST', '/api/mcp/test', { server })
    expect([status, json.ok, text.includes(ANNS)]).toEqual([200, false, false])
    const own = (name: string) => readFileSync(bench.data('users', 'bob', name), 'utf8')
    expect([own('ran'), own('copied')]).toEqual(['yes\n', ''])
  })

  test('downloads no file of the data directory, of a workspace, of a home or of a process', async () => {
    expect(await notRefused(closedFiles(bench), (path) => get('bob', `/api/file/download?path=${q(path)}`))).toEqual([])
  })

  test('uploads no file to these places', async () => {
    const before = readdirSync(bench.dir('home'))
    const upload = async (path: string) => {
      const form = new FormData()
      form.append('file', new Blob(['from bob']))
      const answer = await fetch(`${bench.serving.server.url}/api/file/upload?path=${q(path)}`, {
        method: 'POST',
        headers: { 'X-Session-API-Key': bench.serving.keys.bob },
        body: form,
      })
      return { status: answer.status, text: await answer.text() }
    }
    const targets = [...closedFiles(bench), bench.dir('home', '.bashrc'), bench.data('scripts', 'x.json'), '/x']
    expect(await notRefused(targets, upload)).toEqual([])
    expect(readFileSync(join(bench.workspace, 'secret.txt'), 'utf8')).toBe(ANNS)
    expect(readdirSync(bench.dir('home'))).toEqual(before)
  })

  test.each(['create_directory', 'archive', 'archive.tar'])('gets nothing of these places from %s', async (route) => {
    const [name, method] = route === 'create_directory' ? [route, 'POST'] : ['archive', 'GET']
    const format = route === 'archive.tar' ? '&format=tar.gz' : ''
    const ask = (path: string) => bench.as('bob', method!, `/api/file/${name}?path=${q(path)}${format}`)
    expect(await notRefused(closedDirectories(bench), ask)).toEqual([])
    expect(existsSync(bench.data('workspaces', 'fresh'))).toBe(false)
  })

  test('lists directories to choose from, but none of the data directory and of credentials', async () => {
    const search = (path: string) => get('bob', `/api/file/search_subdirs?path=${q(path)}&include_hidden=true`)
    const closed = [bench.workspace, bench.data(), bench.data('workspaces'), bench.dir('home', '.ssh'), '/proc/self']
    expect(await notRefused([...closed, bench.dir('bob', 'to-data')], search)).toEqual([])
    // What contains the data directory or a home is shown in the mode `personal` only.
    expect((await search(bench.dir())).status).toBe(422)
    expect((await search(bench.dir('home'))).status).toBe(422)
    expect((await search(bench.dir('bob'))).json.items).toEqual([{ name: '.git', path: bench.dir('bob', '.git') }])
  })

  test.each(['changes?ref=HEAD&', 'commits?', 'commits/HEAD/changes?'])(
    'gets nothing of these places from git %s',
    async (route) => {
      const ask = (path: string) => get('bob', `/api/git/${route.replace('HEAD/', 'abcd/')}path=${q(path)}`)
      expect(await notRefused(closedDirectories(bench), ask)).toEqual([])
    },
  )

  test('gets no file of these places from a git patch, and sees a link as a link', async () => {
    const ask = (path: string) => get('bob', `/api/git/patch?path=${q(path)}`)
    const links = [bench.dir('bob', 'to-secret'), bench.dir('bob', 'to-key')]
    const closed = closedFiles(bench).filter((path) => !links.includes(path))
    expect(await notRefused(closed, ask)).toEqual([])
    expect((await ask(links[1]!)).json.patch).toBe(`@@ -0,0 +1,1 @@\n+${bench.data('secret-key')}\n`)
  })

  test('gets no file of these places from a git diff, and sees a link as a link', async () => {
    const ask = (path: string) => get('bob', `/api/git/diff?path=${q(path)}`)
    const links = [bench.dir('bob', 'to-secret'), bench.dir('bob', 'to-key')]
    const closed = closedFiles(bench).filter((path) => !links.includes(path))
    expect(await notRefused(closed, ask)).toEqual([])
    for (const link of links) expect((await ask(link)).json).toMatchObject({ original: '' })
    expect((await ask(links[1]!)).json.modified).toBe(bench.data('secret-key'))
  })

  test('starts no command in these places, over HTTP and over the socket', async () => {
    const closed = closedDirectories(bench)
    for (const route of ['execute_bash_command', 'start_bash_command']) {
      for (const cwd of closed) {
        const answer = await bench.as('bob', 'POST', `/api/bash/${route}`, { command: 'ls; cat *', cwd })
        expect([cwd, answer.status]).toEqual([cwd, 422])
        expect(answer.json.detail).toMatchObject([{ type: 'value_error', loc: ['body', 'cwd'], input: cwd }])
      }
    }
    const url = `${bench.serving.server.url.replace('http', 'ws')}/sockets/bash-events`
    await using socket = openSocket(url, { 'x-session-api-key': bench.serving.keys.bob })
    await socket.opened
    socket.send({ command: 'cat *', cwd: bench.workspace })
    expect(await socket.next(({ kind }) => kind === 'BashError')).toMatchObject({
      detail: expect.stringContaining('cwd'),
    })
    expect((await get('bob', '/api/bash/bash_events/search')).json.items).toEqual([])
  })

  test.each([
    ['skills', { load_project: true, load_user: true }],
    ['hooks', {}],
  ])('reads no %s of these places', async (route, members) => {
    mkdirSync(join(bench.workspace, '.agents', 'skills'), { recursive: true })
    writeFileSync(join(bench.workspace, '.agents', 'skills', 'x.md'), ANNS)
    for (const project_dir of closedDirectories(bench)) {
      const answer = await bench.as('bob', 'POST', `/api/${route}`, { ...members, project_dir })
      expect([project_dir, answer.status]).toEqual([project_dir, 422])
      expect(answer.json.detail).toMatchObject([{ loc: ['body', 'project_dir'] }])
    }
  })
})

describe('a read-only key', () => {
  test('reaches neither files nor repositories nor commands of the machine, of its own user either', async () => {
    const open = bench.dir('bob')
    await bench.as('ann', 'POST', '/api/bash/execute_bash_command', { command: `echo ${ANNS}` })
    const paths = [
      '/api/file/home',
      `/api/file/search_subdirs?path=${q(open)}`,
      `/api/file/download?path=${q('/etc/hostname')}`,
      `/api/file/archive?path=${q(open)}`,
      ...['changes', 'commits', 'commits/abcd/changes'].map((name) => `/api/git/${name}?path=${q(open)}`),
      ...['diff', 'patch'].map((name) => `/api/git/${name}?path=${q(join(open, 'x'))}`),
      '/api/bash/bash_events/search',
      `/api/bash/bash_events/${'0'.repeat(32)}`,
    ]
    expect(await notRefused(paths, (path) => get('reader', path), 403)).toEqual([])
    const url = `${bench.serving.server.url.replace('http', 'ws')}/sockets/bash-events?resend_mode=all`
    await using socket = openSocket(url, { 'x-session-api-key': bench.serving.keys.reader })
    expect(await socket.closed).toMatchObject({ code: 4003 })
    expect(socket.frames).toEqual([])
  })

  test('reads the conversations of its user and their workspaces', async () => {
    expect((await get('reader', `/api/conversations/${bench.conversation}`)).status).toBe(200)
    const file = await get('reader', `/api/conversations/${bench.conversation}/workspace/secret.txt`)
    expect([file.status, file.text]).toEqual([200, ANNS])
  })
})

test('a user reaches the workspace of a conversation of their own by its path', async () => {
  const path = q(join(bench.workspace, 'secret.txt'))
  expect((await get('ann', `/api/file/download?path=${path}`)).text).toBe(ANNS)
  expect((await get('ann', `/api/git/commits?path=${q(bench.workspace)}`)).json.commits).toHaveLength(1)
  const command = { command: 'cat secret.txt', cwd: bench.workspace }
  expect((await bench.as('ann', 'POST', '/api/bash/execute_bash_command', command)).json.stdout).toBe(ANNS)
})
