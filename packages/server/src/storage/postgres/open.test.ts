import { newConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { testDatabase } from '../../../testing/postgres.ts'
import { conversation, message, numbered } from '../../../testing/store-fixtures.ts'
import type { Storage } from '../storage.ts'
import { openPostgres } from './open.ts'
import { MIGRATIONS } from './schema.ts'

const unavailable = (message: string) => ({
  code: 'unavailable',
  message: expect.stringContaining(message) as string,
})

test('of four servers that open an empty database at once, one migrates it', async () => {
  await using database = await testDatabase({ isNew: true })
  const opened = await Promise.all([1, 2, 3, 4].map(() => openPostgres({ url: database.url })))
  const numbers = await Promise.all(opened.map((storage) => storage.nodes.add()))
  expect(new Set(numbers).size).toBe(4)
  for (const storage of opened) await storage[Symbol.asyncDispose]()
  expect(await database.query('SELECT schema FROM parley.cluster')).toEqual([{ schema: MIGRATIONS.length }])
})

test('a database of a newer version is opened while that version permits it, and refused otherwise', async () => {
  await using database = await testDatabase({ isNew: true })
  await (await openPostgres({ url: database.url }))[Symbol.asyncDispose]()
  const newer = MIGRATIONS.length + 1
  await database.query(`UPDATE parley.cluster SET schema = ${newer}`)
  await (await openPostgres({ url: database.url }))[Symbol.asyncDispose]()
  await database.query(`UPDATE parley.cluster SET min_reader = ${newer}`)
  await expect(openPostgres({ url: database.url })).rejects.toMatchObject(
    unavailable(`has schema ${newer}, this Parley knows up to ${MIGRATIONS.length}`),
  )
})

test('an outline shows the events of an earlier version, and stores their columns', async () => {
  await using database = await testDatabase()
  await using storage = await openPostgres({ url: database.url })
  const [first, second] = [message('first'), message('second')]
  const log = conversation({ events: numbered([first, { ...second, parent_id: first.id }]) })
  await storage.conversations.create(log)
  const columns = () => database.query('SELECT parent_seq, flags, text FROM parley.events ORDER BY seq')
  const before = await columns()
  await database.query('UPDATE parley.events SET parent_seq = NULL, flags = NULL, text = NULL')
  const outline = await storage.events.outline(log.id, { after: 0, before: 100, limit: 100 })
  expect(outline).toMatchObject({ parent: [0, 1], types: [{ kind: 'MessageEvent', source: 'user' }] })
  expect(await columns()).toEqual(before)
  await database.query('UPDATE parley.events SET parent_seq = NULL, flags = NULL, text = NULL')
  expect(await storage.events.page(log.id, { limit: 5, filter: { text: 'SECOND' } })).toHaveLength(1)
})

test('a missing database is reported with its name, and without the password', async () => {
  await using database = await testDatabase()
  const url = new URL(database.url)
  url.password = 'never-shown'
  url.pathname = '/no_such_database'
  const error = await openPostgres({ url: String(url) }).catch((refused: unknown) => refused as Error)
  expect(error).toMatchObject(unavailable('there is no database of this name'))
  expect(String((error as Error).message) + String((error as Error).cause)).not.toContain('never-shown')
})

test('a database that does not answer is reported with its address', async () => {
  await expect(openPostgres({ url: 'postgres://postgres@127.0.0.1:1/parley' })).rejects.toMatchObject(
    unavailable('127.0.0.1:1/parley: the connection failed'),
  )
})

test('names and texts with U+0000 and lone surrogates are stored, found and returned as by the other store', async () => {
  await using database = await testDatabase()
  await using storage = await openPostgres({ url: database.url })
  const event = message('before\0after \ud800 end\u{10FFFF}0')
  const { id } = conversation()
  await storage.conversations.create(conversation({ id, events: numbered([event]) }))
  expect(await storage.events.page(id, { limit: 1 })).toEqual([{ seq: 1, event }])
  const found = (body: string) => storage.events.count(id, { body })
  expect(await Promise.all(['e\0A', '\0', '\u{10FFFF}0'].map(found))).toEqual([1, 1, 1])
  expect(await Promise.all(['\0\0', '\u{10FFFE}', 'e0a'].map(found))).toEqual([0, 0, 0])
  await storage.documents.edit('a\0b', (documents) => documents.put('c\0', 'n\0', '{}'))
  expect(await storage.documents.list('a\0b', 'c\0')).toMatchObject([{ name: 'n\0' }])
  expect(await storage.documents.list('ab', 'c')).toEqual([])
})

test('a name that is too long for an index is refused, and names the remedy', async () => {
  await using database = await testDatabase()
  await using storage = await openPostgres({ url: database.url })
  const name = Array.from({ length: 9_000 }, (_, index) =>
    String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)),
  ).join('')
  await expect(storage.secrets.put('ada', { name, description: null, sealed: 's' })).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringContaining('use a shorter one') as string,
  })
})

