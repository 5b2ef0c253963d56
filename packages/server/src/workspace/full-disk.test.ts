/** Calls while the disk of the runner is full, or while nothing can be recorded for another reason. */
import { ParleyError } from '@parley/protocol'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test as sequential } from 'vitest'
import { limitFiles } from '../../testing/file-limit.ts'
import { tempDir } from '../../testing/temp.ts'
import { until } from '../../testing/until.ts'
import type { CallProof } from './call-proof.ts'
import type { LocalWorkspacesOptions } from './local-workspaces.ts'
import { never, openTestWorkspaces, processEnd, terminal } from './workspace.testing.ts'

/** Each test waits for processes of its own, and has an `expect` of its own. */
const test = sequential.concurrent
const MAIN = fileURLToPath(new URL('./runner/main.ts', import.meta.url))
const backoff = { baseMs: 5, maxMs: 20 }

/** Counts the repetitions. */
function repetitions() {
  const counted = { count: 0 }
  const warn = (_: object, text: string) => {
    if (text.startsWith('request not recorded')) counted.count += 1
  }
  return {
    counted,
    options: { backoff, log: { info: () => undefined, warn } } satisfies Partial<LocalWorkspacesOptions>,
  }
}

/** A workspace whose runner can write no byte. */
async function openFull() {
  const { counted, options } = repetitions()
  const here = await openTestWorkspaces(options)
  const workspace = await here.open()
  await terminal(workspace, 'true')
  const runner = (await here.runnerPid())!
  await limitFiles(runner, 0)
  return { here, workspace, counted, runner, [Symbol.asyncDispose]: () => here[Symbol.asyncDispose]() }
}

test('a command waits while the disk of the runner is full, and is executed once when there is space again', async ({
  expect,
}) => {
  await using full = await openFull()
  const { here, workspace, counted, runner } = full
  const called = terminal(workspace, 'echo x >> trace; cat trace')
  const program = workspace.exec({ callId: 'program', argv: ['sh', '-c', 'echo x >> other'] }, never)
  await until(() => counted.count >= 4)
  expect(await workspace.list('.', never)).toEqual([])
  await limitFiles(runner, null)
  expect(await called).toMatchObject({ outcome: 'exited', exit_code: 0, output: 'x\n' })
  expect((await program).exit_code).toBe(0)
  expect(readFileSync(here.dir.file('work', 'c1', 'other'), 'utf8')).toBe('x\n')
})

test('a program with a time limit waits no longer than that for space on the disk, and an abort ends the wait', async ({
  expect,
}) => {
  await using full = await openFull()
  const { workspace, counted, runner } = full
  const limited = workspace.exec({ callId: 'limited', argv: ['true'], timeoutMs: 30 }, never)
  await expect(limited).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'not_recorded' } })
  const leaving = new AbortController()
  const before = counted.count
  const aborted = expect(terminal(workspace, 'true', {}, leaving.signal)).rejects.toThrow('enough')
  await until(() => counted.count > before)
  leaving.abort(new Error('enough'))
  await aborted
  await limitFiles(runner, null)
})

test('a program that a user waits for outside of conversations is refused when no runner can be started for long', async ({
  expect,
}) => {
  const { counted, options } = repetitions()
  await using dir = await tempDir()
  const runnerEntry = dir.file('runner.mjs')
  writeFileSync(runnerEntry, `console.log('{"full":true}')`)
  await using here = await openTestWorkspaces({ ...options, runnerEntry, hostWaitMs: 30 })
  const host = await here.open('host-ada')
  await expect(host.exec({ argv: ['true'] }, never)).rejects.toMatchObject({ details: { reason: 'not_recorded' } })
  // A start waits as long as its own deadline allows.
  const leaving = new AbortController()
  const waiting = expect((await here.open('c1')).exec({ argv: ['true'] }, leaving.signal)).rejects.toThrow('enough')
  const before = counted.count
  await until(() => counted.count >= before + 6)
  leaving.abort(new Error('enough'))
  await waiting
})

test('the calls of a dead process are known to the next owner, and its shell can be interrupted, while the disk is full', async ({
  expect,
}) => {
  await using here = await openTestWorkspaces(repetitions().options)
  const called = terminal(await here.open(), 'touch begun; sleep 300', { callId: 'running' })
  await until(async () => (await (await here.open()).stat('begun', never)) !== null)
  const runner = (await here.runnerPid())!
  await limitFiles(runner, 0)
  const next = await here.open('c1', 2, here.another())
  const fenced = expect(called).rejects.toMatchObject({ details: { reason: 'stale_epoch' } })
  expect(await next.ledger(['running', 'other'], never)).toMatchObject({
    running: { state: 'running' },
    other: { state: 'absent' },
  })
  await fenced
  await next.interrupt()
  await until(async () => (await next.ledger(['running'], never))['running']!.state === 'exited')
  await limitFiles(runner, null)
  expect(await terminal(next, 'x', { callId: 'running' })).toMatchObject({ exit_code: 130 })
})

test('a runner that cannot start on a full disk is started when there is space again', async ({ expect }) => {
  const { counted, options } = repetitions()
  await using here = await openTestWorkspaces(options)
  const [full, entry] = [here.dir.file('full'), here.dir.file('runner.mjs')]
  writeFileSync(full, '')
  writeFileSync(
    entry,
    `import { execFileSync } from 'node:child_process'
    import { existsSync } from 'node:fs'
    if (existsSync('${full}')) execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=0:'])
    await import('${MAIN}')`,
  )
  const workspace = await here.open('c1', 1, here.another({ runnerEntry: entry }))
  const called = terminal(workspace, 'echo started')
  await until(() => counted.count >= 1)
  rmSync(full)
  expect(await called).toMatchObject({ output: 'started\n' })
})

test('a call waits while the store refuses to record the runner that is going to execute it', async ({ expect }) => {
  const { counted, options } = repetitions()
  let isRefused = true
  const bind = async () => {
    if (isRefused) throw new ParleyError('unavailable', 'the store is locked')
  }
  const proof: CallProof = {
    start: 1,
    hasLedger: false,
    bind,
    noted: async () => undefined,
    proven: async (_, entries) => entries,
    [Symbol.asyncDispose]: async () => undefined,
  }
  await using here = await openTestWorkspaces({ ...options, proof })
  const called = terminal(await here.open(), 'echo recorded')
  await until(() => counted.count >= 2)
  isRefused = false
  expect(await called).toMatchObject({ output: 'recorded\n' })
})

test('a runner that dies under the question for a call is replaced, and the next one answers it', async ({
  expect,
}) => {
  await using here = await openTestWorkspaces()
  const workspace = await here.open()
  await terminal(workspace, 'true', { callId: 'ended' })
  const runner = (await here.runnerPid())!
  process.kill(runner, 'SIGSTOP')
  const asked = workspace.ledger(['ended', 'other'], never)
  process.kill(runner, 'SIGKILL')
  await processEnd(runner)
  expect(await asked).toMatchObject({ ended: { state: 'exited' }, other: { state: 'absent' } })
})
