import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCipher } from '../secrets/index.ts'
import { openSqlite } from '../storage/index.ts'
import { openCommandSecrets } from './command-secrets.ts'
import { openNamedSecrets } from './secrets.ts'
import { openUserSettings } from './settings.ts'

test('former values of secrets are kept for the users that were active last, up to a number of bytes', async () => {
  await using storage = await openSqlite({ path: ':memory:' })
  const keyText = randomBytes(32).toString('base64url')
  const cipher = await openCipher({ keyText, keyFile: '/nonexistent/key', salt: '' })
  const secrets = openNamedSecrets(storage.secrets, cipher)
  const settings = openUserSettings(storage.settings, secrets, cipher)
  const commandSecrets = openCommandSecrets({ secrets, settings, cipher, own: [], log: { warn: () => undefined } })
  const shown = async (user: string) => (await commandSecrets.masker(user)).text('old-value new-value')
  for (const user of ['ann', 'bob']) {
    await secrets.create(user, { name: 'TOKEN', value: 'old-value', description: null })
    await shown(user)
    await secrets.put(user, { name: 'TOKEN', value: 'new-value', description: null })
    expect(await shown(user)).toBe('<secret-hidden> <secret-hidden>')
  }
  for (let n = 0; n <= 33; n++) {
    for (let part = 0; part < 16; part++)
      await secrets.create(`user-${n}`, {
        name: `LARGE_${part}`,
        value: `${n} ${part} `.padEnd(63 * 1024, 'x'),
        description: null,
      })
    await commandSecrets.masker(`user-${n}`)
    expect(await shown('ann')).toBe('<secret-hidden> <secret-hidden>')
  }
  expect(await shown('bob')).toBe('old-value <secret-hidden>')
})
