import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { readConfig } from '../config/index.ts'
import { openKnownSecrets, secretsOf } from './known-secrets.ts'
import { makeCipher } from '../secrets/cipher.ts'

const cipher = makeCipher(randomBytes(32), 'a test')

test('what the cipher sealed or opened, and what the configuration holds, is hidden in any text', () => {
  const known = openKnownSecrets(['key-of-the-server', null])
  const watched = known.watch(cipher)
  const sealed = cipher.seal('opened-value')
  expect(known.hide({ message: 'opened-value' })).toEqual({ message: 'opened-value' })
  expect(watched.open(watched.seal('sealed-value'))).toBe('sealed-value')
  expect(watched.open(sealed)).toBe('opened-value')
  expect(watched.keyId).toBe(cipher.keyId)
  expect(known.hide({ message: 'a sealed-value b', deep: ['opened-value', 7], key: 'key-of-the-server' })).toEqual({
    message: 'a <secret-hidden> b',
    deep: ['<secret-hidden>', 7],
    key: '<secret-hidden>',
  })
})

test('only so many are remembered, those that were used last', () => {
  const known = openKnownSecrets([])
  const watched = known.watch(cipher)
  for (let n = 0; n < 1000; n++) watched.seal(`secret-value-${n}-`)
  watched.seal('secret-value-0-')
  watched.seal('secret-value-1000-')
  expect(known.hide(['secret-value-0-', 'secret-value-1-', 'secret-value-1000-'])).toEqual([
    '<secret-hidden>',
    'secret-value-1-',
    '<secret-hidden>',
  ])
})

test('keys of the configuration are known from the start', () => {
  const env = {
    PARLEY_SESSION_API_KEYS: 'session-key-1,session-key-2',
    PARLEY_SECRET_KEY: 'sealing-key',
    PARLEY_LLM_API_KEY: 'model-key',
    PARLEY_VENDOR_API_KEY: 'vendor-key',
    PARLEY_AUTOMATION_CALLBACK_URL: 'http://127.0.0.1:9/',
    PARLEY_AUTOMATION_CALLBACK_API_KEY: 'callback-key',
  }
  const { config } = readConfig({ flags: {}, env, cwd: '/', home: '/' })
  const target = { base_url: 'http://127.0.0.1:9', headers: { 'X-Key': 'header-key-1' }, secret: 'whsec_c2lnbmluZw==' }
  const webhooks = [{ ...target, api_key: 'webhook-key' }] as unknown as typeof config.webhooks
  expect(secretsOf({ ...config, webhooks })).toEqual(
    expect.arrayContaining([
      'session-key-1',
      'session-key-2',
      'sealing-key',
      'model-key',
      'vendor-key',
      'callback-key',
      'header-key-1',
      'whsec_c2lnbmluZw==',
      'webhook-key',
    ]),
  )
})
