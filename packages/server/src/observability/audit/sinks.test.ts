import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { openAuditFile, openAuditSyslog } from '../index.ts'
import { CHAIN_START, checkChain } from './chain.ts'

type Logged = { level: string; message: string }
function recordingLog() {
  const logged: Logged[] = []
  const at = (level: string) => (_fields: object, message: string) => void logged.push({ level, message })
  return { logged, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n')
}
const checked = async (path: string, end: string | null = null) =>
  checkChain(linesOf(await readFile(path, 'utf8')), end)
const record = (n: number) => ({ at: new Date(n).toISOString(), user: 'ann', count: n })

test('records are appended as a chain, which continues after a restart, a cut line and a moved file', async () => {
  await using dir = await tempDir()
  const path = dir.file('audit.jsonl')
  const { log } = recordingLog()
  for (const n of [1, 2]) {
    const sink = openAuditFile(path, log)
    sink.write(record(n))
    await sink.close()
  }
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  await appendFile(path, '{"cut off')
  const sink = openAuditFile(path, log)
  sink.write(record(3))
  await expect.poll(async () => (await checked(path)).records).toBe(3)
  const first = await checked(path)
  expect(first).toMatchObject({
    begin: CHAIN_START,
    unreadable: [3],
    breaks: [],
    first: record(1).at,
    last: record(3).at,
  })
  await rename(path, dir.file('old'))
  sink.write(record(4))
  await sink.close()
  expect(await checked(path, first.end)).toMatchObject({ records: 1, begin: first.end, breaks: [] })
})

test.each<[string, (lines: string[]) => string[]]>([
  ['changed', (lines) => lines.map((line, index) => (index === 1 ? line.replace('ann', 'bob') : line))],
  ['removed', (lines) => lines.filter((_, index) => index !== 1)],
  ['inserted', (lines) => [...lines.slice(0, 2), ...lines.slice(0, 1), ...lines.slice(2)]],
])('a line that was %s breaks the chain', async (_, change) => {
  await using dir = await tempDir()
  const path = dir.file('audit.jsonl')
  const sink = openAuditFile(path, recordingLog().log)
  for (const n of [1, 2, 3]) sink.write(record(n))
  await sink.close()
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  await writeFile(path, change(lines).join('\n'))
  expect((await checked(path)).breaks.length).toBeGreaterThan(0)
})

test('a file that cannot be written is reported once, and gets its records when it can be', async () => {
  await using dir = await tempDir()
  const path = dir.file('folder', 'audit.jsonl')
  const { logged, log } = recordingLog()
  const sink = openAuditFile(path, log)
  sink.write(record(1))
  await expect.poll(() => logged.length).toBe(1)
  sink.write(record(2))
  await mkdir(dir.file('folder'))
  await expect.poll(async () => (await checked(path).catch(() => null))?.records, { timeout: 10_000 }).toBe(2)
  await sink.close()
  expect(logged).toEqual([
    { level: 'error', message: 'audit sink failed; it is tried again' },
    { level: 'info', message: 'audit sink works again' },
  ])
})

test('records that a sink could not deliver in time are dropped, oldest first, and counted in a record', async () => {
  await using dir = await tempDir()
  const path = dir.file('audit.jsonl')
  await mkdir(path)
  const { logged, log } = recordingLog()
  const sink = openAuditFile(path, log)
  sink.write(record(1))
  await expect.poll(() => logged.length).toBe(1)
  for (let n = 2; n <= 10_007; n++) sink.write(record(n))
  await rm(path, { recursive: true })
  await expect.poll(async () => (await checked(path).catch(() => null))?.records ?? 0, { timeout: 20_000 }).toBe(10_002)
  await sink.close()
  const lines = (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.filter(({ action }) => action === 'LOST')).toMatchObject([{ count: 6 }])
})

test('a stop waits for an unreachable sink two seconds at most, and reports what it has', async () => {
  await using dir = await tempDir()
  const { logged, log } = recordingLog()
  const sink = openAuditFile(dir.path, log)
  sink.write(record(1))
  await expect.poll(() => logged.length).toBe(1)
  await sink.close()
  expect(logged.at(-1)).toEqual({ level: 'error', message: 'audit records not delivered before the stop' })
})

const SYSLOG = /^<(\d+)>1 (\S+) \S+ parley \d+ AUDIT - (.*)$/

test('syslog over UDP gets one datagram for each record', async () => {
  const server = createSocket('udp4')
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  const got: string[] = []
  server.on('message', (message) => got.push(message.toString()))
  const sink = openAuditSyslog({ protocol: 'udp', host: '127.0.0.1', port: server.address().port }, recordingLog().log)
  sink.write({ ...record(1), status: 200 })
  sink.write({ ...record(2), status: 403 })
  await expect.poll(() => got.length).toBe(2)
  await sink.close()
  server.close()
  const parts = got.map((text) => SYSLOG.exec(text)?.slice(1))
  expect(parts.map((part) => part?.slice(0, 2))).toEqual([
    ['86', record(1).at],
    ['84', record(2).at],
  ])
  expect(JSON.parse(parts[0]?.[2] ?? '')).toEqual({ ...record(1), status: 200 })
})

test('syslog over TCP gets counted frames, also from a server that was away', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as { port: number }
  free.close()
  await once(free, 'close')
  const { logged, log } = recordingLog()
  const sink = openAuditSyslog({ protocol: 'tcp', host: '127.0.0.1', port }, log)
  sink.write(record(1))
  await expect.poll(() => logged.length).toBe(1)
  let text = ''
  const server = createServer((socket) => socket.on('data', (data) => (text += data.toString()))).listen(
    port,
    '127.0.0.1',
  )
  await once(server, 'listening')
  await expect.poll(() => text, { timeout: 10_000 }).toMatch(/\}$/)
  await sink.close()
  server.close()
  const [, length, message = ''] = /^(\d+) (.*)$/s.exec(text) ?? []
  expect(Number(length)).toBe(Buffer.byteLength(message))
  expect(message).toMatch(SYSLOG)
})
