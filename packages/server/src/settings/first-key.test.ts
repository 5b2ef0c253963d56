import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { openSqlite } from '../storage/index.ts'
import { makeFirstKey, readFirstKey } from './first-key.ts'
import { openIdentities } from './identity.ts'
import { newUserIn } from './new-user.ts'

test('the first key has the role admin, and only the owner of the data directory can read it', async () => {
  await using dir = await tempDir()
  await using storage = await openSqlite({ path: ':memory:' })
  const identities = openIdentities(storage.keys, [], () => new Date(), newUserIn('personal'))
  expect(await readFirstKey(dir.path)).toBeNull()
  const { key, path } = await makeFirstKey(dir.path, identities)
  expect(path).toBe(dir.file('first-key'))
  expect(await readFirstKey(dir.path)).toBe(key)
  expect(await identities.authenticate(key)).toMatchObject({ user: 'default', role: 'admin' })
  expect((await stat(dir.file('first-key'))).mode & 0o777).toBe(0o600)
})
