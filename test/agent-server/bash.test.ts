import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readConfig, startServer } from '../../packages/server/src/index.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { type Bench, KEY, startBench } from '../../packages/server/testing/two-user-server.ts'
import { storeSettings } from '../../packages/server/testing/store-choice.ts'

let server: Bench
beforeAll(async () => {
  server = await startBench()
})
afterAll(() => server[Symbol.asyncDispose]())

const execute = (body: object, headers = {}) => server.call('POST', '/api/bash/execute_bash_command', body, headers)

/** Polls a command to its end, as the Python client does. */
async function poll(id: string): Promise<{ exit_code: number; stdout: string; stderr: string; orders: number[] }> {
  const orders: number[] = []
  let stdout = ''
  let stderr = ''
  for (let last = -1; ; await delay(10)) {
    const query = `command_id__eq=${id}&kind__eq=BashOutput&sort_order=TIMESTAMP&limit=100&order__gt=${last}`
    const { body } = await server.call('GET', `/api/bash/bash_events/search?${query}`)
    for (const item of body.items) {
      orders.push(item.order)
      last = item.order
      stdout += item.stdout ?? ''
      stderr += item.stderr ?? ''
      if (item.exit_code !== null) return { exit_code: item.exit_code, stdout, stderr, orders }
    }
  }
}

test('a bash command runs in a new /bin/sh and its last output is returned', async () => {
  const cwd = server.dir.file('here')
  mkdirSync(cwd)
  const { status, body } = await execute({ command: 'pwd; echo oops >&2; exit 3', cwd })
  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    timestamp: expect.stringMatching(/Z$/),
    command_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    order: 0,
    exit_code: 3,
    stdout: `${realpathSync(cwd)}\n`,
    stderr: 'oops\n',
    kind: 'BashOutput',
  })
  expect((await execute({ command: 'true' })).body).toMatchObject({ exit_code: 0, stdout: null, stderr: null })
})

test('a started bash command is returned at once and can be polled to its end', async () => {
  const { status, body } = await server.call('POST', '/api/bash/start_bash_command', { command: 'printf done' })
  expect(status).toBe(200)
  expect(body).toMatchObject({ command: 'printf done', cwd: null, timeout: 300, kind: 'BashCommand' })
  expect(await poll(body.id)).toEqual({ exit_code: 0, stdout: 'done', stderr: '', orders: [0] })
  const dashed = body.id.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5').toUpperCase()
  expect((await server.call('GET', `/api/bash/bash_events/${dashed}`)).body).toEqual(body)
})

test('a long output is split into outputs of one mebibyte, and only the last has an exit code', async () => {
  const command = "head -c 2500000 /dev/zero | tr '\\0' x; echo end"
  const { body } = await server.call('POST', '/api/bash/start_bash_command', { command })
  const read = await poll(body.id)
  expect(read.exit_code).toBe(0)
  expect(read.orders).toEqual(read.orders.map((_, index) => index))
  expect(read.orders).toHaveLength(3)
  expect(read.stdout).toBe(`${'x'.repeat(2_500_000)}end\n`)
  const first = await server.call('GET', `/api/bash/bash_events/search?command_id__eq=${body.id}&limit=1`)
  expect(first.body.items[0].stdout).toHaveLength(1024 * 1024)
  expect(first.body.next_page_id).not.toBeNull()
})

test('an endless output is limited, and the missing amount is reported', async () => {
  const { body } = await execute({ command: 'yes 0123456789 | head -c 60000000' })
  expect(body).toMatchObject({ exit_code: 0 })
  expect(body.stderr).toMatch(/\d{8} bytes in the middle of stdout were not kept/)
}, 20_000)

test('a bash command over its timeout ends with -1, its partial output and its whole process group', async () => {
  const { body } = await execute({ command: 'echo begun; sleep 1000 & echo $!; sleep 1000', timeout: 1 })
  expect(body).toMatchObject({ exit_code: -1, stderr: null })
  const pid = /begun\n(\d+)/.exec(body.stdout)?.[1]
  // An ended process without a parent that collects it stays as a zombie.
  const look = `case "$(cut -d' ' -f3 /proc/${pid}/stat 2>/dev/null)" in Z|X|'') echo gone;; *) echo alive;; esac`
  expect((await execute({ command: look })).body.stdout).toBe('gone\n')
})

test('a bash command in a missing directory ends with an error output', async () => {
  const { status, body } = await execute({ command: 'true', cwd: server.dir.file('absent') })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    exit_code: -1,
    stdout: null,
    stderr: expect.stringMatching(/^Error executing command: /),
  })
})

test('the exit code of a bash command ended by a signal is its negative number, and invalid bytes become U+FFFD', async () => {
  expect((await execute({ command: 'kill -9 $$' })).body.exit_code).toBe(-9)
  expect((await execute({ command: "printf '\\377'" })).body.stdout).toBe('\uFFFD')
})

