import { createServer, type AddressInfo } from 'node:net'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientOf, Parley, run, startServer, temporaryFolder } from '../testing/parley.ts'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('parley tail prints every event once, across a kill and restart of the server', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: join(folder.path, 'data') }
  const flags = ['--port', String(await freePort())]
  const { parley: first, url } = await startServer(options, flags)
  await using _first = first
  const key = (await readFile(join(options.dataDir, 'first-key'), 'utf8')).trim()
  await mkdir(join(folder.path, 'work'))
  await writeFile(
    join(folder.path, 'script.json'),
    JSON.stringify(Array.from({ length: 9 }, (_, n) => ({ text: `answer ${n + 1}` }))),
  )
  const { id } = await clientOf(url, key).start({
    agent: { kind: 'Agent', llm: { model: `scripted/${join(folder.path, 'script.json')}` } },
    workspace: { working_dir: join(folder.path, 'work') },
  })
  const conversation = clientOf(url, key).conversation(id)

  await using tail = new Parley(['tail', id, '--json'], options)
  await conversation.send('one')
  await tail.prints(/answer 1[\s\S]*"finished"/)
  first.process.kill('SIGKILL')
  await first.exit()
  await using _second = (await startServer(options, flags)).parley
  await conversation.send('two')
  await tail.prints(/answer 2[\s\S]*"finished"/)

  const seqs = tail.stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq)
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => n + 1))
  tail.process.kill('SIGINT')
  expect(await tail.exit()).toBe(0)

  await using rest = new Parley(['tail', id, '--after', String(seqs.length - 1), '--json'], options)
  await rest.prints(/\n/)
  expect(JSON.parse(rest.stdout.split('\n')[0]!)).toMatchObject({ seq: seqs.length })
})

test('parley tail says that a conversation does not exist', async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: folder.path }
  await using _server = (await startServer(options)).parley
  const { code, stderr } = await run(['tail', '0b8f1c9e-3c1a-4f1e-9d51-2f4f7f1f2a77'], options)
  expect(code).toBe(1)
  expect(stderr).toMatch(/refused with 404/)
})