/** Writes something of a user into every table that has users. */
async function fill(storage: Storage, user: string) {
  const id = newConversationId()
  const at = new Date().toISOString()
  await storage.conversations.create(conversation({ id, owner: user, events: numbered([message(user)]) }))
  const report = {
    id,
    created_at: at,
    updated_at: at,
    sent_at: null,
    status: 'idle',
    parent_conversation_id: null,
  } as const
  await storage.received.put({ ...report, owner: user, info: `"${user}"` })
  const deleted = conversation({ owner: user })
  await storage.conversations.create(deleted)
  await storage.conversations.delete(deleted.id)
  await storage.settings.update(user, () => `"${user}"`)
  await storage.secrets.put(user, { name: 'NAME', description: null, sealed: user })
  await storage.documents.edit(user, (documents) => documents.put('c', 'n', `"${user}"`))
  const bash = { kind: 'BashCommand', command_id: null, order: null, timestamp: at, json: `"${user}"` }
  await storage.bash.append(user, { id, ...bash })
  await storage.keys.create({ id: user, user, role: 'user', hash: user, label: null, expires_at: null })
  const login = { hash: user, user, key_hash: user, created_at: at, expires_at: at }
  await storage.logins.create({ ...login, id: user, label: null, last_used_at: at }, 1)
  await storage.logins.addCode(login, 1)
  await storage.idempotency.begin(user, 'key', { digest: user, at, since: at })
  await storage.workspaces.put({ root: `/${user}`, owner: user, kind: 'folder', inode: '1', repository: null })
  const entry = { at, until: null, count: 1, user, key_id: user, action: 'a', conversation_id: null, status: 200 }
  await storage.audit.write([{ ...entry, subject: null, detail: null }], [])
  await storage.usage.addUpload(user, new Date(at), 1)
  return id
}

/** What a user sees. */
async function seen(storage: Storage, user: string, id: Awaited<ReturnType<typeof fill>>) {
  const query = { owner: user, sort: 'CREATED_AT', limit: 10 } as const
  return JSON.stringify([
    await storage.conversations.search(query),
    await storage.received.search(query),
    await storage.received.get(user, id),
    await storage.settings.get(user),
    await storage.secrets.list(user),
    await storage.documents.list(user, 'c'),
    await storage.bash.search(user, { order: 'asc', limit: 10 }),
    await storage.idempotency.get(user, 'key', ''),
    await storage.workspaces.ofOwner(user),
    await storage.audit.list({ user, limit: 10 }),
  ])
}

const OF_USERS_SQL = `SELECT table_name AS name, column_name AS column FROM information_schema.columns
  WHERE table_schema = 'parley' AND column_name IN ('user_name', 'owner') ORDER BY 1`

test('no table shows a user what belongs to another one, and a deleted user leaves only the audit and used ids', async () => {
  await using database = await testDatabase()
  await using storage = await openPostgres({ url: database.url })
  const ids = { ada: await fill(storage, 'ada'), postgres: await fill(storage, 'postgres') }
  // The name of the role of the connection, which an unquoted column `user` would be compared with.
  expect(await seen(storage, 'postgres', ids.postgres)).not.toContain('ada')
  expect(await seen(storage, 'ada', ids.ada)).not.toContain('postgres')
  const tables = await database.query<{ name: string; column: string }>(OF_USERS_SQL)
  const rowsOf = async ({ name, column }: { name: string; column: string }, user: string) =>
    (await database.query<object>(`SELECT 1 FROM parley.${name} WHERE ${column} = $1`, user)).length
  for (const table of tables) expect(await rowsOf(table, 'ada'), table.name).toBeGreaterThan(0)

  await storage.conversations.delete(ids.ada)
  for (const { id } of await storage.conversations.owedReleases()) await storage.conversations.released(id)
  await storage.users.setState('ada', 'deleting')
  await storage.users.erase('ada')
  const left = []
  for (const table of tables) if ((await rowsOf(table, 'ada')) > 0) left.push(table.name)
  expect(left).toEqual(['audit', 'deleted_ids'])
  for (const table of tables)
    if (table.name !== 'owed_releases') expect(await rowsOf(table, 'postgres'), table.name).toBeGreaterThan(0)
})