test('a bash command sees neither the keys of the server nor the rest of its environment', async () => {
  const { body } = await execute({ command: 'env' })
  expect(body.stdout).not.toContain(KEY)
  const names = body.stdout
    .trim()
    .split('\n')
    .map((line: string) => line.split('=')[0])
  const allowed =
    /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|TZ|TMPDIR|TERM|PWD|OLDPWD|SHLVL|_|LC_\w+|\w*PAGER|AI_AGENT\w*|(?!PARLEY)\w+_(?:CERT|CERTS|CERT_FILE|CERT_DIR|BUNDLE|CAINFO|HOME|DIR|ROOT|INSTALL|TOOLCHAIN|proxy|PROXY)|GOROOT|GOPATH)$/
  expect(names.filter((name: string) => !allowed.test(name))).toEqual([])
})

test('a bash command outlives the server, and its end is stored once after the restart', async () => {
  await using dir = await tempDir()
  const env = {
    PARLEY_SESSION_API_KEYS: KEY,
    PARLEY_LOG_LEVEL: 'silent',
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
    ...(await storeSettings(dir.file('data'))),
  }
  const { config } = readConfig({
    flags: { 'data-dir': dir.file('data'), port: '0', 'allow-root': true },
    env,
    cwd: dir.path,
    home: dir.path,
  })
  const headers = { 'X-Session-API-Key': KEY, 'content-type': 'application/json' }
  const before = await startServer(config)
  const cwd = dir.file('work')
  mkdirSync(cwd)
  const body = JSON.stringify({ command: 'echo >> ran; until test -e go; do sleep 0.05; done; echo late', cwd })
  const started = await fetch(`${before.url}/api/bash/start_bash_command`, { method: 'POST', headers, body })
  const { id } = (await started.json()) as { id: string }
  while (!existsSync(join(cwd, 'ran'))) await delay(5)
  await before[Symbol.asyncDispose]()
  await using after = await startServer(config)
  writeFileSync(join(cwd, 'go'), '')
  for (;;) {
    const found = await fetch(`${after.url}/api/bash/bash_events/search?command_id__eq=${id}`, { headers })
    const { items } = (await found.json()) as { items: unknown[] }
    if (items.length === 0) {
      await delay(10)
      continue
    }
    expect(items).toMatchObject([{ order: 0, exit_code: 0, stdout: 'late\n' }])
    break
  }
  expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('\n')
})

test('bash events are found by kind, time and page, in either order', async () => {
  await server.call('DELETE', '/api/bash/bash_events')
  for (const word of ['one', 'two', 'three']) await execute({ command: `echo ${word}` })
  const search = async (query: string) => (await server.call('GET', `/api/bash/bash_events/search?${query}`)).body
  const commands = await search('kind__eq=BashCommand')
  expect(commands.items.map((item: any) => item.command)).toEqual(['echo one', 'echo two', 'echo three'])
  const first = await search('kind__eq=BashCommand&sort_order=TIMESTAMP_DESC&limit=2')
  expect(first.items.map((item: any) => item.command)).toEqual(['echo three', 'echo two'])
  const rest = await search(`kind__eq=BashCommand&sort_order=TIMESTAMP_DESC&limit=2&page_id=${first.next_page_id}`)
  expect(rest).toMatchObject({ items: [{ command: 'echo one' }], next_page_id: null })
  const at = encodeURIComponent(commands.items[1].timestamp)
  expect((await search(`timestamp__gte=${at}&kind__eq=BashCommand`)).items).toHaveLength(2)
  const ids = [commands.items[2].id, 'f'.repeat(32), commands.items[0].id]
  const many = await rawGet('/api/bash/bash_events/', ids)
  expect(many.map((item: any) => item?.command ?? null)).toEqual(['echo three', null, 'echo one'])
  expect((await server.call('DELETE', '/api/bash/bash_events')).body).toEqual({ cleared_count: 6 })
  expect(await search('')).toEqual({ items: [], next_page_id: null })
})

/** A GET with a body, which `fetch` does not send. */
async function rawGet(path: string, body: unknown): Promise<any> {
  const { request } = await import('node:http')
  const { promise, resolve } = Promise.withResolvers<any>()
  const text = JSON.stringify(body)
  const headers = { 'X-Session-API-Key': KEY, 'content-type': 'application/json', 'content-length': text.length }
  request(server.url + path, { headers }, (answer) => {
    let all = ''
    answer.setEncoding('utf8').on('data', (chunk: string) => (all += chunk))
    answer.on('end', () => resolve(JSON.parse(all)))
  }).end(text)
  return promise
}

