import { existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { fillTables } from '../../../testing/generated-rows.ts'
import { testDatabase } from '../../../testing/postgres.ts'
import { dumpStore } from '../../../testing/store-dump.ts'
import { everything, HERE, nextAppend, notifications, owned, told } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { openPostgres } from '../postgres/open.ts'
import { connect, openSqlite } from '../sqlite/open.ts'
import { planOf } from './plan.ts'
import { moveToPostgres } from './to-postgres.ts'
import { moveToSqlite } from './to-sqlite.ts'

const quietly = () => undefined
const SCHEMA = 'parley_imported'

async function places() {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const database = stack.use(await testDatabase({ isNew: true }))
  const [path, back] = [dir.file('first.db'), dir.file('back.db')]
  const owned = stack.move()
  return {
    path,
    back,
    url: database.url,
    query: database.query,
    there: () => moveToPostgres({ path, url: database.url, place: HERE, progress: quietly }),
    return: (complete: () => Promise<void> = async () => undefined) =>
      moveToSqlite({
        url: database.url,
        path: back,
        place: HERE,
        schema: SCHEMA,
        expectKey: async () => undefined,
        progress: quietly,
        complete,
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const fill = (path: string, seed: number): void => {
  const sql = connect(path)
  fillTables(sql, seed)
  sql.database.close()
}

test('every row of every table is the same after a move to PostgreSQL and back, for generated rows', async () => {
  for (const seed of [1, 2, 3]) {
    await using at = await places()
    fill(at.path, seed)
    const before = dumpStore(at.path)
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([])
    const moved = await at.there()
    expect(dumpStore(at.path)).toEqual(before)
    expect(await at.return()).toEqual(moved)
    expect(dumpStore(at.back)).toEqual(before)
  }
}, 60_000)

test('a store answers the same in the database as in the file', async () => {
  await using at = await places()
  const ids = []
  let before: unknown[]
  {
    await using storage = await openSqlite({ path: at.path })
    await told(storage, true)
    for (const kind of ['LocalWorkspace', 'RemoteWorkspace', 'LocalWorkspace']) {
      const row = await owned(storage, { record: JSON.stringify({ workspace: { kind } }) })
      await storage.conversations.append(nextAppend(row, 5, { outbox: [{ topic: 't', payload: 'p' }] }))
      ids.push(row.id)
    }
    before = await Promise.all(ids.map((id) => everything(storage, id)))
    await storage.conversations.delete(ids[2]!)
    before[2] = await everything(storage, ids[2]!)
  }
  await at.there()
  await using storage = await openPostgres({ url: at.url, place: HERE })
  const sent = await notifications(storage)
  const after = await Promise.all(ids.map((id) => everything(storage, id)))
  // Conversations that work on another agent server are bound to no directory.
  const placeOf = [HERE, null, HERE]
  expect(after).toEqual(
    before.map((each, index) => {
      const { row, ...rest } = each as { row: object | null }
      return { ...rest, row: row === null ? null : { ...row, place: placeOf[index] }, outbox: sent }
    }),
  )
  // Numbers of the file are not given again.
  const next = await owned(storage)
  const [numbered] = await at.query<{ n: string }>('SELECT n FROM parley.conversations WHERE id = $1', next.id)
  expect(Number(numbered!.n)).toBe(4)
}, 60_000)

test('columns that an older version did not compute are computed by the move', async () => {
  await using at = await places()
  fill(at.path, 4)
  const before = dumpStore(at.path)
  {
    using database = new DatabaseSync(at.path)
    database.exec(`UPDATE events SET parent_seq = NULL, tool = NULL, size = NULL, flags = NULL, text = NULL;
      INSERT INTO event_backfill SELECT min(n), max(n) FROM events`)
  }
  await at.there()
  await at.return()
  expect(dumpStore(at.back)).toEqual(before)
}, 60_000)

test('a move to a database that has rows is refused, and says what to do', async () => {
  await using at = await places()
  fill(at.path, 5)
  await (await openPostgres({ url: at.url, place: HERE }))[Symbol.asyncDispose]()
  await at.query("INSERT INTO parley.users VALUES ('ada', 'active', '')")
  await expect(at.there()).rejects.toThrow(
    /is not empty: its table users has rows\. Name an empty database; .*DROP SCHEMA parley CASCADE/,
  )
  expect(await at.query('SELECT 1 FROM parley.conversations')).toEqual([])
}, 60_000)

test('a move that fails leaves the file as it was and the database empty', async () => {
  await using at = await places()
  fill(at.path, 6)
  const { length } = 'x'.repeat(20_000)
  {
    using database = new DatabaseSync(at.path)
    // An index of PostgreSQL takes no such name, not even compressed.
    const name = Array.from({ length }, (_, index) => ((index * 7919) % 9973).toString(36)).join('')
    database
      .prepare("INSERT INTO secrets (user, name, sealed, created_at, updated_at) VALUES ('ada', ?, '', '', '')")
      .run(name)
  }
  const before = dumpStore(at.path)
  await expect(at.there()).rejects.toMatchObject({ code: 'too_large' })
  expect(dumpStore(at.path)).toEqual(before)
  const tables = await at.query<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'parley'")
  const filled = []
  for (const { name } of tables) if ((await at.query(`SELECT 1 FROM parley.${name}`)).length > 0) filled.push(name)
  expect(filled.toSorted()).toEqual(['cluster', 'note_counter'])
  // The file is usable, and so is the database.
  await (await openSqlite({ path: at.path }))[Symbol.asyncDispose]()
}, 60_000)

test('a move back that fails at its end leaves the store in the database', async () => {
  await using at = await places()
  fill(at.path, 7)
  await at.there()
  await expect(at.return(() => Promise.reject(new Error('no space left')))).rejects.toThrow('no space left')
  const ids = await at.query('SELECT id FROM parley.conversations')
  expect(ids).toHaveLength(7)
  await rename(at.back, `${at.back}.1`)
  await at.return()
  expect(dumpStore(at.back)).toEqual(dumpStore(at.path))
}, 60_000)

test('a store that a process uses is not moved', async () => {
  await using at = await places()
  {
    await using _user = await openSqlite({ path: at.path })
    await expect(at.there()).rejects.toThrow(/another process keeps it locked/)
  }
  await at.there()
  expect(existsSync(`${at.path}-wal`)).toBe(false)
}, 60_000)

test('a column or table that a move would lose is an error', () => {
  const [sqlite, postgres] = [
    new Map([
      ['conversations', new Map([['n', '']])],
      ['secret_versions', new Map([['n', '']])],
    ]),
    new Map([
      ['conversations', new Map([['n', 'bigint']])],
      ['secret_versions', new Map([['n', 'bigint']])],
    ]),
  ]
  expect(planOf(sqlite, postgres)).toHaveLength(2)
  sqlite.get('conversations')!.set('mood', '')
  postgres.get('conversations')!.set('weight', 'text')
  sqlite.set('leases', new Map([['n', '']]))
  expect(() => planOf(sqlite, postgres)).toThrow(
    'conversations.mood of SQLite, conversations.weight of PostgreSQL, leases, leases.n of SQLite',
  )
})
