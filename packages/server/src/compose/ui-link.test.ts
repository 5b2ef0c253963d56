import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../testing/temp.ts'
import { uiLinkOf } from './ui-link.ts'

const URL = 'http://127.0.0.1:8000'
const logins = {
  authenticate: async (key: string) =>
    key === 'valid' ? { user: 'default', role: 'admin' as const, keyId: 'k' } : null,
  makeCode: async (key: string) => ({ code: `of-${key}`, expires_at: '' }),
}

test('the link of the web UI has a login code only where the server knows a valid key', async () => {
  await using dir = await tempDir()
  const config = { ui: true, withoutKeys: false, sessionApiKeys: ['valid'], dataDir: dir.path }
  const loggedIn = { url: `${URL}/#login=of-valid`, isLoggedIn: true }
  const plain = { url: `${URL}/`, isLoggedIn: false }
  expect(await uiLinkOf(config, URL, logins)).toEqual(loggedIn)
  expect(await uiLinkOf(config, URL, null)).toEqual(plain)
  expect(await uiLinkOf({ ...config, sessionApiKeys: [] }, URL, logins)).toEqual(plain)
  await writeFile(dir.file('first-key'), 'revoked\n')
  expect(await uiLinkOf({ ...config, sessionApiKeys: [] }, URL, logins)).toEqual(plain)
  await writeFile(dir.file('first-key'), 'valid\n')
  expect(await uiLinkOf({ ...config, sessionApiKeys: [] }, URL, logins)).toEqual(loggedIn)
  expect(await uiLinkOf({ ...config, withoutKeys: true }, URL, logins)).toEqual({ url: `${URL}/`, isLoggedIn: true })
  expect(await uiLinkOf({ ...config, ui: false }, URL, logins)).toBeNull()
})
