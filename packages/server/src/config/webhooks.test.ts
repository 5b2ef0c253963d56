import { expect, test } from 'vitest'
import { describeConfig, readConfig } from './config.ts'
import { ConfigError } from './error.ts'

const read = (env: Record<string, string>) => readConfig({ flags: {}, env, cwd: '/', home: '/home/ada' })
const webhooks = (value: unknown, env: Record<string, string> = {}) =>
  read({ ...env, PARLEY_WEBHOOKS: typeof value === 'string' ? value : JSON.stringify(value) }).config.webhooks

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

test('a webhook target of another machine needs an https address and a secret, and gets no key of this server', () => {
  const env = { PARLEY_SESSION_API_KEYS: 'first,second' }
  expect(webhooks([{ base_url: 'https://a.example/hooks/', secret: SECRET }], env)).toEqual([
    {
      base_url: 'https://a.example/hooks',
      headers: {},
      secret: SECRET,
      api_key: null,
      events: true,
      waiting: false,
      event_buffer_size: 5,
      flush_delay: 30,
      max_batch_bytes: 5 * 1024 * 1024,
      retry_delay: 1,
    },
  ])
  const secure = { base_url: 'https://a.example', secret: SECRET }
  expect(webhooks([{ ...secure, api_key: 'own' }], env)[0]?.api_key).toBe('own')
  expect(webhooks([{ ...secure, api_key: '' }], env)[0]?.api_key).toBeNull()
})

test.each<[object, RegExp | null]>([
  [
    { base_url: 'https://a.example' },
    /\[0\] sends to another machine without a secret: add it, or accept with "insecure"/,
  ],
  [{ base_url: 'http://a.example', secret: SECRET }, /without an https address: add it/],
  [{ base_url: 'http://10.0.0.7:9' }, /without an https address and a secret: add them/],
  [{ base_url: 'http://127.evil.example' }, /without/],
  [{ base_url: 'http://a.example', insecure: false }, /without/],
  [{ base_url: 'http://a.example', insecure: 'perhaps' }, /\[0\]\.insecure must be true or false/],
  [{ base_url: 'http://a.example', insecure: true }, null],
  [{ base_url: 'http://a.example', insecure: 'true' }, null],
  [{ base_url: 'http://127.0.0.1:9' }, null],
  [{ base_url: 'http://[::1]:9' }, null],
  [{ base_url: 'http://localhost:9' }, null],
])('a webhook target %j may be used: %s', (target, refusal) => {
  if (refusal === null) expect(webhooks([target])).toHaveLength(1)
  else expect(() => webhooks([target])).toThrow(refusal)
})

test('secrets for received webhooks are a list of signing secrets, and hidden', () => {
  const { config, origins } = read({ PARLEY_WEBHOOK_RECEIVER_SECRETS: `${SECRET},${SECRET}` })
  expect(config.webhookReceiverSecrets).toEqual([SECRET, SECRET])
  expect(describeConfig(config, origins).join('\n')).toMatch(/^webhook_receiver_secrets +2 set, hidden/m)
  expect(() => read({ PARLEY_WEBHOOK_RECEIVER_SECRETS: `${SECRET},plain` })).toThrow(
    /^PARLEY_WEBHOOK_RECEIVER_SECRETS\[1\] must be whsec_/,
  )
})

test('webhook variables of existing deployments are understood', () => {
  const { config, origins } = read({
    OH_WEBHOOKS_0_BASE_URL: 'http://a.example',
    OH_WEBHOOKS_0_INSECURE: 'true',
    OH_WEBHOOKS_0_HEADERS: '{"X-Tenant":"7"}',
    OH_WEBHOOKS_0_EVENT_BUFFER_SIZE: '9',
    OH_WEBHOOKS_0_FLUSH_DELAY: '0.5',
    OH_WEBHOOKS_0_NUM_RETRIES: '3',
    OH_WEBHOOKS_0_RETRY_DELAY: '0',
    OH_WEBHOOKS_1_BASE_URL: 'http://localhost:9',
    OH_WEBHOOKS_3_BASE_URL: 'http://after-the-gap.example',
  })
  expect(config.webhooks.map(({ base_url }) => base_url)).toEqual(['http://a.example', 'http://localhost:9'])
  expect(config.webhooks[0]).toMatchObject({
    headers: { 'X-Tenant': '7' },
    event_buffer_size: 9,
    flush_delay: 0.5,
    retry_delay: 0.01,
  })
  expect(origins.webhooks).toBe('OH_WEBHOOKS_0…')
})

test('webhooks default to none, and their secrets are not printed', () => {
  expect(read({}).config.webhooks).toEqual([])
  const { config, origins } = read({
    PARLEY_WEBHOOKS: JSON.stringify([
      { base_url: 'https://a.example', secret: SECRET, api_key: 'hidden-key', headers: { a: 'hidden' } },
    ]),
  })
  const line = describeConfig(config, origins).find((text) => text.startsWith('webhooks'))
  expect(line).toMatch(/^webhooks +https:\/\/a\.example +PARLEY_WEBHOOKS$/)
})

test.each<[unknown, RegExp]>([
  ['no json', /PARLEY_WEBHOOKS must be JSON/],
  [{}, /must be a list/],
  [['http://a'], /\[0\] must be an object/],
  [[{ base_url: 'ftp://a' }], /\[0\]\.base_url must be an address/],
  [[{ base_url: 'http://user:pw@a' }], /no user or password/],
  [[{ base_url: 'http://localhost', colour: 1 }], /unknown member "colour"/],
  [[{ base_url: 'http://localhost' }, { base_url: 'http://localhost/' }], /twice/],
  [[{ base_url: 'http://localhost', secret: 'whsec_short' }], /24 to 64 random bytes/],
  [[{ base_url: 'http://localhost', secret: 'plain text' }], /secret must be whsec_/],
  [[{ base_url: 'http://localhost', headers: { 'bad name': 'x' } }], /headers must be/],
  [[{ base_url: 'http://localhost', headers: { a: 'line\nbreak' } }], /headers must be/],
  [[{ base_url: 'http://localhost', event_buffer_size: 0 }], /event_buffer_size must be a whole number from 1/],
  [[{ base_url: 'http://localhost', flush_delay: 0 }], /flush_delay must be a number of seconds above 0/],
])('the webhooks %j are refused', (value, message) => {
  expect(() => webhooks(value)).toThrow(ConfigError)
  expect(() => webhooks(value)).toThrow(message)
})
