/** A runner that hangs: it continues in time, is replaced, or has lost its disk. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test as sequential } from 'vitest'
import { until } from '../../testing/until.ts'
import { isAlive, never, openTestWorkspaces, processEnd, terminal } from './workspace.testing.ts'

/** Each test waits for processes of its own, and has an `expect` of its own: the imported one blames the test that ends first. */
const test = sequential.concurrent
/** A runner that is silent for six of these is ended. */
const heartbeatMs = 400
const begin = 'echo x >>begun; until [ -e go ]; do sleep 0.02; done; echo done'

test('a runner that stops and continues in time loses no call and repeats none', async ({ expect }) => {
  await using here = await openTestWorkspaces({ heartbeatMs: 60_000 })
  const workspace = await here.open()
  // One program that a Ctrl-C ends: a shell that is between two short ones can miss it.
  const waiting = terminal(workspace, 'echo x >>begun; sleep 300')
  await until(async () => (await workspace.stat('begun', never)) !== null)
  const runner = (await here.runnerPid())!
  process.kill(runner, 'SIGSTOP')
  const interrupted = expect(workspace.interrupt()).rejects.toMatchObject({ name: 'TimeoutError' })
  const givenUp = new AbortController()
  const another = expect(terminal(await here.open('c2'), 'echo x >>begun', {}, givenUp.signal)).rejects.toThrow(
    'enough',
  )
  await interrupted
  givenUp.abort(new Error('enough'))
  await another
  process.kill(runner, 'SIGCONT')
  // The Ctrl-C arrives late, and the call that was given up before it began is not begun.
  expect(await waiting).toMatchObject({ outcome: 'exited', exit_code: 130 })
  expect((await terminal(await here.open('c2'), 'ls')).output).toBe('')
  expect(readFileSync(here.dir.file('work', 'c1', 'begun'), 'utf8')).toBe('x\n')
  expect(await here.runnerPid()).toBe(runner)
}, 60_000)

test('a runner that stays stopped is ended and replaced: its calls are unknown, and none is repeated', async ({
  expect,
}) => {
  const hung: (number | null)[] = []
  const log = { info: () => undefined, warn: (fields: object) => hung.push((fields as { pid: number }).pid) }
  await using here = await openTestWorkspaces({ heartbeatMs, log })
  const workspace = await here.open()
  const waiting = terminal(workspace, begin, { callId: 'the-call' })
  const failed = expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
  await until(async () => (await workspace.stat('begun', never)) !== null)
  const runner = (await here.runnerPid())!
  process.kill(runner, 'SIGSTOP')
  await failed
  await expect(terminal(workspace, begin, { callId: 'the-call' })).rejects.toMatchObject({
    details: { reason: 'unknown_outcome' },
  })
  expect((await terminal(workspace, 'cat begun')).output).toBe('x\n')
  expect(hung).toEqual([runner])
  await processEnd(runner)
}, 60_000)

test('a server that finds a stopped runner ends it and starts another', async ({ expect }) => {
  await using here = await openTestWorkspaces({ heartbeatMs })
  expect((await terminal(await here.open(), 'echo one')).output).toBe('one\n')
  const runner = (await here.runnerPid())!
  process.kill(runner, 'SIGSTOP')
  const next = here.another()
  expect((await terminal(await here.open('c1', 2, next), 'echo two')).output).toBe('two\n')
  await processEnd(runner)
}, 60_000)

test('a runner that answers while its disk does not is ended and replaced', async ({ expect }) => {
  await using here = await openTestWorkspaces({ heartbeatMs })
  const workspace = await here.open()
  const waiting = expect(terminal(workspace, 'sleep 100')).rejects.toMatchObject({ code: 'unavailable' })
  const probe = join(here.dataDir, 'runner', 'heartbeat')
  await until(() => existsSync(probe))
  const runner = (await here.runnerPid())!
  // A write to a pipe that has no reader does not return, as on a failed disk.
  rmSync(probe)
  execFileSync('sh', ['-c', 'mkfifo "$0"', probe])
  await waiting
  await processEnd(runner)
  rmSync(probe)
  expect((await terminal(workspace, 'echo again')).output).toContain('again')
}, 60_000)

test('a connection without requests asks the runner for nothing, so that an idle runner ends', async () => {
  await using here = await openTestWorkspaces({ heartbeatMs: 150, idleExitMs: 400 })
  const workspace = await here.open()
  await using process = await workspace.spawn({ argv: ['true'] }, never)
  const runner = (await here.runnerPid())!
  await process.exited
  await until(() => !isAlive(runner))
}, 60_000)
