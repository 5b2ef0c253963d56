import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCipher } from '../../secrets/index.ts'
import { newUserIn, openIdentities } from '../../settings/index.ts'
import { openSqlite } from '../../storage/index.ts'
import { openWorkspaceSessions } from './workspace-sessions.ts'

const cipherOf = () =>
  openCipher({ keyText: randomBytes(32).toString('base64url'), keyFile: '/nonexistent/key', salt: '' })

test('a token stands for its key until the key is revoked, and reveals nothing of it', async () => {
  await using storage = await openSqlite({ path: ':memory:' })
  const identities = openIdentities(storage.keys, [], () => new Date(), newUserIn('personal'))
  const { key, row } = await identities.create({ user: 'ann', role: 'user', label: null, expiresAt: null })
  const sessions = openWorkspaceSessions(await cipherOf(), identities)
  const token = sessions.issue(key)
  expect(token).not.toContain(key)
  expect(await sessions.actorOf(token)).toEqual({ user: 'ann', role: 'user', keyId: row.id })
  await identities.revoke(row.id)
  expect(await sessions.actorOf(token)).toBeNull()
})

test('texts that are not tokens of this server admit no one', async () => {
  await using storage = await openSqlite({ path: ':memory:' })
  const identities = openIdentities(storage.keys, ['key-of-the-environment'], () => new Date(), newUserIn('personal'))
  const cipher = await cipherOf()
  const sessions = openWorkspaceSessions(cipher, identities)
  const foreign = openWorkspaceSessions(await cipherOf(), identities).issue('key-of-the-environment')
  for (const text of ['', 'abc', foreign, cipher.seal('key-of-the-environment')])
    expect(await sessions.actorOf(text)).toBeNull()
})
