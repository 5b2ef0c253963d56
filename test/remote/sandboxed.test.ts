/** Conversations whose commands run in sandboxes on another server. Source: docs/remote-workspace.md. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import {
  agentOf,
  eventsOf,
  finish,
  REMOTE_KEY,
  run,
  startOn,
} from '../../packages/server/testing/remote-conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { startBench } from '../../packages/server/testing/two-user-server.ts'
import { until } from '../../packages/server/testing/until.ts'

const sandboxedServer = (dir: TempDir, port: number): Promise<ServerProcess> =>
  startServerProcess({
    dataDir: dir.file('b'),
    env: { PARLEY_SESSION_API_KEYS: REMOTE_KEY, HOME: dir.path, PARLEY_SANDBOX: 'required' },
    port,
  })

const statusOf = async (server: ServerProcess, id: string): Promise<string> =>
  (await server.call('GET', `/api/conversations/${id}`)).body.execution_status

const count = (work: string) =>
  run(
    `echo once >> ${work}/count; for i in 1 2 3 4; do echo $i; done; until [ -e ${work}/go ]; do sleep 0.05; done; echo 5; (exit 3)`,
    {
      timeout: 60,
    },
  )

test.each(['here', 'there'])(
  'a command in a sandbox on the other server runs once to its end when the server %s is killed during it',
  async (killed) => {
    await using dir = await tempDir()
    const work = dir.file('work')
    const left = run('(trap "" TERM; sleep 300) & setsid sleep 301 & sleep 302', { timeout: 1 })
    await using model = await startScriptedModel({ by: 'turn', answers: [count(work), run('echo next'), left, finish] })
    const ports = { here: await freePort(), there: await freePort() }
    const startHere = () => startServerProcess({ dataDir: dir.file('a'), port: ports.here })
    await using stack = new AsyncDisposableStack()
    let here = stack.use(await startHere())
    const there = stack.use(await sandboxedServer(dir, ports.there))
    const workspace = { kind: 'RemoteWorkspace', working_dir: work, host: there.url, api_key: REMOTE_KEY }
    const id = await startOn(here, { workspace, agent: agentOf(model.url) })
    await until(() => existsSync(join(work, 'count')))
    await (killed === 'here' ? here : there).kill()
    if (killed === 'here') here = stack.use(await startHere())
    else stack.use(await sandboxedServer(dir, ports.there))
    await writeFile(join(work, 'go'), '')
    await until(async () => (await statusOf(here, id)) === 'finished', 40_000)

    const told = (await eventsOf(here, id)).filter(
      ({ kind }) => kind === 'ObservationEvent' || kind === 'AgentErrorEvent',
    )
    const texts = told.map((event) => event.error ?? event.observation.content.map(({ text }: any) => text).join(''))
    expect(texts.slice(0, 2)).toEqual(['1\n2\n3\n4\n5', 'next'])
    expect(told[0].observation).toMatchObject({ exit_code: 3, is_error: false })
    expect(await readFile(join(work, 'count'), 'utf8')).toBe('once\n')
    expect(await processesOf(work, 'sleep 30')).toHaveLength(3)
    await here.call('DELETE', `/api/conversations/${id}`)
    await until(async () => (await processesOf(work, 'sleep 30')).length === 0)
  },
  120_000,
)

test('paths in the home of the sandbox name files of the user alone', async () => {
  await using bench = await startBench({ PARLEY_SANDBOX: 'required' })
  const own = { 'X-Session-API-Key': TEST_KEY }
  const path = '/run/parley/home/below/file'
  const execute = async (command: string, headers: Record<string, string>) =>
    (await bench.call('POST', '/api/bash/execute_bash_command', { command }, headers)).body
  const at = (name: string, of: string) => `${bench.url}/api/file/${name}?path=${encodeURIComponent(of)}`
  const upload = async (of: string, headers: Record<string, string>) => {
    const body = new FormData()
    body.append('file', new Blob(['mine']), 'file')
    return (await fetch(at('upload', of), { method: 'POST', headers, body })).status
  }
  expect(await upload(path, own)).toBe(200)
  expect(await execute(`cat ${path}; ln -s /etc ~/link`, own)).toMatchObject({ stdout: 'mine', exit_code: 0 })
  expect(await (await fetch(at('download', path), { headers: own })).text()).toBe('mine')
  expect((await fetch(at('download', path), { headers: bench.bob })).status).toBe(404)
  expect(await execute(`cat ${path}`, bench.bob)).toMatchObject({ exit_code: 1 })
  expect(await upload('/run/parley/home/link/file', own)).toBe(403)
  expect((await fetch(at('download', '/run/parley/home/link/passwd'), { headers: own })).status).toBe(403)
}, 60_000)
