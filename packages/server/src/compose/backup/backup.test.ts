/** What a backup contains, and which ones are refused: docs/operations.md, Backup. Running servers: `test/crash/backup.test.ts`. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { conversation, messages } from '../../../testing/store-fixtures.ts'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { openStoreCipher } from '../../secrets/index.ts'
import { lockDataDir, openSqlite, SCHEMA_VERSION } from '../../storage/index.ts'
import { backUp, type BackupRequest } from './back-up.ts'
import { restore } from './restore.ts'

const RECORD = (dataDir: string) => ({
  workspace: { kind: 'LocalWorkspace', working_dir: join(dataDir, 'workspaces', 'c1') },
  other: [`${dataDir}-other/x`, 'v1:not a path'],
})

/** A data directory as a server leaves it, with one conversation that is running and one that is not. */
async function made(dir: TempDir) {
  const path = dir.file('data')
  const [running, resting] = [
    conversation({ status: 'running', record: JSON.stringify(RECORD(path)), events: messages(3) }),
    conversation({ status: 'finished', record: 'damaged', events: messages(2) }),
  ]
  {
    await using storage = await openSqlite({ path: join(path, 'parley.db') })
    for (const each of [running, resting]) await storage.conversations.create(each)
    const cipher = await openStoreCipher(storage.sealTest, { keyFile: join(path, 'secret-key'), replaces: false })
    const root = join(path, 'workspaces', 'c1')
    await storage.workspaces.put({ root, owner: 'ada', kind: 'folder', inode: '1', repository: null })
    await storage.secrets.create('ada', { name: 'TOKEN', description: null, sealed: cipher.seal('opened again') })
  }
  const files = {
    'first-key': 'a key\n',
    'conversations/c1/terminal/1.txt': 'a full output',
    'conversations/c1/acp/claude/login.json': 'a login',
    'prompts/own.md': 'a prompt',
    'callbacks/1.json': '{}',
    'runner/ledger.ndjson': '{"t":"ledger","id":"one"}\n',
    'runner/ledger-p5.ndjson': '{"t":"ledger","id":"two"}\n',
    'runner/out-p5/2.out': 'another output',
    'runner/mark': '7',
    'runner/runner.log': 'a log',
    'runner/out/1.out': 'an output',
    'runner/boxes/b1/kept/2.txt': 'a kept output',
    'runner/boxes/b1/home/.cache/x': 'a cache',
    'runner/boxes/b1/home/acp/codex/login.json': 'another login',
    'users/ada/notes.txt': 'a note',
    'workspaces/c1/run.sh': '#!/bin/sh\n',
    'a note of the operator': '',
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true, mode: 0o700 })
    await writeFile(join(path, name), text)
  }
  return { path, running, resting }
}

const config = (dataDir: string, members: { secretKey?: string; replaceSecretKey?: boolean } = {}) => ({
  dataDir,
  databaseUrl: null,
  secretKey: members.secretKey ?? null,
  replaceSecretKey: members.replaceSecretKey ?? false,
})
const request = (dir: TempDir, members: Partial<BackupRequest> = {}): BackupRequest => ({
  target: dir.file('backup'),
  keyFile: dir.file('key'),
  withWorkspaces: false,
  ...members,
})

/** Paths of all files, without the side files that SQLite makes for readers. */
async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory() && !/\.db-(?:wal|shm)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}

test('a backup contains the store, the records of calls and the folders of the log, and neither keys nor logins', async () => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  const report = await backUp(config(path), request(dir))
  const expected = [
    'callbacks/1.json',
    'conversations/c1/terminal/1.txt',
    'parley.db',
    'prompts/own.md',
    'runner/boxes/b1/kept/2.txt',
    'runner/ledger-p5.ndjson',
    'runner/ledger.ndjson',
    'runner/out-p5/2.out',
    'runner/out/1.out',
  ]
  expect(await filesOf(dir.file('backup'))).toEqual([...expected.map((name) => `data/${name}`), 'manifest.ndjson'])
  expect(report).toMatchObject({ files: expected.length, leftOut: [], keyToKeep: null })
  expect(await readFile(dir.file('key'), 'utf8')).toBe(await readFile(join(path, 'secret-key'), 'utf8'))
  expect((await lstat(dir.file('key'))).mode & 0o777).toBe(0o600)
  expect((await lstat(dir.file('backup'))).mode & 0o777).toBe(0o700)
})

