import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { conditionsOf, expectMet } from './mode-conditions.ts'

const configOf = (env: Record<string, string> = {}) =>
  readConfig({ flags: {}, env: { PARLEY_DATA_DIR: '/srv/parley', ...env }, cwd: '/', home: '/home/ann' }).config
const GOOD = { uid: 1000, withoutSandbox: null, dataDirMode: 0o700, runnerUser: null }

/** Name and remedy of the conditions that are not met. */
const unmet = (env: Record<string, string>, facts: Partial<Parameters<typeof conditionsOf>[2]> = {}) => {
  const config = configOf(env)
  const conditions = conditionsOf(config.mode, config, { ...GOOD, ...facts })
  return conditions.filter(({ remedy }) => remedy !== null).map(({ name }) => name)
}

test('a server in the mode shared needs no further setting where a sandbox works', () => {
  const { sandbox, workspaceRoots } = configOf({ PARLEY_MODE: 'shared' })
  expect(sandbox.mode).toBe('required')
  expect(workspaceRoots).toEqual({ everyone: [], users: {} })
  expect(unmet({ PARLEY_MODE: 'shared' })).toEqual([])
})

test('a server in the mode personal keeps the defaults of one user', () => {
  const { mode, workspaceRoots } = configOf()
  expect({ mode, workspaceRoots }).toEqual({ mode: 'personal', workspaceRoots: null })
  const bare = { withoutSandbox: { reason: 'no bubblewrap', remedy: 'install it' }, dataDirMode: 0o755 }
  expect(unmet({ PARLEY_SANDBOX: 'off', PARLEY_WITHOUT_KEYS: '1' }, bare)).toEqual([])
})

test.each<[string, Record<string, string>, object, string]>([
  ['the sandbox off', { PARLEY_SANDBOX: 'off' }, {}, 'sandbox setting'],
  ['a sandbox that may be missing', { PARLEY_SANDBOX: 'auto' }, {}, 'sandbox setting'],
  [
    'a machine without bubblewrap',
    {},
    { withoutSandbox: { reason: 'bwrap is not in PATH', remedy: 'install it' } },
    'sandbox',
  ],
  ['no keys', { PARLEY_WITHOUT_KEYS: 'true' }, {}, 'keys'],
  ['a key that can be guessed', { PARLEY_SESSION_API_KEYS: 'short' }, {}, 'keys'],
  ['a data directory that others can enter', {}, { dataDirMode: 0o755 }, 'data directory'],
  ['the account root', {}, { uid: 0 }, 'account'],
])('a server in the mode shared refuses %s', (_, env, facts, name) => {
  expect(unmet({ PARLEY_MODE: 'shared', ...env }, facts)).toEqual([name])
})

test('an account root is refused in both modes, unless it is allowed', () => {
  for (const mode of ['personal', 'shared']) {
    expect(unmet({ PARLEY_MODE: mode }, { uid: 0 })).toEqual(['account'])
    expect(unmet({ PARLEY_MODE: mode, PARLEY_ALLOW_ROOT: 'true' }, { uid: 0 })).toEqual([])
  }
})

test('the refusal is one sentence with the mode, the condition, what was found, and the remedy', () => {
  const config = configOf({ PARLEY_MODE: 'shared', PARLEY_SANDBOX: 'auto' })
  expect(() => expectMet(conditionsOf('shared', config, GOOD), 'shared')).toThrow(
    'the server does not start in the mode shared (sandbox setting): sandbox is auto; set PARLEY_SANDBOX=required, or remove the setting',
  )
})