test.each([
  ['GET', '/api/bash/bash_events/search?limit=101', undefined, 422],
  ['GET', '/api/bash/bash_events/search?limit=0', undefined, 422],
  ['GET', '/api/bash/bash_events/search?kind__eq=BashError', undefined, 422],
  ['GET', `/api/bash/bash_events/${'0'.repeat(32)}`, undefined, 404],
  ['GET', '/api/bash/bash_events', undefined, 405],
  ['POST', '/api/bash/start_bash_command', {}, 422],
  ['POST', '/api/bash/execute_bash_command', { command: 'true', timeout: 'soon' }, 422],
])('the bash request %s %s is refused', async (method, path, body, status) => {
  expect((await server.call(method, path, body)).status).toBe(status)
})

test('bash commands are visible only to their user, and a read-only key runs none', async () => {
  const { body } = await execute({ command: 'echo mine' })
  expect((await server.call('GET', `/api/bash/bash_events/${body.id}`, undefined, server.bob)).status).toBe(404)
  const found = await server.call('GET', '/api/bash/bash_events/search', undefined, server.bob)
  expect(found.body.items).toEqual([])
  expect((await server.call('DELETE', '/api/bash/bash_events', undefined, server.bob)).body).toEqual({
    cleared_count: 0,
  })
  expect((await execute({ command: 'true' }, server.reader)).status).toBe(403)
})

type Frames = AsyncDisposable & { socket: WebSocket; next(match: (frame: any) => boolean): Promise<any>; all: any[] }

async function connect(query: string, headers: Record<string, string> = { 'X-Session-API-Key': KEY }): Promise<Frames> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/bash-events${query}`, { headers })
  const all: any[] = []
  const waiting = new Set<() => void>()
  socket.on('message', (data: Buffer) => {
    all.push(JSON.parse(data.toString('utf8')))
    for (const wake of waiting) wake()
  })
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  return {
    socket,
    all,
    async next(match) {
      for (;;) {
        const found = all.find(match)
        if (found !== undefined) return found
        await new Promise<void>((resolve) => waiting.add(resolve))
      }
    },
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.close()
      await closed
    },
  }
}

test('the bash socket starts commands and sends only those of its user', async () => {
  await using mine = await connect('')
  await using other = await connect('', server.bob)
  other.socket.send(JSON.stringify({ command: 'echo other' }))
  await other.next((frame) => frame.kind === 'BashOutput')
  mine.socket.send(JSON.stringify({ type: 'auth', session_api_key: KEY }))
  mine.socket.send(JSON.stringify({ command: 'echo over the socket' }))
  const command = await mine.next((frame) => frame.command === 'echo over the socket')
  expect(command).toMatchObject({ kind: 'BashCommand', cwd: null })
  const output = await mine.next((frame) => frame.command_id === command.id)
  expect(output).toMatchObject({ stdout: 'over the socket\n', stderr: null, exit_code: 0 })
  expect(mine.all.some((frame) => frame.command === 'echo other')).toBe(false)
})

test('the error for an invalid frame on the bash socket is sent to its sender, and the socket stays open', async () => {
  await using mine = await connect('')
  mine.socket.send('{')
  expect(await mine.next((frame) => frame.code === 'JSONDecodeError')).toMatchObject({ kind: 'BashError' })
  mine.socket.send('{"cwd":"/"}')
  expect(await mine.next((frame) => frame.code === 'ValidationError')).toMatchObject({
    detail: 'command: Field required',
  })
  mine.socket.send(Buffer.from('{}'), { binary: true })
  await mine.next((frame) => frame.code === 'KeyError')
  expect(mine.socket.readyState).toBe(WebSocket.OPEN)
})

test('a bash socket with resend_mode=all gets the stored events first, each event once', async () => {
  await server.call('DELETE', '/api/bash/bash_events')
  await execute({ command: 'echo before' })
  await using mine = await connect('?resend_mode=all')
  await execute({ command: 'echo after' })
  await mine.next((frame) => frame.stdout === 'after\n')
  expect(mine.all.map((frame) => frame.stdout ?? frame.command)).toEqual([
    'echo before',
    'before\n',
    'echo after',
    'after\n',
  ])
})

test.each([['?session_api_key=wrong'], ['?resend_mode=since']])(
  'the bash socket refuses a handshake with %s',
  async (query) => {
    await expect(connect(query)).rejects.toThrow('403')
  },
)

test('a bash socket without a key must present one in its first frame', async () => {
  await using good = await connect('', {})
  good.socket.send(JSON.stringify({ type: 'auth', session_api_key: KEY }))
  good.socket.send(JSON.stringify({ command: 'echo introduced' }))
  await good.next((frame) => frame.stdout === 'introduced\n')
  await using bad = await connect('', {})
  const closed = new Promise<number>((resolve) => bad.socket.once('close', resolve))
  bad.socket.send(JSON.stringify({ type: 'auth', session_api_key: 'wrong' }))
  expect(await closed).toBe(4001)
})
