import { expect, test } from 'vitest'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

test('a key created beside a running server is valid from its creation to its end', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: folder.path }
  const { parley, url } = await startServer(options)
  await using _server = parley
  const status = async (key: string) =>
    (await fetch(`${url}/api/conversations/count`, { headers: { 'X-Session-API-Key': key } })).status
  const keys = async (...argv: string[]) => {
    const { code, stdout, stderr } = await run(['keys', ...argv], options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }
  const read = (text: string) => ({ id: /^key (\S+) of/m.exec(text)![1]!, key: text.split('\n')[1]! })

  const first = read(
    await keys(
      'create',
      '--mode',
      'shared',
      '--user',
      'ada',
      '--role',
      'user',
      '--label',
      'laptop',
      '--expires',
      '90d',
    ),
  )
  expect(await status(first.key)).toBe(200)
  const list = await keys('list')
  expect(list).toMatch(new RegExp(`^${first.id} +ada +user +until 20\\d\\d-\\d\\d-\\d\\d +20\\S+ +laptop$`, 'm'))
  expect(list).not.toContain(first.key)

  const second = read(await keys('rotate', first.id))
  expect(await status(second.key)).toBe(200)
  expect(await status(first.key)).toBe(401)

  await keys('revoke', second.id)
  expect(await status(second.key)).toBe(401)
})

test('keys are created for one user, and for a second one only in the mode shared', async () => {
  await using folder = await temporaryFolder()
  const create = (user: string, ...flags: string[]) =>
    run(['keys', 'create', '--user', user, ...flags], { dataDir: folder.path })
  expect((await create('ada')).code).toBe(0)
  expect((await create('ada')).code).toBe(0)
  expect(await create('bob')).toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      'parley keys: This server is for one user, and bob would be another one: set PARLEY_MODE=shared for several users.\n',
  })
  expect((await create('bob', '--mode', 'shared')).code).toBe(0)
  // Both exist now, whatever the mode.
  expect((await create('bob')).code).toBe(0)
})

test.each<[string[], number, RegExp]>([
  [['revoke', 'nobody'], 1, /there is no key nobody; parley keys list shows them/],
  [['revoke'], 2, /keys revoke needs the id of a key/],
  [['create', '--role', 'king'], 2, /--role must be one of admin, user, read-only, webhook, not "king"/],
  [['create', '--expires', 'soon'], 2, /"soon" is no time/],
  [['forge'], 2, /keys can create, list, revoke and rotate, not "forge"/],
])('keys %o ends with %d', async (argv, expected, message) => {
  await using folder = await temporaryFolder()
  const { code, stderr } = await run(['keys', ...argv], { dataDir: folder.path })
  expect(code).toBe(expected)
  expect(stderr).toMatch(message)
})
