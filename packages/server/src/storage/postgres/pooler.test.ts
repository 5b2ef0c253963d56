import { expect, test } from 'vitest'
import { hasPgbouncer, startPgbouncer } from '../../../testing/pgbouncer.ts'
import { testDatabase } from '../../../testing/postgres.ts'
import { openPostgres } from './open.ts'
import { examineDatabase } from './probe.ts'

const findings = async (url: string) => (await examineDatabase(url)).map(({ level, says }) => `${level}: ${says}`)

test('a database that is reached directly has a session for each client, and a role that may write', async () => {
  await using database = await testDatabase()
  const found = await findings(database.url)
  expect(found).toContain('ok: each client has a session of its own')
  expect(found).toContain('ok: role postgres may write')
  expect(found).toContain('ok: its clock agrees with that of this machine')
})

test('a role without rights on the database is reported with the remedy', async () => {
  await using database = await testDatabase({ isNew: true })
  const role = `parley_reader_${process.pid}`
  await database.query(`CREATE ROLE ${role} LOGIN`)
  await using _dropped = { [Symbol.asyncDispose]: () => database.query(`DROP ROLE ${role}`).then(() => undefined) }
  const url = new URL(database.url)
  url.username = role
  expect((await examineDatabase(String(url))).filter(({ level }) => level === 'fail')).toEqual([
    {
      level: 'fail',
      says: `role ${role} may not create or change what Parley needs`,
      remedy: `make ${role} the owner of the database and of the schema parley`,
    },
  ])
})

test.runIf(hasPgbouncer).each(['transaction', 'statement'] as const)(
  'a store behind PgBouncer in %s mode is refused with the reason and the remedy',
  async (mode) => {
    await using database = await testDatabase()
    await using pooler = await startPgbouncer(database.url, mode)
    await expect(openPostgres({ url: pooler.url })).rejects.toThrow(
      /is behind a pooler that shares sessions between clients .*pool_mode = session/,
    )
    expect(await findings(pooler.url)).toContain('fail: a pooler gives one session to several clients')
  },
)

test.runIf(hasPgbouncer)('a store behind PgBouncer in session mode is opened', async () => {
  await using database = await testDatabase()
  await using pooler = await startPgbouncer(database.url, 'session')
  expect(await findings(pooler.url)).toContain('ok: each client has a session of its own')
  await using storage = await openPostgres({ url: pooler.url })
  await storage.users.ensure('ann', null)
  expect(await storage.users.list()).toMatchObject([{ user: 'ann' }])
})
