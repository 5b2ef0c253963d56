import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openPreflight, readConfig } from '@parley/server'
import { CHECKS, type Place } from './checks.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-doctor-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

function place(flags: Record<string, string> = {}, env: Record<string, string | undefined> = {}): Place {
  const { config } = readConfig({ flags: { 'data-dir': folder, port: '0', ...flags }, env: {}, cwd: '/', home: folder })
  return { config, env: { PATH: process.env['PATH'], ...env } }
}

const check = (name: string, at: Place) => CHECKS.find(([known]) => known === name)![1](at)

test('parley doctor finds every requirement on this machine and leaves no file behind', async () => {
  const dataDir = join(folder, 'not', 'yet')
  for (const [name, look] of CHECKS) {
    expect({ name, ...(await look(place({ 'data-dir': dataDir }))) }).not.toMatchObject({ level: 'fail' })
  }
  expect(await readdir(folder)).toEqual([])
})

test('parley doctor warns of a data directory that others can read', async () => {
  await chmod(folder, 0o755)
  expect(await check('data directory', place())).toMatchObject({ level: 'warn', remedy: `chmod 700 ${folder}` })
  await chmod(folder, 0o700)
  expect(await check('data directory', place())).toMatchObject({ level: 'ok' })
})

test('parley doctor warns of a configured key that can be guessed', async () => {
  const at = (key: string): Place => ({
    ...place(),
    config: { ...place().config, sessionApiKeys: [key] },
  })
  expect(await check('keys', at('x'.repeat(15)))).toMatchObject({
    level: 'warn',
    remedy: expect.stringContaining('openssl'),
  })
  expect(await check('keys', at('x'.repeat(16)))).toEqual({ level: 'ok', says: '1 configured' })
})

test('parley doctor fails when the data directory is a file', async () => {
  await writeFile(join(folder, 'file'), '')
  expect(await check('data directory', place({ 'data-dir': join(folder, 'file') }))).toMatchObject({ level: 'fail' })
})

test('parley doctor fails without a shell and warns without git', async () => {
  expect(await check('bash', place({}, { PATH: folder }))).toMatchObject({ level: 'fail', says: 'bash is not in PATH' })
  expect(await check('git', place({}, { PATH: folder }))).toMatchObject({ level: 'warn', says: 'git is not in PATH' })
})

test('parley doctor says what an agent can do without bubblewrap', async () => {
  const finding = await check('isolation', place({}, { PATH: folder }))
  expect(finding.level).toBe('warn')
  expect(finding.says).toMatch(/commands of an agent can do what this user can do/)
})

test('parley doctor says whether processes can survive their conversation', async () => {
  const { level, reason } = (await openPreflight()).probeProcessTracking()
  const finding = await check('processes', place())
  if (level === 'cgroup') expect(finding).toEqual({ level: 'ok', says: 'each conversation has a control group' })
  else expect(finding).toMatchObject({ level: 'warn', says: expect.stringContaining(reason!) })
})

test('parley doctor fails on a taken port, unless Parley itself uses it', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const at = place({ port: String(port) })
    expect(await check('port', at)).toMatchObject({ level: 'fail', says: `127.0.0.1:${port} is taken` })
    await writeFile(join(folder, 'server.json'), JSON.stringify({ url: `http://127.0.0.1:${port}`, pid: process.pid }))
    expect(await check('port', at)).toMatchObject({ level: 'ok' })
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

test('parley doctor fails on a runner folder that others can enter, and accepts a path too long for a socket', async () => {
  await mkdir(join(folder, 'runner'), { mode: 0o755 })
  await chmod(join(folder, 'runner'), 0o755)
  expect(await check('runner socket', place())).toMatchObject({ level: 'fail' })
  const deep = join(folder, 'x'.repeat(100))
  expect(await check('runner socket', place({ 'data-dir': deep }))).toMatchObject({ level: 'ok' })
})
