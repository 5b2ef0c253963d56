import { expect, test } from 'vitest'
import { run, temporaryFolder } from '../testing/parley.ts'

test('users are listed, disabled, enabled and deleted in a data directory without a running server', async () => {
  await using folder = await temporaryFolder()
  const parley = (...argv: string[]) => run(argv, { dataDir: folder.path })
  const users = async () =>
    (await parley('users', 'list')).stdout.split('\n').map((line) => line.split(/ +/).slice(0, 2))
  expect((await parley('users', 'list')).stdout).toMatch(/^no users/)
  for (const name of ['ada', 'bob']) await parley('keys', 'create', '--mode', 'shared', '--user', name)
  expect((await parley('users', 'disable', 'ada')).stdout).toMatch(/^user ada is disabled: its keys are refused/)
  expect(await users()).toEqual([['ada', 'disabled'], ['bob', 'active'], ['']])
  expect((await parley('users', 'enable', 'ada')).code).toBe(0)
  expect((await parley('users', 'delete', 'bob')).stdout).toMatch(/the next start does$/m)
  expect(await users()).toEqual([['ada', 'active'], ['bob', 'deleting'], ['']])
})

test.each<[string[], number, RegExp]>([
  [['disable', 'unknown'], 1, /There is no user unknown/],
  [['disable'], 2, /users disable needs the name of a user/],
  [['delete', 'default'], 1, /User default has the keys of the environment/],
  [['forget', 'ada'], 2, /users can list, disable, enable and delete, not "forget"/],
])('users %o ends with %d', async (argv, expected, message) => {
  await using folder = await temporaryFolder()
  const { code, stderr } = await run(['users', ...argv], { dataDir: folder.path })
  expect(code).toBe(expected)
  expect(stderr).toMatch(message)
})
