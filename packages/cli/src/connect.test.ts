import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findTarget } from './connect.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-connect-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

const LOCAL = 'http://127.0.0.1:8123'

async function localServer(pid = process.pid): Promise<void> {
  await writeFile(join(dataDir, 'server.json'), JSON.stringify({ url: LOCAL, pid }))
  await writeFile(join(dataDir, 'first-key'), 'the-first-key\n')
}

const find = (flags: Record<string, string>, env: Record<string, string> = {}) =>
  findTarget(flags, { env: { PARLEY_DATA_DIR: dataDir, ...env }, cwd: '/', home: '/nowhere' })

test('a command finds the server of this machine by its data directory, with its first key', async () => {
  await localServer()
  expect(await find({})).toEqual({ baseUrl: LOCAL, apiKey: 'the-first-key' })
})

test('a command prefers a configured key to the first key', async () => {
  await localServer()
  expect(await find({}, { SESSION_API_KEY: 'configured' })).toEqual({ baseUrl: LOCAL, apiKey: 'configured' })
})

test('a command prefers flags to the environment, and the environment to the server of this machine', async () => {
  await localServer()
  const env = { PARLEY_URL: 'http://env.example', PARLEY_API_KEY: 'env-key' }
  expect(await find({ url: 'http://flag.example', key: 'flag-key' }, env)).toEqual({
    baseUrl: 'http://flag.example',
    apiKey: 'flag-key',
  })
  expect(await find({}, env)).toEqual({ baseUrl: 'http://env.example', apiKey: 'env-key' })
})

test('a key found on this machine is never sent to another address', async () => {
  await localServer()
  expect(await find({ url: 'http://other.example' }, { SESSION_API_KEY: 'configured' })).toEqual({
    baseUrl: 'http://other.example',
    apiKey: undefined,
  })
  expect(await find({ url: `${LOCAL}/` })).toEqual({ baseUrl: `${LOCAL}/`, apiKey: 'the-first-key' })
})

test('the error without a server says how to name or start one', async () => {
  await expect(find({})).rejects.toThrow(/no server is running.*parley serve.*--url/)
})

test('a server that was killed does not count as running', async () => {
  // The largest possible process id on Linux is 2^22.
  await localServer(2 ** 22 + 1)
  await expect(find({})).rejects.toThrow(/no server is running/)
})

test.each(['127.0.0.1:8000', 'ftp://x', ''])('"%s" is refused as an address', async (url) => {
  await localServer()
  await expect(find({ url, key: 'k' })).rejects.toThrow(/is no address of a server/)
})