test('a restored directory has the modes and links of the workspaces, and reads its secrets with the key', async () => {
  await using dir = await tempDir()
  const { path, running, resting } = await made(dir)
  await chmod(join(path, 'workspaces/c1/run.sh'), 0o755)
  await mkdir(join(path, 'workspaces/c1/read-only'))
  await symlink(join(path, 'secret-key'), join(path, 'workspaces/c1/read-only/link'))
  await chmod(join(path, 'workspaces/c1/read-only'), 0o555)
  await using socket = createServer().listen(join(path, 'workspaces/c1/socket'))
  await once(socket, 'listening')
  await writeFile(join(path, 'workspaces/c1/unreadable'), '', { mode: 0o000 })
  const { leftOut } = await backUp(config(path), request(dir, { withWorkspaces: true }))
  expect(leftOut.map((left) => left.path).toSorted()).toEqual([
    'workspaces/c1/socket',
    ...(process.getuid?.() === 0 ? [] : ['workspaces/c1/unreadable']),
  ])

  const to = dir.file('restored')
  const report = await restore(config(to), { source: dir.file('backup'), keyFile: dir.file('key') })
  expect(report).toMatchObject({ paused: 1, hasWorkspaces: true })
  expect((await lstat(join(to, 'workspaces/c1/run.sh'))).mode & 0o777).toBe(0o755)
  expect((await lstat(join(to, 'workspaces/c1/read-only'))).mode & 0o777).toBe(0o555)
  expect(await readlink(join(to, 'workspaces/c1/read-only/link'))).toBe(join(path, 'secret-key'))
  expect(await filesOf(to)).toEqual(
    expect.arrayContaining(['conversations/c1/acp/claude/login.json', 'runner/boxes/b1/home/acp/codex/login.json']),
  )
  expect(await readdir(to)).not.toContain('restoring')

  await using storage = await openSqlite({ path: join(to, 'parley.db') })
  const keyFile = join(to, 'secret-key')
  const cipher = await openStoreCipher(storage.sealTest, { keyFile, replaces: false })
  expect(cipher.open((await storage.secrets.get('ada', 'TOKEN'))!.sealed)).toBe('opened again')
  expect((await lstat(keyFile)).mode & 0o777).toBe(0o600)
  // The copy never removes a directory of the original.
  expect(await storage.workspaces.containing(join(path, 'workspaces', 'c1'))).toBeNull()
  // Paths below the old data directory, and only these, are moved.
  const record = (await storage.conversations.get(running.id))!.record
  expect(JSON.parse(record)).toEqual({ ...RECORD(to), other: RECORD(path).other })
  expect((await storage.conversations.get(resting.id))!.record).toBe('damaged')
  expect((await storage.events.page(running.id, { limit: 10 })).map(({ seq }) => seq)).toEqual([1, 2, 3])
  await chmod(join(path, 'workspaces/c1/read-only'), 0o755)
  await chmod(join(to, 'workspaces/c1/read-only'), 0o755)
})

test('a store that is written meanwhile is copied as it was at one moment', async () => {
  await using dir = await tempDir()
  const { path, running } = await made(dir)
  await using storage = await openSqlite({ path: join(path, 'parley.db') })
  let seq = 3
  let isOver = false
  const writing = (async () => {
    for (; !isOver; seq += 1) {
      const events = messages(1, seq + 1)
      await storage.conversations.append({ id: running.id, epoch: 0, expectedSeq: seq, events })
    }
  })()
  await backUp(config(path), request(dir))
  const after = seq
  isOver = true
  await writing
  await restore(config(dir.file('restored')), { source: dir.file('backup'), keyFile: dir.file('key') })
  await using restored = await openSqlite({ path: dir.file('restored', 'parley.db') })
  const row = (await restored.conversations.get(running.id))!
  expect(row.seq).toBeLessThanOrEqual(after + 1)
  const stored = await restored.events.page(running.id, { limit: 100_000 })
  expect(stored.map((event) => event.seq)).toEqual(Array.from({ length: row.seq }, (_, index) => index + 1))
})

