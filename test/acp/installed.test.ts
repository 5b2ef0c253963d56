/** `GET /api/acp/servers`: which known agents a conversation would find. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'
import { startBench, type Bench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
const path = process.env['PATH'] ?? ''
beforeAll(async () => {
  server = await startBench()
})
afterAll(() => server[Symbol.asyncDispose]())

const list = async (headers?: Record<string, string>) =>
  (await server.call('GET', '/api/acp/servers', undefined, headers)).body.servers
const one = async (id: string, headers?: Record<string, string>) =>
  (await list(headers)).find((each: { id: string }) => each.id === id)

test('the known agents are listed with the commands that install them', async () => {
  const servers = await list()
  expect(servers.map(({ id }: any) => id)).toEqual(['claude-code', 'codex', 'gemini-cli'])
  for (const each of servers) expect(each.install).toMatch(/^npm install -g @[\w-]+\/[\w-]+@\d+\.\d+\.\d+$/)
})

test('a stored secret counts as the login of its own user alone', async () => {
  await server.call('PUT', '/api/settings/secrets', { name: 'OPENAI_API_KEY', value: 'a key of the default user' })
  expect(await one('codex')).toMatchObject({ login: 'secret', secret_name: 'OPENAI_API_KEY' })
  expect((await one('codex', server.bob)).login).not.toBe('secret')
})

test('an installed agent has its version, a foreign program has none, and neither is started', async () => {
  const bin = server.dir.file('bin')
  const folder = server.dir.file('node_modules', '@agentclientprotocol', 'codex-acp')
  const started = server.dir.file('started')
  const program = `#!/bin/sh\ntouch ${started}\n`
  await mkdir(bin)
  await mkdir(join(folder, 'dist'), { recursive: true })
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: '@agentclientprotocol/codex-acp', version: '9.8.7', login: null }, null, 2),
  )
  for (const file of [join(folder, 'dist', 'index.js'), join(bin, 'gemini')]) {
    await writeFile(file, program)
    await chmod(file, 0o755)
  }
  await symlink(join(folder, 'dist', 'index.js'), join(bin, 'codex-acp'))
  const home = server.dir.file('home')
  await mkdir(join(home, '.gemini'), { recursive: true })
  await writeFile(join(home, '.gemini', 'oauth_creds.json'), '{}')
  await using other = await startRunning(() => ({ text: '' }), { PATH: `${bin}:${path}`, HOME: home }, 'process')
  const { body } = await other.call('GET', '/api/acp/servers')
  expect(body.servers.slice(1)).toMatchObject([
    { id: 'codex', installed: true, version: '9.8.7', login: null },
    { id: 'gemini-cli', installed: true, version: null, login: 'file' },
  ])
  expect(existsSync(started)).toBe(false)
})
