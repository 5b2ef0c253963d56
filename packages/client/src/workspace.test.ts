import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, startTestServer, type TestServer } from '../../server/testing/server.ts'
import { WorkspaceClient } from './workspace.ts'

let server: TestServer
let client: WorkspaceClient

beforeAll(async () => {
  server = await startTestServer()
  client = new WorkspaceClient({ baseUrl: server.url, apiKey: KEY })
})
afterAll(() => server[Symbol.asyncDispose]())

test('a command of a workspace runs to its end, however much it prints', async () => {
  const short = await client.execute('echo out; echo err >&2; pwd; exit 3', { cwd: '/usr' })
  expect(short).toEqual({ exit_code: 3, stdout: 'out\n/usr\n', stderr: 'err\n' })
  const long = await client.execute('seq 1 400000; seq 1 200000 >&2')
  expect([long.stdout.length, long.stderr.length]).toEqual([2_688_895, 1_288_895])
  expect(long.stdout).toMatch(/^1\n2\n[^]*\n400000\n$/)
  expect((await client.execute('sleep 5', { timeout: 1 })).exit_code).toBe(-1)
})

test('the outputs of a started command can be read while it runs', async () => {
  const command = await client.start('echo hi; exit 2')
  for (;;) {
    const outputs = await client.outputs(command.id, -1)
    const last = outputs.at(-1)
    if (last === undefined || last.exit_code === null) continue
    expect(last).toMatchObject({ exit_code: 2, stdout: 'hi\n', order: 0 })
    expect(await client.outputs(command.id, 0)).toEqual([])
    break
  }
})

test('an uploaded file is downloaded with every byte', async () => {
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256)
  const path = server.dir.file('new', 'bytes')
  await client.upload(path, bytes)
  expect(await client.download(path)).toEqual(bytes)
  await expect(client.download(server.dir.file('new', 'none'))).rejects.toMatchObject({ status: 404 })
  const stranger = new WorkspaceClient({ baseUrl: server.url, apiKey: 'another' })
  await expect(stranger.execute('true')).rejects.toMatchObject({ status: 401 })
  expect((await stranger.info()).version).toMatch(/^\d+\.\d+\.\d+/)
})
