import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run, startServer, temporaryFolder } from '../testing/parley.ts'

test('parley ls lists the conversations of its directory, whose short ids other commands accept', async () => {
  await using folder = await temporaryFolder()
  const [here, there] = [join(folder.path, 'here'), join(folder.path, 'there')]
  await Promise.all([here, there].map((path) => mkdir(path)))
  const script = join(folder.path, 'script.json')
  await writeFile(script, JSON.stringify([{ text: 'Hello.' }]))
  const options = { dataDir: join(folder.path, 'data'), cwd: here }
  await using _server = (await startServer({ ...options, env: { LLM_MODEL: `scripted/${script}` } })).parley
  expect((await run(['ls'], options)).stdout).toMatch(/^no conversations in this directory/)
  await run(['chat'], options, 'hi\n')
  await run(['chat', '--workspace', there], options, 'hi\n')

  const { stdout } = await run(['ls'], options)
  const [head, row, ...rest] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^id +status +changed \(UTC\) +title$/)
  expect(row).toMatch(/^[0-9a-f]{8} +finished +\d{4}-\d\d-\d\d \d\d:\d\d/)
  expect(rest).toEqual([])
  expect((await run(['ls', '--all'], options)).stdout.trimEnd().split('\n').length).toBe(3)
  const all = (await run(['ls', '--all', '--json', '--limit', '1'], options)).stdout
  expect(JSON.parse(all)).toMatchObject({ status: 'finished', directory: there })

  const id = row!.slice(0, 8)
  const chat = await run(['chat', '--conversation', id], options, '/quit\n')
  expect(chat.stdout).toMatch(new RegExp(`^conversation ${id}\\S+ in ${here}$`, 'm'))
  const unknown = await run(['tail', '00000000'], options)
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/no conversation has an id that begins/)])
  expect((await run(['tail', 'xyz'], options)).stderr).toMatch(/"xyz" is no id of a conversation/)
})
