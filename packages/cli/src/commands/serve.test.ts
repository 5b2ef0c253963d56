import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { verifies } from '../../../../test/verifies.ts'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

const shell = async (line: string) => (await promisify(execFile)('sh', ['-c', line])).stdout

verifies(
  'design.keys.first-start',
  'the first start prints the address, a link of the web UI and a key that works, later ones no key',
  async () => {
    await using folder = await temporaryFolder()
    const options = { dataDir: folder.path }
    let key: string
    {
      await using first = (await startServer(options)).parley
      const [, url] = await first.prints(/^parley is listening on (http:\/\/127\.0\.0\.1:\d+)$/m)
      const [, file, command] = await first.prints(/^your key is in (\S+): (curl .*)$/m)
      key = (await readFile(join(folder.path, 'first-key'), 'utf8')).trim()
      expect([file, first.stdout.includes(key)]).toEqual([join(folder.path, 'first-key'), false])
      expect(JSON.parse(await shell(`${command!} --silent`))).toMatchObject({ items: [] })
      const ask = (headers: Record<string, string>) => fetch(`${url}/api/conversations/count`, { headers })
      expect((await ask({ 'X-Session-API-Key': key })).status).toBe(200)
      expect((await ask({})).status).toBe(401)
      const { mode } = await stat(join(folder.path, 'first-key'))
      expect(mode & 0o777).toBe(0o600)
      first.process.kill('SIGTERM')
      expect(await first.exit()).toBe(0)
      expect(first.stdout.trim().split('\n').length).toBe(3)
    }
    await using second = (await startServer(options)).parley
    const { url, pid } = JSON.parse(await readFile(join(folder.path, 'server.json'), 'utf8')) as {
      url: string
      pid: number
    }
    expect(pid).toBe(second.process.pid)
    expect((await fetch(`${url}/api/conversations/count`, { headers: { 'X-Session-API-Key': key } })).status).toBe(200)
    second.process.kill('SIGINT')
    expect(await second.exit()).toBe(0)
    expect(second.stdout.trim().split('\n').length).toBe(2)
  },
)

test.skipIf(process.getuid?.() !== 0)(
  'a start as root is refused with the remedy, before anything is created',
  async () => {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    const options = { dataDir: folder.path, env: { PARLEY_ALLOW_ROOT: '' } }
    expect(await run(['serve', '--port', '0', '--data-dir', dataDir], options)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'parley serve: the server does not start in the mode personal (account): it would run as root (user id 0), and so would ' +
        'commands of agents; start it as another user, or set PARLEY_ALLOW_ROOT=true (--allow-root), for example in a container\n',
    })
    await expect(stat(dataDir)).rejects.toThrow('ENOENT')
    expect((await run(['keys', 'list', '--data-dir', dataDir], options)).code).toBe(0)
  },
)

test('a server continues after the reader of its output has closed it', async () => {
  await using folder = await temporaryFolder()
  const { parley, url } = await startServer({ dataDir: folder.path })
  await using server = parley
  server.process.stdout!.destroy()
  expect((await fetch(`${url}/alive`)).status).toBe(200)
  server.process.kill('SIGTERM')
  expect(await server.exit()).toBe(0)
})

test('the error for a taken port names the remedy', async () => {
  await using folder = await temporaryFolder()
  await using other = await temporaryFolder()
  const { parley, url } = await startServer({ dataDir: folder.path })
  await using _server = parley
  const { port } = new URL(url)
  const { code, stderr } = await run(['serve', '--port', port], { dataDir: other.path })
  expect(code).toBe(1)
  expect(stderr).toBe(
    `parley serve: port ${port} of 127.0.0.1 is taken; choose another with --port, or any free one with --port 0\n`,
  )
})

test('a second server on one data directory is refused with pid and address of the first, until that one is killed', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: folder.path }
  const { parley: first, url } = await startServer(options)
  await using _first = first
  const refused = await run(['serve', '--port', '0'], options)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toBe(
    `parley serve: the data directory ${folder.path} is in use by the server with pid ${first.process.pid} at ${url}; ` +
      'stop that server, or name another directory with --data-dir\n',
  )
  expect((await fetch(`${url}/health`)).status, 'the first server is not disturbed').toBe(200)
  // A stopped process still holds the lock, because it may continue. A server without stored conversations is refused too.
  first.process.kill('SIGSTOP')
  expect((await run(['serve', '--port', '0', '--ephemeral'], options)).code).toBe(1)
  first.process.kill('SIGKILL')
  await first.exit()
  await using _second = (await startServer(options)).parley
})
