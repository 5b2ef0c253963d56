import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

test('a backup of a running server, restored with its key, has the same keys and secrets', async () => {
  await using folder = await temporaryFolder()
  const at = (name: string) => join(folder.path, name)
  const parley = async (...argv: string[]) => {
    const { code, stdout, stderr } = await run(argv, { dataDir: folder.path })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }
  const serve = (name: string) => startServer({ dataDir: folder.path }, ['--port', '0', '--data-dir', at(name)])
  const call = async (url: string, key: string, method: string, path: string, body?: object) => {
    const headers = { 'X-Session-API-Key': key, 'Content-Type': 'application/json' }
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: response.status, text: await response.text() }
  }

  let key: string
  {
    const { parley: server, url } = await serve('data')
    await using _server = server
    const [, file] = await server.prints(/^your key is in (\S+): /m)
    key = (await readFile(file!, 'utf8')).trim()
    const secret = { name: 'TOKEN', value: 'kept-in-the-backup' }
    expect((await call(url, key, 'POST', '/api/secrets', secret)).status).toBe(201)
    expect(await parley('backup', at('first'), '--data-dir', at('data'))).toMatch(
      /^backed up .*\nnot part of it: the sealing key .*secret-key; a restore needs a copy of it\n$/,
    )
    expect(await parley('backup', 'second', '--key', 'key', '--workspaces', '--data-dir', at('data'))).toMatch(
      /^backed up .*\/second: \d+ files, \d+ bytes\nthe sealing key is in .*\/key; keep it apart from the backup\n$/,
    )
  }
  expect((await readdir(folder.path)).filter((name) => name.includes('partial'))).toEqual([])
  expect(await parley('restore', 'second', '--key', 'key', '--data-dir', at('restored'))).toMatch(
    /^restored \d+ files of the backup of 20\S+Z into .*\/restored\nconversations that were running: 0; they start paused/,
  )
  const { parley: server, url } = await serve('restored')
  await using _server = server
  expect(await call(url, key, 'GET', '/api/settings/secrets/TOKEN')).toEqual({
    status: 200,
    text: 'kept-in-the-backup',
  })
}, 30_000)

test.each<[string[], number, RegExp]>([
  [['backup'], 2, /^parley backup: something is missing: parley backup TARGET \[flags\]\n/],
  [
    ['backup', 'copy'],
    1,
    /^parley backup: there is no store \S+; name the data directory of a server with --data-dir\n$/,
  ],
  [['restore', 'a', 'b'], 2, /^parley restore: "b" is one word too many/],
  [['restore', 'copy', '--data-dir', 'new'], 1, /^parley restore: \S+ is no backup: it has no manifest\.ndjson; .*\n$/],
  [
    ['restore', 'copy'],
    1,
    /^parley restore: the data directory \S+ is not empty: it contains \S+; name a new directory.*\n$/,
  ],
])('parley %o ends with %d and one line that names the remedy', async (argv, expected, message) => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'some-file'), '')
  const { code, stdout, stderr } = await run(argv, { dataDir: folder.path })
  expect({ code, stdout }).toEqual({ code: expected, stdout: '' })
  expect(stderr).toMatch(message)
})