test.each<[string, (at: { dir: TempDir; path: string }) => Promise<Partial<BackupRequest>>, RegExp, string?]>([
  [
    'onto an earlier one',
    async ({ dir, path }) => {
      await backUp(config(path), request(dir, { keyFile: null }))
      return {}
    },
    /backup exists already, and a backup overwrites nothing; name another folder/,
  ],
  [
    'of a folder without a store',
    async ({ path }) => rm(join(path, 'parley.db')).then(() => ({})),
    /no store .*--data-dir/,
  ],
  [
    'into the data directory',
    async ({ path }) => ({ target: join(path, 'prompts', 'b') }),
    /inside of the data directory/,
  ],
  [
    'below a missing folder',
    async ({ dir }) => ({ target: dir.file('no', 'b') }),
    /folder .*no does not exist; make it/,
  ],
  ['with the key inside', async ({ dir }) => ({ keyFile: dir.file('backup', 'key') }), /key is inside of the backup/],
  [
    'with a key file that exists',
    async ({ dir }) => writeFile(dir.file('key'), 'another').then(() => ({})),
    /key exists already/,
  ],
  ['with the key of a setting', async () => ({}), /PARLEY_SECRET_KEY gives it; leave --key out/, 'a configured key'],
  [
    'with a key that is not the one of the store',
    async ({ path }) => writeFile(join(path, 'secret-key'), `${'x'.repeat(43)}\n`).then(() => ({})),
    /is not the one of the store/,
  ],
  [
    'of a damaged store',
    async ({ path }) => {
      const file = join(path, 'parley.db')
      const bytes = await readFile(file)
      for (let page = 8192; page < bytes.length; page += 8192) bytes.fill(0x5a, page, page + 64)
      await writeFile(file, bytes)
      return {}
    },
    /store .*parley\.db.* is damaged/,
  ],
  [
    'of the store of another program',
    async ({ path }) => {
      using database = new DatabaseSync(join(path, 'parley.db'))
      database.exec('PRAGMA application_id = 5')
      return {}
    },
    /belongs to another program/,
  ],
  [
    'of the store of a newer version',
    async ({ path }) => {
      using database = new DatabaseSync(join(path, 'parley.db'))
      database.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
      return {}
    },
    /use the newer Parley that wrote it/,
  ],
])('a backup %s is refused, and leaves nothing behind', async (_, prepare, message, secretKey) => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  const members = await prepare({ dir, path })
  const before = await filesOf(dir.path)
  const refused = backUp(config(path, secretKey === undefined ? {} : { secretKey }), request(dir, members))
  await expect(refused).rejects.toThrow(message)
  expect(await filesOf(dir.path)).toEqual(before)
})

/** Changes the manifest of a backup and corrects its checksum, as a program of another version would write it. */
async function rewritten(backup: string, change: (lines: string[]) => string[]): Promise<void> {
  const file = join(backup, 'manifest.ndjson')
  const lines = change((await readFile(file, 'utf8')).trimEnd().split('\n').slice(0, -1))
  const text = lines.map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(text).digest('hex')
  await writeFile(file, `${text}${JSON.stringify({ entries: lines.length - 1, sha256 })}\n`)
}

const header = (members: object) => (lines: string[]) => [
  JSON.stringify({ ...(JSON.parse(lines[0]!) as object), ...members }),
  ...lines.slice(1),
]
const added = (entry: object) => (lines: string[]) => [...lines, JSON.stringify(entry)]
const FILE = { type: 'file', mode: 0o600, size: 0, sha256: createHash('sha256').digest('hex') }

test.each<[string, (backup: string) => Promise<unknown>, RegExp]>([
  ['without a manifest', (backup) => rm(join(backup, 'manifest.ndjson')), /is no backup: it has no manifest\.ndjson/],
  ['that does not exist', (backup) => rm(backup, { recursive: true }), /is no backup/],
  [
    'with a truncated manifest',
    async (backup) => {
      const file = join(backup, 'manifest.ndjson')
      await truncate(file, (await lstat(file)).size - 40)
    },
    /damaged: manifest\.ndjson is incomplete or was changed; nothing was restored/,
  ],
  [
    'with a changed manifest',
    async (backup) => {
      const file = join(backup, 'manifest.ndjson')
      await writeFile(file, (await readFile(file, 'utf8')).replace('"mode":384', '"mode":511'))
    },
    /is incomplete or was changed/,
  ],
  [
    'with an empty manifest',
    (backup) => writeFile(join(backup, 'manifest.ndjson'), ''),
    /first line .* cannot be read/,
  ],
  [
    'with a truncated store',
    (backup) => truncate(join(backup, 'data/parley.db'), 8192),
    /parley\.db has 8192 bytes instead of/,
  ],
  ['without its store', (backup) => rm(join(backup, 'data/parley.db')), /parley\.db is missing/],
  [
    'without its ledger',
    (backup) => rm(join(backup, 'data/runner/ledger.ndjson')),
    /runner\/ledger\.ndjson is missing/,
  ],
  [
    'with a changed file',
    (backup) => writeFile(join(backup, 'data/prompts/own.md'), 'A prompt'),
    /prompts\/own\.md was changed: its checksum differs/,
  ],
  [
    'with a file outside of the directory',
    (backup) => rewritten(backup, added({ ...FILE, path: 'prompts/../../escaped' })),
    /names paths that no backup contains/,
  ],
  [
    'with a file that belongs to no backup',
    (backup) => rewritten(backup, added({ ...FILE, path: 'secret-key' })),
    /names paths that no backup contains/,
  ],
  [
    'of a newer format',
    (backup) => rewritten(backup, header({ format_version: 2, parley_version: '9.1' })),
    /has format 2, this Parley knows 1: restore it with Parley 9\.1 or later/,
  ],
  [
    'of a newer schema',
    (backup) => rewritten(backup, header({ schema_version: SCHEMA_VERSION + 1, parley_version: '9.1' })),
    /this Parley knows up to .*: restore it with Parley 9\.1/,
  ],
])('a backup %s is refused, and nothing is written', async (_, damage, message) => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  await backUp(config(path), request(dir))
  await damage(dir.file('backup'))
  const refused = restore(config(dir.file('restored')), { source: dir.file('backup'), keyFile: dir.file('key') })
  await expect(refused).rejects.toThrow(message)
  expect(existsSync(dir.file('restored'))).toBe(false)
})

