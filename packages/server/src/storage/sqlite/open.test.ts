import { chmod, stat, writeFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { SCHEMA_VERSION } from './migrations.ts'
import { connect, openSqlite } from './open.ts'

const pragma = (database: DatabaseSync, name: string) =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
const modeOf = async (path: string) => (await stat(path)).mode & 0o777

describe('a new store', () => {
  test('a new store and its side files are accessible to the owner only', async () => {
    await using dir = await tempDir()
    const path = dir.file('deep', 'data', 'parley.db')
    await using _storage = await openSqlite({ path })
    expect(await modeOf(dir.file('deep', 'data'))).toBe(0o700)
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(await modeOf(file)).toBe(0o600)
  })

  test('a new store syncs each commit and has pages of 8 KiB', async () => {
    await using dir = await tempDir()
    const { database } = connect(dir.file('parley.db'))
    const found = Object.fromEntries(
      ['page_size', 'journal_mode', 'synchronous', 'foreign_keys', 'user_version'].map((name) => [
        name,
        pragma(database, name),
      ]),
    )
    database.close()
    expect(found).toEqual({
      page_size: 8192,
      journal_mode: 'wal',
      synchronous: 2,
      foreign_keys: 1,
      user_version: SCHEMA_VERSION,
    })
  })

  test('a store in memory creates no file', async () => {
    await using storage = await openSqlite({ path: ':memory:' })
    await storage.settings.update('ada', () => 'x')
    expect(await storage.settings.get('ada')).toBe('x')
    await using other = await openSqlite({ path: ':memory:' })
    expect(await other.settings.get('ada')).toBeNull()
  })
})

describe('an existing file', () => {
  test('an existing store file that others could read becomes private, and its directory stays unchanged', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    await chmod(dir.path, 0o755)
    await writeFile(path, '', { mode: 0o644 })
    await using _storage = await openSqlite({ path })
    expect(await modeOf(path)).toBe(0o600)
    expect(await modeOf(dir.path)).toBe(0o755)
  })

  test('a store file of a newer version is refused and not changed', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    await (await openSqlite({ path }))[Symbol.asyncDispose]()
    const newer = new DatabaseSync(path)
    newer.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 3}`)
    newer.close()
    await expect(openSqlite({ path })).rejects.toMatchObject({
      name: 'ParleyError',
      code: 'unavailable',
      message: expect.stringMatching(new RegExp(`schema ${SCHEMA_VERSION + 3}.*newer Parley`)) as string,
    })
    const after = new DatabaseSync(path)
    expect(pragma(after, 'user_version')).toBe(SCHEMA_VERSION + 3)
    after.close()
  })

  test('a store file of another program is refused and not changed', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    const other = new DatabaseSync(path)
    other.exec('CREATE TABLE theirs (a)')
    other.close()
    await expect(openSqlite({ path })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('another program') as string,
    })
    const after = new DatabaseSync(path)
    expect(after.prepare('SELECT name FROM sqlite_schema').all()).toMatchObject([{ name: 'theirs' }])
    after.close()
  })

  test('a store file that is not a database is refused with advice', async () => {
    await using dir = await tempDir()
    await writeFile(dir.file('parley.db'), 'not a database, but long enough to be read as one. '.repeat(100))
    await expect(openSqlite({ path: dir.file('parley.db') })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('not a SQLite database') as string,
    })
  })

  test('a write to a locked store is refused after the wait, and works again after the lock is released', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    await using storage = await openSqlite({ path, busyTimeoutMs: 1 })
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    await expect(storage.settings.update('ada', () => 'x')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('another process') as string,
    })
    other.exec('ROLLBACK')
    other.close()
    expect(await storage.settings.update('ada', () => 'y')).toBe('y')
  })

  test('a write waits for a lock of another process without blocking the thread, in the order of the writes', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    await using storage = await openSqlite({ path, busyTimeoutMs: 60_000 })
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const written = storage.settings.update('ada', () => '1')
    // Each wait is a turn of the event loop: a store that blocks the thread would keep the lock from being released.
    let longestMs = 0
    for (let turn = 0; turn < 10; turn += 1) {
      const before = performance.now()
      await new Promise((resolve) => setTimeout(resolve, 20))
      longestMs = Math.max(longestMs, performance.now() - before)
    }
    const later = storage.settings.update('ada', (current) => `${current}2`)
    other.exec('ROLLBACK')
    other.close()
    await expect(Promise.all([written, later])).resolves.toEqual(['1', '12'])
    expect(longestMs).toBeLessThan(2_000)
  })

  test('a closing store commits the writes that wait for a lock of another process', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    const storage = await openSqlite({ path, busyTimeoutMs: 60_000 })
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const written = storage.settings.update('ada', () => 'x')
    await new Promise((resolve) => setImmediate(resolve))
    const closed = storage[Symbol.asyncDispose]()
    other.exec('ROLLBACK')
    other.close()
    await closed
    await expect(written).resolves.toBe('x')
  })

  test('two stores on one file share it, and an older owner is refused across them', async () => {
    await using dir = await tempDir()
    const path = dir.file('parley.db')
    await using first = await openSqlite({ path })
    await using second = await openSqlite({ path })
    await Promise.all(
      [first, second].flatMap((storage) =>
        Array.from({ length: 20 }, (_, n) => storage.settings.update('ada', (current) => `${current ?? ''}${n % 10}`)),
      ),
    )
    expect(await first.settings.get('ada')).toHaveLength(40)
  })
})
