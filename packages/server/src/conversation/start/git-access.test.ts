import { randomBytes } from 'node:crypto'
import { Settings } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openCipher } from '../../secrets/index.ts'
import { openNamedSecrets, openUserSettings } from '../../settings/index.ts'
import { openSqlite } from '../../storage/index.ts'
import { gitAccess } from './git-access.ts'

test('tokens and the git identity are those of the newest settings, the plain name of a host before its alias', async () => {
  await using storage = await openSqlite({ path: ':memory:' })
  const cipher = await openCipher({
    keyText: randomBytes(32).toString('base64url'),
    keyFile: '/nonexistent/key',
    salt: '',
  })
  const settings = openUserSettings(storage.settings, openNamedSecrets(storage.secrets, cipher), cipher)
  const { providerToken, gitIdentity } = gitAccess(settings)
  expect([await providerToken('ann', 'github'), await gitIdentity('ann')]).toEqual([null, {}])
  const store = (tokens: object) =>
    settings.store('ann', Settings.parse({ git_user_name: 'Ann', secrets_store: { provider_tokens: tokens } }))
  await store({ git_host_1: { token: 'token-of-the-alias' } })
  expect(await providerToken('ann', 'github')).toEqual({ token: 'token-of-the-alias', host: null })
  await store({ git_host_1: { token: 'token-of-the-alias' }, github: { token: 'token-of-the-name' } })
  expect(await providerToken('ann', 'github')).toEqual({ token: 'token-of-the-name', host: null })
  expect(await providerToken('ann', 'gitlab')).toBeNull()
  expect(await gitIdentity('ann')).toEqual({ name: 'Ann' })
})
