/** A kill at any point of replacing the sealing key leaves a store that one of the two keys opens, and that the next start uses. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readConfig, rekey } from '../../packages/server/src/index.ts'
import { openStoreCipher, settleKeyFile } from '../../packages/server/src/secrets/index.ts'
import { openSqlite } from '../../packages/server/src/storage/index.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const PROGRAM = join(import.meta.dirname, '../../packages/server/testing/rekey-until.ts')
const NAMES = Array.from({ length: 20 }, (_, n) => `SECRET_${n}`)
const valueOf = (name: string) => `the value of ${name}`
const NEW_KEY = 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'

const run = promisify(execFile)
/** Resolves to the printed number of steps, or to null when the program was killed. */
const until = (dataDir: string, step: number | string, ...newKey: string[]): Promise<string | null> =>
  run(process.execPath, [PROGRAM, dataDir, String(step), ...newKey], { env: { PATH: process.env['PATH'] } }).then(
    ({ stdout }) => stdout.trim(),
    (error: { signal?: string; stderr?: string }) => {
      expect([error.signal, error.stderr]).toEqual(['SIGKILL', ''])
      return null
    },
  )

/** A data directory with secrets of a user, as a stopped server leaves it. */
async function made(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await using storage = await openSqlite({ path: join(dataDir, 'parley.db') })
  const cipher = await openStoreCipher(storage.sealTest, { keyFile: join(dataDir, 'secret-key'), replaces: false })
  for (const name of NAMES)
    await storage.secrets.create('default', { name, description: null, sealed: cipher.seal(valueOf(name)) })
}

/** Opens every secret as the next start would; `keyTexts`: configured keys, of which one must fit; none: the key file. */
async function expectReadable(dataDir: string, keyTexts: readonly string[] = []): Promise<void> {
  await using storage = await openSqlite({ path: join(dataDir, 'parley.db') })
  const keyFile = join(dataDir, 'secret-key')
  await settleKeyFile(keyFile, storage.sealTest)
  const open = (key: object) => openStoreCipher(storage.sealTest, { ...key, keyFile, replaces: false })
  const tried = [{}, ...keyTexts.map((keyText) => ({ keyText }))].map((key) => open(key).catch(() => null))
  const [cipher, ...others] = (await Promise.all(tried)).filter((one) => one !== null)
  expect(others).toEqual([])
  const rows = await storage.secrets.list('default')
  expect(Object.fromEntries(rows.map(({ name, sealed }) => [name, cipher!.open(sealed)]))).toEqual(
    Object.fromEntries(NAMES.map((name) => [name, valueOf(name)])),
  )
}

test('a kill after any step of a new key file leaves the store readable, and the command can be repeated', async () => {
  await using dir = await tempDir()
  const original = dir.file('original')
  await made(original)
  const whole = dir.file('whole')
  await cp(original, whole, { recursive: true })
  const steps = Number(await until(whole, 'none'))
  await expectReadable(whole)
  // The key, one step for every table of the store, and the commit.
  expect(steps).toBeGreaterThan(20)
  // The steps of single tables are alike: they are inside of one transaction.
  for (const step of [1, 2, 3, Math.floor(steps / 2), steps - 1, steps]) {
    const dataDir = dir.file(`killed-${step}`)
    await cp(original, dataDir, { recursive: true })
    expect(await until(dataDir, step)).toBeNull()
    await expectReadable(dataDir)
    const left = (await readdir(dataDir)).filter((name) => name.startsWith('secret-key'))
    expect(left).toEqual(['secret-key'])
    const { config } = readConfig({ flags: { 'data-dir': dataDir }, env: {}, cwd: '/', home: '/' })
    expect(await rekey(config, { newKey: null, backup: null, progress: () => undefined })).toMatchObject({
      resealed: 20,
    })
    await expectReadable(dataDir)
  }
}, 60_000)

test('a kill after any step of a configured key leaves the store with the earlier key or the new one', async () => {
  await using dir = await tempDir()
  const original = dir.file('original')
  await made(original)
  for (const step of [1, 2, 25, 'none']) {
    const dataDir = dir.file(`killed-${step}`)
    await cp(original, dataDir, { recursive: true })
    await until(dataDir, step, NEW_KEY)
    await expectReadable(dataDir, [NEW_KEY])
  }
}, 60_000)

test('a kill at any time leaves a store on which the next server starts', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await made(dataDir)
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, [PROGRAM, dataDir, 'none'], {
      env: { PATH: process.env['PATH'] },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    // Most of the time is the start of the program; the kills spread over the rest.
    const timer = setTimeout(() => child.kill('SIGKILL'), 150 + round * 40)
    await ended
    clearTimeout(timer)
    await expectReadable(dataDir)
  }
  await using server = await startServerProcess({ dataDir })
  for (const name of NAMES.slice(0, 3)) {
    const answer = await fetch(`${server.url}/api/settings/secrets/${name}`, {
      headers: { 'X-Session-API-Key': TEST_KEY },
    })
    expect(await answer.text()).toBe(valueOf(name))
  }
}, 60_000)
