import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { openSqlite } from './open.ts'

/** Tables whose rows of a user stay, or are deleted with the conversations of the user before. */
const OTHERS: Readonly<Record<string, string>> = {
  audit: 'who did what stays on record',
  deleted_ids: 'the ids are given to no other user',
  conversations: 'deleted one by one, with processes and files',
  owed_releases: 'deleted when processes and files are gone',
}

type Column = { name: string; type: string; pk: number; notnull: number; dflt_value: unknown }

/** Tables with a column for a user, and that column. */
function tablesOfUsers(database: DatabaseSync): { table: string; user: string; columns: Column[] }[] {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return tables.flatMap(({ name: table }) => {
    const columns = database.prepare(`PRAGMA table_info(${String(table)})`).all() as unknown as Column[]
    const user = columns.find(({ name }) => /^(?:user|owner)(?:_id|_name)?$/.test(name))
    return user === undefined ? [] : [{ table: String(table), user: user.name, columns }]
  })
}

test('the deletion of a user leaves no row in any table with a user, and all rows of others', async () => {
  await using dir = await tempDir()
  const path = dir.file('parley.db')
  await using storage = await openSqlite({ path })
  using database = new DatabaseSync(path)
  const tables = tablesOfUsers(database)
  expect(tables.map(({ table }) => table)).toEqual(
    expect.arrayContaining([...Object.keys(OTHERS), 'keys', 'secrets', 'settings', 'users']),
  )
  const value = ({ name, type, pk }: Column, owner: string, user: string): SQLInputValue => {
    if (name === user) return owner
    return type === 'INTEGER' || type === 'REAL' ? (pk === 1 ? null : 0) : `${name} of ${owner}`
  }
  for (const { table, user, columns } of tables)
    for (const owner of ['ann', 'bob']) {
      const marks = columns.map(() => '?').join(', ')
      database
        .prepare(`INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')}) VALUES (${marks})`)
        .run(...columns.map((column) => value(column, owner, user)))
    }
  const count = (table: string, user: string, owner: string) =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${user} = ?`).get(owner)?.['n'])

  await storage.users.erase('ann')
  const left = tables.filter(({ table, user }) => count(table, user, 'ann') > 0).map(({ table }) => table)
  expect(left.toSorted()).toEqual(Object.keys(OTHERS).toSorted())
  for (const { table, user } of tables) expect([table, count(table, user, 'bob')]).toEqual([table, 1])
})

test('a user that is being deleted is not enabled again and gets no key', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: dir.file('parley.db') })
  const key = { id: 'k', user: 'ann', role: 'user', hash: 'h', label: null, expires_at: null } as const
  await storage.keys.create(key)
  expect(await storage.users.setState('ann', 'disabled')).toBe('active')
  expect(await storage.keys.find('h')).toBeNull()
  expect(await storage.users.setState('ann', 'active')).toBe('disabled')
  expect(await storage.keys.find('h')).toMatchObject({ user: 'ann' })
  expect(await storage.users.setState('ann', 'deleting')).toBe('active')
  expect(await storage.users.setState('ann', 'active')).toBe('deleting')
  expect(await storage.users.suspended()).toMatchObject([{ user: 'ann', state: 'deleting' }])
  await expect(storage.keys.create({ ...key, id: 'l', hash: 'i' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await storage.users.setState('none', 'disabled')).toBeNull()
})
