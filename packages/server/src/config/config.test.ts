import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { describeConfig, readConfig } from './config.ts'
import { isLoopback } from './loopback.ts'
import { ConfigError } from './error.ts'
import { configFlags } from './settings.ts'

const dir = mkdtempSync(join(tmpdir(), 'parley-config-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const read = (env: Record<string, string> = {}, flags: Record<string, string | boolean> = {}) =>
  readConfig({ flags, env, cwd: '/work dir', home: '/home/ada' })

function file(content: unknown): string {
  const path = join(dir, `parley-${Math.random().toString(36).slice(2)}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

test('without any configuration, the server listens on loopback and keeps its data in the home folder', () => {
  const { config, origins } = read()
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 8000,
    dataDir: '/home/ada/.parley',
    sessionApiKeys: [],
    secretKey: null,
    withoutKeys: false,
    runner: { orphanExitMs: 900_000 },
  })
  expect(new Set(Object.values(origins))).toEqual(new Set(['default']))
})

test('XDG_DATA_HOME moves the data folder, and a relative one is ignored', () => {
  expect(read({ XDG_DATA_HOME: '/data' }).config.dataDir).toBe('/data/parley')
  expect(read({ XDG_DATA_HOME: 'data' }).config.dataDir).toBe('/home/ada/.parley')
})

verifies(
  'design.config.precedence',
  'a flag takes precedence over the environment, and the environment over the file',
  () => {
    const path = file({ port: 1, host: 'file.example', log_level: 'warn' })
    const { config, origins } = read(
      { PARLEY_CONFIG: path, PARLEY_PORT: '2', PARLEY_HOST: 'env.example' },
      { port: '3' },
    )
    expect(config).toMatchObject({ port: 3, host: 'env.example', logLevel: 'warn' })
    expect(origins).toMatchObject({
      port: '--port',
      host: 'PARLEY_HOST',
      log_level: `${path}: log_level`,
      data_dir: 'default',
    })
  },
)

test('--config takes precedence over PARLEY_CONFIG', () => {
  const { config } = read({ PARLEY_CONFIG: file({ port: 1 }) }, { config: file({ port: 2 }) })
  expect(config.port).toBe(2)
})

test.each<[Record<string, string>, string[], string]>([
  [{ PARLEY_SESSION_API_KEYS: 'a, b,,a' }, ['a', 'b'], 'PARLEY_SESSION_API_KEYS'],
  [{ SESSION_API_KEY: 'with,comma' }, ['with,comma'], 'SESSION_API_KEY'],
  [
    { OH_SESSION_API_KEYS_0: 'a', OH_SESSION_API_KEYS_1: 'b', OH_SESSION_API_KEYS_3: 'd' },
    ['a', 'b'],
    'OH_SESSION_API_KEYS_0…',
  ],
  [{ OH_SESSION_API_KEYS: '["a","b"]' }, ['a', 'b'], 'OH_SESSION_API_KEYS'],
  [{ PARLEY_SESSION_API_KEYS: 'a', SESSION_API_KEY: 'b' }, ['a'], 'PARLEY_SESSION_API_KEYS'],
  [{ PARLEY_SESSION_API_KEYS: '', SESSION_API_KEY: 'b' }, ['b'], 'SESSION_API_KEY'],
])('session keys from %o are %o', (env, keys, origin) => {
  const { config, origins } = read(env)
  expect(config.sessionApiKeys).toEqual(keys)
  expect(origins.session_api_keys).toBe(origin)
})

verifies('design.config.oh-names', 'environment names of existing deployments are understood', () => {
  const { config } = read({
    OH_SECRET_KEY: 's',
    OH_ALLOW_CORS_ORIGINS_0: 'https://a.example',
    OH_ALLOW_CORS_ORIGINS_1: 'https://b.example',
    OH_CONVERSATION_IDLE_TTL_SECONDS: 'null',
    OH_MAX_CONCURRENT_RUNS: '7',
  })
  expect(config).toMatchObject({
    secretKey: 's',
    corsOrigins: ['https://a.example', 'https://b.example'],
    idleUnloadMs: null,
    maxConcurrentRuns: 7,
  })
})

test('the model of conversations that name none comes from the environment', () => {
  const { config, origins } = read({
    LLM_MODEL: 'ollama/x',
    LLM_BASE_URL: 'http://10.0.0.2:11434',
    PARLEY_LLM_API_KEY: 'k',
  })
  expect(config.llm).toEqual({ model: 'ollama/x', baseUrl: 'http://10.0.0.2:11434', apiKey: 'k' })
  expect(origins.llm_model).toBe('LLM_MODEL')
  expect(describeConfig(config, origins).join('\n')).toMatch(/^llm_api_key +set, hidden +PARLEY_LLM_API_KEY$/m)
})

test('relative paths start at the working directory; in the configuration file, at the folder of the file', () => {
  expect(read({}, { 'data-dir': 'data' }).config.dataDir).toBe('/work dir/data')
  expect(read({ PARLEY_DATA_DIR: '~/data' }).config.dataDir).toBe('/home/ada/data')
  expect(read({ PARLEY_CONFIG: file({ data_dir: 'data' }) }).config.dataDir).toBe(join(dir, 'data'))
})

test.each<[Record<string, string>, Record<string, string | boolean>, RegExp]>([
  [{ PARLEY_PORT: '80a' }, {}, /^PARLEY_PORT must be a whole number from 0 to 65535, not "80a"$/],
  [{}, { port: '70000' }, /^--port must be/],
  [{ PARLEY_LOG_LEVEL: 'loud' }, {}, /^PARLEY_LOG_LEVEL must be one of fatal/],
  [{ PARLEY_WITHOUT_KEYS: 'maybe' }, {}, /^PARLEY_WITHOUT_KEYS must be true or false/],
  [
    { PARLEY_WITHOUT_KEYS: '1', PARLEY_HOST: '0.0.0.0' },
    {},
    /loopback only.*PARLEY_HOST.*use 127\.0\.0\.1, or remove PARLEY_WITHOUT_KEYS/,
  ],
  [{ SESSION_API_KEY: 'a' }, { 'without-keys': true }, /--without-keys.*SESSION_API_KEY.*remove one/],
  [
    { OH_SESSION_API_KEYS_0: 'x'.repeat(16), OH_SESSION_API_KEYS_1: 'x'.repeat(15) },
    { host: '0.0.0.0' },
    /^OH_SESSION_API_KEYS_0… holds a key with fewer than 16 characters.*host is 0\.0\.0\.0 \(--host\).*openssl rand -hex 32$/,
  ],
  [{ PARLEY_ALLOW_CORS_ORIGINS: 'example.org' }, {}, /^PARLEY_ALLOW_CORS_ORIGINS must be origins such as/],
  [{ LLM_BASE_URL: '10.0.0.2:80' }, {}, /^LLM_BASE_URL must be an address such as/],
  [{ PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '0' }, {}, /above 0/],
  [{ PARLEY_CONFIG: '/nowhere/parley.json' }, {}, /PARLEY_CONFIG names \/nowhere\/parley\.json/],
])('the environment %o with the flags %o is refused with a remedy', (env, flags, message) => {
  expect(() => read(env, flags)).toThrow(ConfigError)
  expect(() => read(env, flags)).toThrow(message)
})

test('a short key is accepted on loopback, and a long one on every address', () => {
  expect(read({ SESSION_API_KEY: 'a' }).config.sessionApiKeys).toEqual(['a'])
  const key = 'x'.repeat(16)
  expect(read({ SESSION_API_KEY: key, PARLEY_HOST: '0.0.0.0' }).config.sessionApiKeys).toEqual([key])
})

test.each([
  ['{"prot": 1}', /unknown member "prot"; known are host, port/],
  ['[]', /must hold one JSON object/],
  ['{', /cannot be read as JSON/],
  ['{"port": null}', /: port must be a whole number/],
])('a configuration file with %s is refused', (content, message) => {
  expect(() => read({}, { config: file(content) })).toThrow(message)
})

test.each<Record<string, string>>([
  { PARLEY_SESSION_API_KEYS: 'hidden word and spaces' },
  { OH_SESSION_API_KEYS: '["hidden"' },
])('a refused session key is not part of the message: %#', (env) => {
  expect(() => read(env)).toThrow(ConfigError)
  expect(() => read(env)).not.toThrow(/hidden/)
})

verifies(
  'design.config.print',
  'the printed configuration shows value and origin of every setting and hides secrets',
  () => {
    const { config, origins } = read({
      PARLEY_SESSION_API_KEYS: 'key-one,key-two',
      PARLEY_SECRET_KEY: 'sealing',
      PARLEY_PORT: '9',
    })
    const text = describeConfig(config, origins).join('\n')
    expect(text).toMatch(/^port +9 +PARLEY_PORT$/m)
    expect(text).toMatch(/^session_api_keys +2 set, hidden +PARLEY_SESSION_API_KEYS$/m)
    expect(text).toMatch(/^secret_key +set, hidden +PARLEY_SECRET_KEY$/m)
    expect(text).toMatch(/^host +127\.0\.0\.1 +default$/m)
    expect(text).not.toMatch(/key-one|sealing/)
  },
)

test('the flags of the settings have descriptions and defaults', () => {
  const { port, ephemeral, config, ...others } = configFlags()
  expect(port).toEqual({
    type: 'string',
    value: 'PORT',
    short: 'p',
    about: 'Port to listen on; 0 selects a free one (default 8000)',
  })
  expect(ephemeral).toEqual({ type: 'boolean', about: 'Keeps conversations in memory; they end with the server' })
  expect(config).toMatchObject({ type: 'string', value: 'FILE' })
  expect(Object.keys(others)).toEqual(['host', 'data-dir', 'mode', 'allow-root', 'without-keys', 'log-level'])
})

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['127.evil.example', false],
])('isLoopback of %s is %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

test('the password of a database is shown by no line of parley config and by no refusal', () => {
  const url = 'postgres://ada:pass%2Fword@db.example:5432/parley'
  const { config, origins } = read({ PARLEY_DATABASE_URL: url })
  expect(config.databaseUrl).toBe(url)
  expect(describeConfig(config, origins).join('\n')).toMatch(/^database_url +set, hidden +PARLEY_DATABASE_URL$/m)
  for (const wrong of ['mysql://ada:secret-word@db/x', 'ada:secret-word@db', 'postgres://ada:secret-word@db:port/x'])
    expect(() => read({ PARLEY_DATABASE_URL: wrong })).toThrow(
      /^PARLEY_DATABASE_URL must be an address such as postgres:\/\/user:password@host:5432\/name(?!.*secret-word)/,
    )
})

test('conversations in memory and a database exclude each other', () => {
  expect(() => read({ PARLEY_DATABASE_URL: 'postgres://db/x', PARLEY_EPHEMERAL: 'true' })).toThrow(
    'PARLEY_EPHEMERAL keeps conversations in memory, but PARLEY_DATABASE_URL names a database; remove one of the two',
  )
})