test('a file that appears below a link of the backup is not written through it', async () => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  await backUp(config(path), request(dir))
  await mkdir(dir.file('elsewhere'))
  await mkdir(dir.file('backup', 'data', 'prompts', 'link'))
  await writeFile(dir.file('backup', 'data', 'prompts', 'link', 'x'), '')
  await rewritten(dir.file('backup'), (lines) => [
    ...lines,
    JSON.stringify({ path: 'prompts/link', type: 'link', target: dir.file('elsewhere') }),
    JSON.stringify({ ...FILE, path: 'prompts/link/x' }),
  ])
  const refused = restore(config(dir.file('restored')), { source: dir.file('backup'), keyFile: dir.file('key') })
  await expect(refused).rejects.toThrow()
  expect(await readdir(dir.file('elsewhere'))).toEqual([])
  expect(await readdir(dir.file('restored'))).toEqual(['server.lock'])
})

test('a restore is refused without the key, with another one and with two, and a lost key is given up explicitly', async () => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  const { keyToKeep } = await backUp(config(path), request(dir, { keyFile: null }))
  expect(keyToKeep).toBe(join(path, 'secret-key'))
  const to = dir.file('restored')
  const source = dir.file('backup')
  const keyFile = dir.file('another')
  await expect(restore(config(to), { source, keyFile })).rejects.toThrow(/there is no key file .*another/)
  await writeFile(keyFile, `${'x'.repeat(43)}\n`)
  await expect(restore(config(to), { source, keyFile: null })).rejects.toThrow(/--key FILE, or with PARLEY_SECRET_KEY/)
  await expect(restore(config(to), { source, keyFile })).rejects.toThrow(/is not the one of the store/)
  await expect(restore(config(to, { secretKey: 'other' }), { source, keyFile: null })).rejects.toThrow(/not the one/)
  await expect(restore(config(to, { secretKey: 'other' }), { source, keyFile })).rejects.toThrow(
    /leave one of them out/,
  )
  expect(existsSync(to)).toBe(false)
  await restore(config(to, { replaceSecretKey: true }), { source, keyFile: null })
  expect(existsSync(join(to, 'secret-key'))).toBe(false)
})

test('a restore is refused in a directory that is not empty, in use or half restored, and no server starts on the last', async () => {
  await using dir = await tempDir()
  const { path } = await made(dir)
  await backUp(config(path), request(dir))
  const given = { source: dir.file('backup'), keyFile: dir.file('key') }
  await expect(restore(config(path), given)).rejects.toThrow(/is not empty: it contains .*; name a new directory/)

  const to = dir.file('restored')
  await mkdir(to)
  {
    await using _lock = await lockDataDir(to)
    await expect(restore(config(to), given)).rejects.toThrow(/in use by the server with pid/)
  }
  await mkdir(join(to, 'restoring'))
  await expect(lockDataDir(to)).rejects.toThrow(/was cut off or is in progress; .* empty the directory/)
  await expect(restore(config(to), given)).rejects.toThrow(/contains restoring/)
  await rm(join(to, 'restoring'), { recursive: true })
  await restore(config(to), given)
  await using _lock = await lockDataDir(to)
})
