import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

test('the sealing key of a stopped server is replaced, and its secrets stay readable', async () => {
  await using folder = await temporaryFolder()
  const dataDir = join(folder.path, 'data')
  const keyFile = join(dataDir, 'secret-key')
  const options = {
    dataDir: folder.path,
    env: { PARLEY_SESSION_API_KEYS: 'a-key-of-the-test', PARLEY_DATA_DIR: dataDir },
  }
  const rekey = (...argv: string[]) => run(['secrets', 'rekey', ...argv], options)
  const call = async (url: string, method: string, path: string, body?: object) => {
    const headers = { 'X-Session-API-Key': 'a-key-of-the-test', 'Content-Type': 'application/json' }
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return answer.text()
  }
  {
    const { parley, url } = await startServer(options)
    await using _server = parley
    await call(url, 'POST', '/api/secrets', { name: 'TOKEN', value: 'kept under both keys' })
    const { code, stderr } = await rekey('--no-backup')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/is in use by the server with pid \d+.*stop that server/)])
  }
  const before = await readFile(keyFile, 'utf8')
  const backup = join(folder.path, 'backup')
  const first = await rekey('--backup', backup)
  expect([first.code, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toMatch(
    /^backed up to .*backup; delete it.*\nthe store has the new key\nsealed 1 values with the new key [0-9a-f]{8}\nthe new key is in .*secret-key\n$/,
  )
  expect(await readFile(`${backup}.key`, 'utf8')).toBe(before)
  expect(await readFile(keyFile, 'utf8')).not.toBe(before)

  const text = join(folder.path, 'new-key')
  await writeFile(text, 'a text of the operator\n')
  const second = await rekey('--no-backup', '--new-key', text)
  expect(second.stdout).toMatch(/set PARLEY_SECRET_KEY to the text in .*new-key before the next start\n$/)
  const configured = { ...options, env: { ...options.env, PARLEY_SECRET_KEY: 'a text of the operator' } }
  const { parley, url } = await startServer(configured)
  await using _server = parley
  expect(await call(url, 'GET', '/api/settings/secrets/TOKEN')).toBe('kept under both keys')
})

test.each<[string[], RegExp]>([
  [['rekey'], /needs either --backup DIR or --no-backup/],
  [['rekey', '--backup', 'x', '--no-backup'], /needs either --backup DIR or --no-backup/],
  [['list'], /secrets can rekey, not "list"/],
  [[], /something is missing/],
])('parley secrets %j is refused with the reason', async (argv, message) => {
  await using folder = await temporaryFolder()
  const { code, stderr } = await run(['secrets', ...argv], { dataDir: folder.path })
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
})
