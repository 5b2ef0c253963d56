/** What replacing the sealing key changes and refuses: docs/operations.md, Replacing the sealing key. Kills: `test/crash/rekey.test.ts`. */
import { createHash, hkdfSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { conversation, messages } from '../../testing/store-fixtures.ts'
import { restoreRelease, RELEASE_KEY } from '../../testing/release-data.ts'
import { tempDir, type TempDir } from '../../testing/temp.ts'
import { openStoreCipher, type Cipher } from '../secrets/index.ts'
import { lockDataDir, openSqlite } from '../storage/index.ts'
import { restore } from './backup/restore.ts'
import { rekey, type RekeyRequest } from './rekey.ts'

const SERVERS_KEY = 'sk-of-the-server-1'
const NEW_KEY = 'a passphrase of the operator'

/** A data directory with a sealed value in a secret, in settings and in a record. */
async function made(dir: TempDir, keyText?: string) {
  const dataDir = dir.file('data')
  await using storage = await openSqlite({ path: join(dataDir, 'parley.db') })
  const cipher = await openStoreCipher(storage.sealTest, keyOptions(dataDir, keyText))
  await storage.secrets.create('ada', { name: 'TOKEN', description: null, sealed: cipher.seal('a secret') })
  await storage.settings.update('ada', () =>
    JSON.stringify({ agents: { openhands: { llm: { api_key: cipher.seal('mine') } } } }),
  )
  const record = JSON.stringify({ agent: { llm: { model: 'm', api_key: cipher.seal(SERVERS_KEY) } } })
  const row = conversation({ status: 'finished', record, events: messages(2) })
  await storage.conversations.create(row)
  return { dataDir, id: row.id, earlier: cipher }
}

const keyOptions = (dataDir: string, keyText?: string) => ({
  ...(keyText === undefined ? {} : { keyText }),
  keyFile: join(dataDir, 'secret-key'),
  replaces: false,
})
const configOf = (dataDir: string, secretKey: string | null = null, apiKey: string | null = null) => ({
  dataDir,
  databaseUrl: null,
  secretKey,
  replaceSecretKey: false,
  llm: { model: null, apiKey, baseUrl: null },
})
const REQUEST: RekeyRequest = { newKey: null, backup: null, progress: () => undefined }

/** The stored values, opened. */
async function valuesOf(dataDir: string, id: string, keyText?: string): Promise<string[]> {
  await using storage = await openSqlite({ path: join(dataDir, 'parley.db') })
  const cipher = await openStoreCipher(storage.sealTest, keyOptions(dataDir, keyText))
  const texts = [
    (await storage.secrets.get('ada', 'TOKEN'))!.sealed,
    (await storage.settings.get('ada'))!,
    (await storage.conversations.get(id as never))!.record,
  ]
  return texts.map((text) => cipher.open(/v1:[0-9a-f]{8}:[\w-]+/.exec(text)![0]))
}

/** The bytes of the store, without what the directory has beside it. */
const storeBytes = async (dataDir: string): Promise<string> => {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('parley.db'))
  return (await Promise.all(names.map((name) => readFile(join(dataDir, name), 'latin1')))).join('\n')
}
const noneOf = async (dataDir: string, { keyId }: Cipher) =>
  expect((await storeBytes(dataDir)).includes(`v1:${keyId}:`)).toBe(false)

test('a new key file replaces the earlier one, everything is sealed with it, and no byte that the earlier key opens is left', async () => {
  await using dir = await tempDir()
  const { dataDir, id, earlier } = await made(dir)
  const before = await readFile(join(dataDir, 'secret-key'), 'utf8')
  const steps: string[] = []
  const report = await rekey(configOf(dataDir), { ...REQUEST, progress: ({ kind }) => steps.push(kind) })
  expect(report).toEqual({
    keyId: expect.any(String),
    resealed: 3,
    unreadable: 0,
    keyFile: join(dataDir, 'secret-key'),
    notCompacted: null,
  })
  expect([steps[0], steps.at(-1)]).toEqual(['key_written', 'committed'])
  expect(await readFile(join(dataDir, 'secret-key'), 'utf8')).not.toBe(before)
  expect((await readdir(dataDir)).filter((name) => name.startsWith('secret-key'))).toEqual(['secret-key'])
  expect(await valuesOf(dataDir, id)).toEqual(['a secret', 'mine', SERVERS_KEY])
  await noneOf(dataDir, earlier)
  await writeFile(join(dataDir, 'secret-key'), before)
  await expect(valuesOf(dataDir, id)).rejects.toThrow('is not the one of the store')
})

