/** Databases that cannot be used: the start and `parley doctor` say why, and what to do. */
import { expect, test } from 'vitest'
import { openPreflight } from '../../packages/server/src/index.ts'
import { postgresServer } from '../../packages/server/testing/postgres-server.ts'
import { testDatabase } from '../../packages/server/testing/postgres.ts'
import { startRelay } from '../../packages/server/testing/relay.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'

/** The URL with changed parts. */
function changed(url: string, change: Partial<Pick<URL, 'username' | 'password' | 'port' | 'pathname'>>): string {
  return String(Object.assign(new URL(url), change))
}

/** Both refuse the database with this message. */
async function expectRefused(url: string, message: RegExp): Promise<void> {
  await expect(startTestServer({ PARLEY_DATABASE_URL: url })).rejects.toThrow(message)
  const { probeDatabase } = await openPreflight()
  await expect(probeDatabase(url)).rejects.toThrow(message)
}

/** A role that the server of the tests asks for a password (see `postgres-server.ts`). */
const GUARDED = 'parley_guarded'

test('a wrong password is refused with its remedy, and a right one is accepted', async ({ skip }) => {
  if (!(await postgresServer()).isOwn) skip('the given server may ask nobody for a password')
  await using database = await testDatabase()
  await database.query(`DROP ROLE IF EXISTS ${GUARDED}`)
  await database.query(`CREATE ROLE ${GUARDED} SUPERUSER LOGIN PASSWORD 'the right one'`)
  const url = changed(database.url, { username: GUARDED, password: 'a wrong one' })
  await expectRefused(url, /^database \S+: it refuses the user or the password: check both in PARLEY_DATABASE_URL$/)
  await using _server = await startTestServer({ PARLEY_DATABASE_URL: changed(url, { password: 'the right one' }) })
})

test('a database that does not exist is refused with its remedy', async () => {
  await using database = await testDatabase()
  await expectRefused(
    changed(database.url, { pathname: '/no_such_database' }),
    /^database \S+\/no_such_database: there is no database of this name: create it, or check the name in PARLEY_DATABASE_URL$/,
  )
})

test('a user who may not create the schema is refused with the remedy, and nothing is created', async () => {
  await using database = await testDatabase({ isNew: true })
  const role = 'parley_without_rights'
  await database.query(`DO $$ BEGIN CREATE ROLE ${role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
  const url = changed(database.url, { username: role, password: '' })
  await expect(startTestServer({ PARLEY_DATABASE_URL: url })).rejects.toThrow(
    /^database \S+: the user may not create or change what Parley needs: make the user the owner of the database$/,
  )
  expect(await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'parley'")).toEqual([])
})

test('an older PostgreSQL is refused by its version', async () => {
  await using database = await testDatabase({ isNew: true })
  const [{ number, version } = { number: '', version: '' }] = await database.query<
    Record<'number' | 'version', string>
  >("SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version")
  const older = (text: string) => `13${text.slice(2)}`
  // The only difference to a real older server is the text of these two values in its answers.
  await using relay = await startRelay(database.url, (bytes) => {
    const text = bytes.toString('latin1').replaceAll(number, older(number)).replaceAll(version, older(version))
    return Buffer.from(text, 'latin1')
  })
  await expectRefused(
    changed(database.url, { port: new URL(relay.url).port }),
    /^database \S+ is PostgreSQL 13\.\d+.*; Parley needs PostgreSQL 14 or later$/,
  )
  expect(await database.query("SELECT 1 FROM pg_namespace WHERE nspname = 'parley'")).toEqual([])
})

test('a database that does not answer is refused with the reason', async () => {
  await using database = await testDatabase()
  await using relay = await startRelay(database.url)
  relay.state = 'refused'
  await expectRefused(
    changed(database.url, { port: new URL(relay.url).port }),
    /the connection failed \(.+\): check that it runs$/,
  )
})
