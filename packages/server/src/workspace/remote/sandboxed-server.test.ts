/** A remote workspace on a server that starts every command in a sandbox with process ids of its own. Source: docs/remote-workspace.md. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesOf } from '../../../testing/processes.ts'
import { until } from '../../../testing/until.ts'
import type { Workspace } from '../workspace.ts'
import { never, openRemoteTestWorkspaces, terminal, type RemoteTestWorkspaces } from './bench.testing.ts'

const ID = '5e000000-0000-4000-8000-0000000000b1'
let bench: RemoteTestWorkspaces
let workspace: Workspace

beforeAll(async () => {
  bench = await openRemoteTestWorkspaces({ PARLEY_SANDBOX: 'required' })
  workspace = await bench.open(ID)
}, 60_000)
afterAll(() => bench[Symbol.asyncDispose](), 60_000)

/** Waits until so many processes with this command line run. */
const running = (command: string, count: number) =>
  until(async () => (await processesOf(bench.work, command)).length === count)

test('a command in a sandbox of its own is followed to its end', async () => {
  const result = await terminal(
    workspace,
    'for i in 1 2 3 4; do echo $i; sleep 0.5; done; mkdir -p sub; cd sub; (exit 3)',
  )
  expect(result).toMatchObject({
    outcome: 'exited',
    exit_code: 3,
    output: '1\n2\n3\n4\n',
    working_dir: join(bench.work, 'sub'),
  })
  expect(await terminal(workspace, 'pwd; cd ..')).toMatchObject({ output: `${bench.work}/sub\n`, exit_code: 0 })
}, 60_000)

test('a command in a sandbox of its own can be observed, typed into and interrupted', async () => {
  const first = await terminal(workspace, 'echo a; read -r x; echo "got $x"; sleep 60; echo never', {
    timeoutMs: 1_000,
  })
  expect(first).toMatchObject({ outcome: 'running', limit: 'timeout' })
  await terminal(workspace, 'it', { isInput: true, timeoutMs: 0 })
  await running('sleep 60', 1)
  expect(await terminal(workspace, 'C-c', { isInput: true })).toMatchObject({ outcome: 'exited', exit_code: 130 })
}, 60_000)

test('a reset ends every process of a workspace, each in a sandbox of its own', async () => {
  await terminal(workspace, 'KEPT=1; sleep 61 & setsid sleep 62 & sleep 63', { timeoutMs: 0 })
  await running('sleep 6', 3)
  const { output } = await terminal(workspace, 'echo "[$KEPT]"', { reset: true })
  expect(output).toBe('[]\n')
  await running('sleep 6', 0)
}, 60_000)

test('programs and files are those of the sandbox', async () => {
  const argv = ['sh', '-c', 'cat; pwd; exit 4']
  const told = await workspace.exec({ argv, stdin: 'in ' }, never)
  expect(told).toMatchObject({ exit_code: 4, stdout: `in ${bench.work}\n` })
  const late = await workspace.exec({ argv: ['sh', '-c', 'trap "" TERM; sleep 64'], timeoutMs: 500 }, never)
  expect(late).toMatchObject({ timedOut: true, exit_code: null })
  await running('sleep 64', 0)
  const long = await workspace.exec({ argv: ['seq', '1', '100000'] }, never)
  expect(long.stdout).toMatch(/^1\n[^]*100000\n$/)
  await workspace.writeFile('deep/bytes', Buffer.from('written'), never)
  expect(await readFile(join(bench.work, 'deep/bytes'), 'utf8')).toBe('written')
  expect(Buffer.from(await workspace.readFile('deep/bytes', never)).toString()).toBe('written')
  expect(await terminal(workspace, 'cat deep/bytes')).toMatchObject({ output: 'written' })
}, 60_000)

test('a working directory of another server that was removed is made again', async () => {
  await rm(bench.work, { recursive: true })
  expect(await terminal(workspace, 'pwd')).toMatchObject({ output: `${bench.work}\n`, exit_code: 0 })
  await rm(bench.work, { recursive: true })
  expect(await workspace.list('.', never)).toEqual([])
}, 60_000)

test('an owner that was replaced ends no command in a sandbox of its own', async () => {
  const command = 'until [ -e gate ]; do sleep 0.05; done; echo ended'
  const replaced = expect(terminal(workspace, command, { callId: 'going' })).rejects.toMatchObject({ code: 'conflict' })
  await until(async () => (await workspace.ledger(['going'], never))['going']?.state === 'running')
  await using other = bench.another()
  const owner = await bench.open(ID, { workspaces: other, epoch: 2 })
  expect(await owner.ledger(['going'], never)).toMatchObject({ going: { state: 'running' } })
  await expect(terminal(workspace, '', { reset: true })).rejects.toMatchObject({ code: 'conflict' })
  await replaced
  await owner.writeFile('gate', Buffer.from(''), never)
  expect(await terminal(owner, command, { callId: 'going' })).toMatchObject({
    output: 'ended\n',
    exit_code: 0,
  })
  workspace = owner
}, 60_000)

test('the release of a workspace ends its processes, each in a sandbox of its own', async () => {
  await terminal(workspace, 'trap "" TERM; sleep 65 & sleep 66', { timeoutMs: 0 })
  await running('sleep 6', 2)
  await workspace.release()
  await running('sleep 6', 0)
}, 60_000)