test('a configured key is replaced by another text, and a key file by a configured one', async () => {
  await using dir = await tempDir()
  const { dataDir, id, earlier } = await made(dir, 'the earlier text')
  const configured = await rekey(configOf(dataDir, 'the earlier text'), { ...REQUEST, newKey: NEW_KEY })
  expect(configured).toMatchObject({ resealed: 3, keyFile: null })
  expect(await valuesOf(dataDir, id, NEW_KEY)).toEqual(['a secret', 'mine', SERVERS_KEY])
  await noneOf(dataDir, earlier)

  await using other = await tempDir()
  const file = await made(other)
  await rekey(configOf(file.dataDir), { ...REQUEST, newKey: NEW_KEY })
  expect(existsSync(join(file.dataDir, 'secret-key'))).toBe(false)
  expect(await valuesOf(file.dataDir, file.id, NEW_KEY)).toEqual(['a secret', 'mine', SERVERS_KEY])
})

test('records with the model key of the server get the reference to it', async () => {
  await using dir = await tempDir()
  const { dataDir, id } = await made(dir)
  await rekey(configOf(dataDir, null, SERVERS_KEY), REQUEST)
  expect(await valuesOf(dataDir, id)).toEqual(['a secret', 'mine', 'credential:server'])
})

test('a backup before has the earlier key beside it, and can be restored', async () => {
  await using dir = await tempDir()
  const { dataDir, id } = await made(dir)
  const backup = dir.file('backup')
  await rekey(configOf(dataDir), { ...REQUEST, backup })
  const restored = dir.file('restored')
  await restore(configOf(restored), { source: backup, keyFile: `${backup}.key` })
  expect(await valuesOf(restored, id)).toEqual(['a secret', 'mine', SERVERS_KEY])
  await expect(rekey(configOf(dataDir), { ...REQUEST, backup })).rejects.toThrow('exists already')
  expect(await valuesOf(dataDir, id)).toEqual(['a secret', 'mine', SERVERS_KEY])
})

test('a directory in use, a wrong key, and an unusable new key are refused, and nothing changes', async () => {
  await using dir = await tempDir()
  const { dataDir, id } = await made(dir)
  {
    await using _server = await lockDataDir(dataDir)
    await expect(rekey(configOf(dataDir), REQUEST)).rejects.toThrow('is in use by the server with pid')
  }
  const cases: [string | null, string | null, string][] = [
    ['another text', NEW_KEY, 'is not the one of the store'],
    ['another text', null, 'name it with --new-key FILE'],
    ['another text', 'another text', 'contains the key that the store has already'],
    [null, ' ', 'is blank'],
  ]
  for (const [secretKey, newKey, message] of cases)
    await expect(rekey(configOf(dataDir, secretKey), { ...REQUEST, newKey })).rejects.toThrow(message)
  await expect(rekey(configOf(dir.file('none')), REQUEST)).rejects.toThrow('there is no store')
  expect(await valuesOf(dataDir, id)).toEqual(['a secret', 'mine', SERVERS_KEY])
})

test('the data of version 0.1.0, sealed with the hash of a text, is sealed with the new key', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  await restoreRelease('0.1.0', { dataDir, model: 'http://127.0.0.1:9', work: dir.file('work') })
  const report = await rekey(configOf(dataDir, RELEASE_KEY), { ...REQUEST, newKey: NEW_KEY })
  expect(report.unreadable).toBe(0)
  expect(report.resealed).toBeGreaterThan(10)
  const hash = createHash('sha256').update(RELEASE_KEY).digest()
  const keyId = Buffer.from(hkdfSync('sha256', hash, '', 'parley key id', 4)).toString('hex')
  await noneOf(dataDir, { keyId } as Cipher)
})
