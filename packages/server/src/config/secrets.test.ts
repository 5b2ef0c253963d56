import { expect, test } from 'vitest'
import { secretValues } from '../secrets/index.ts'
import { readConfig } from './config.ts'
import { secretsOf } from './secrets.ts'

const RECEIVER_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

test('every credential of the configuration is one of its secrets', () => {
  const env = {
    PARLEY_SESSION_API_KEYS: 'session-key-1,session-key-2',
    PARLEY_SECRET_KEY: 'sealing-key',
    PARLEY_DATABASE_URL: 'postgres://ada:database%2Fpassword@127.0.0.1/parley',
    PARLEY_LLM_API_KEY: 'model-key',
    PARLEY_VENDOR_API_KEY: 'vendor-key',
    PARLEY_AUTOMATION_CALLBACK_URL: 'http://127.0.0.1:9/',
    PARLEY_AUTOMATION_CALLBACK_API_KEY: 'callback-key',
    PARLEY_WEBHOOK_RECEIVER_SECRETS: RECEIVER_SECRET,
  }
  const { config } = readConfig({ flags: {}, env, cwd: '/', home: '/' })
  const target = { base_url: 'http://127.0.0.1:9', headers: { 'X-Key': 'header-key-1' }, secret: 'whsec_c2lnbmluZw==' }
  const webhooks = [{ ...target, api_key: 'webhook-key' }] as unknown as typeof config.webhooks
  expect(secretsOf({ ...config, webhooks }, secretValues)).toEqual(
    expect.arrayContaining([
      'session-key-1',
      'session-key-2',
      'sealing-key',
      'postgres://ada:database%2Fpassword@127.0.0.1/parley',
      'database%2Fpassword',
      'database/password',
      'model-key',
      'vendor-key',
      'callback-key',
      RECEIVER_SECRET,
      'header-key-1',
      'whsec_c2lnbmluZw==',
      'webhook-key',
    ]),
  )
})
