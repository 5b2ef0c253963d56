import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { PROTOCOL } from './runner/ipc/protocol.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../testing/until.ts'
import { bundledWithProtocol, startOther, type Bundled, type RawRunner } from './other-runner.testing.ts'
import { ledgerName } from './runner/ipc/names.ts'
import { isAlive, never, openTestWorkspaces, processEnd, terminal, type TestWorkspaces } from './workspace.testing.ts'
import type { TerminalRequest } from './workspace.ts'

let older: Bundled
beforeAll(async () => {
  older = await bundledWithProtocol(3)
})
afterAll(() => older[Symbol.asyncDispose]())

const untilGo = 'until [ -e go ]; do sleep 0.02; done'
const command = `echo x >>begun; ${untilGo}; echo done; (exit 3)`
const call: TerminalRequest = {
  callId: 'shell',
  command,
  isInput: false,
  reset: false,
  timeoutMs: null,
  noChangeMs: 20_000,
}
const program = { callId: 'program', argv: ['sh', '-c', `echo x >>begun2; ${untilGo}; echo out; exit 4`] }

/** Starts two commands in a runner of another protocol. */
async function begin(here: TestWorkspaces, old: RawRunner): Promise<void> {
  const cwd = here.dir.file('work', 'c1')
  mkdirSync(cwd, { recursive: true })
  const { callId, argv } = program
  old.send({ op: 'terminal', spec: { ...call, cwd } })
  old.send({ op: 'exec', call: callId, spec: { argv, cwd, env: {}, stdin: null, timeoutMs: null, maxBytes: 9_999 } })
  await until(() => ['begun', 'begun2'].every((name) => existsSync(here.dir.file('work', 'c1', name))))
}

const ledgerOf = (here: TestWorkspaces, protocol: number) => here.dir.file('data', 'runner', ledgerName(protocol))

test.each([PROTOCOL - 1, PROTOCOL + 1])(
  'beside a runner of protocol %i new commands run at once; its own run to their end, once, and their results arrive',
  async (protocol) => {
    await using here = await openTestWorkspaces()
    await using entry = await bundledWithProtocol(protocol)
    await using old = await startOther(here.dataDir, protocol, entry)
    await begin(here, old)
    await old.leave()

    const workspace = await here.open('c1', 2)
    const running = { state: 'running' }
    expect(await workspace.ledger(['shell', 'program', 'never'], never)).toMatchObject({
      shell: running,
      program: running,
      never: { state: 'absent' },
    })
    const results = Promise.all([
      workspace.terminal(call, never),
      workspace.exec(program, never),
      workspace.exec(program, never),
    ])
    expect(await workspace.exec({ argv: ['echo', 'new'] }, never)).toMatchObject({ stdout: 'new\n' })
    expect((await terminal(workspace, 'echo new shell')).output).toContain('new shell')
    await workspace.writeFile('go', Buffer.from(''), never)
    const [shell, ...programs] = await results
    expect(shell).toMatchObject({ outcome: 'exited', exit_code: 3, output: 'done\n', dropped: 0 })
    for (const result of programs) expect(result).toMatchObject({ exit_code: 4, stdout: 'out\n', timedOut: false })

    await processEnd(old.pid)
    await until(() => !existsSync(ledgerOf(here, protocol)))
    expect(await workspace.terminal(call, never)).toEqual(shell)
    expect(await workspace.exec(program, never)).toEqual(programs[0])
    const begun = ['begun', 'begun2'].map((name) => readFileSync(here.dir.file('work', 'c1', name), 'utf8'))
    expect(begun).toEqual(['x\n', 'x\n'])
  },
  60_000,
)

test('a runner of another protocol keeps its commands as long as the new runner is there, also beyond its own limit', async () => {
  const orphanExitMs = 200
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older, { orphanExitMs })
  await begin(here, old)
  const workspace = await here.open('c1', 2)
  expect(await workspace.ledger(['shell'], never)).toMatchObject({ shell: { state: 'running' } })
  await old.leave()
  const leftAt = performance.now()
  await until(() => performance.now() - leftAt > 5 * orphanExitMs)
  expect(isAlive(old.pid)).toBe(true)
  const result = workspace.terminal(call, never)
  await workspace.writeFile('go', Buffer.from(''), never)
  expect(await result).toMatchObject({ outcome: 'exited', exit_code: 3, output: 'done\n' })
  await processEnd(old.pid)
}, 60_000)

test('an interrupt ends the commands of the conversation in a runner of another protocol, and no other', async () => {
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older)
  old.send({
    op: 'exec',
    conversation: 'c2',
    call: 'other',
    spec: { argv: ['sleep', '1000'], cwd: here.dir.path, env: {}, stdin: null, timeoutMs: null, maxBytes: 9_999 },
  })
  await begin(here, old)
  await old.leave()
  const workspace = await here.open('c1', 2)
  const results = [workspace.terminal(call, never), workspace.exec(program, never)] as const
  await until(async () => (await workspace.ledger(['shell'], never))['shell']?.state === 'running')
  await workspace.interrupt()
  expect(await results[0]).toMatchObject({ outcome: 'lost' })
  expect((await results[1]).exit_code).not.toBe(4)
  const other = await here.open('c2', 2)
  expect(await other.ledger(['other'], never)).toMatchObject({ other: { state: 'running' } })
  await other.release()
  await processEnd(old.pid)
  expect(here.processes()).toEqual([])
}, 60_000)

test('releasing a conversation ends its commands in a runner of another protocol, and its records do not come back', async () => {
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older)
  const cwd = here.dir.file('work', 'c2')
  mkdirSync(cwd, { recursive: true })
  old.send({
    op: 'terminal',
    conversation: 'c2',
    spec: { ...call, callId: 'kept', cwd, command: `touch up; ${untilGo}` },
  })
  await until(() => existsSync(here.dir.file('work', 'c2', 'up')))
  await begin(here, old)
  await old.leave()
  const workspace = await here.open('c1', 2)
  await workspace.release()
  expect(isAlive(old.pid)).toBe(true)
  process.kill((await here.runnerPid())!, 'SIGKILL')
  await until(async () => (await here.runnerPid()) === null)
  const again = await here.open('c1', 3)
  const kept = await here.open('c2', 3)
  expect(await kept.ledger(['kept'], never)).toMatchObject({ kept: { state: 'running' } })
  expect(await again.ledger(['shell', 'program'], never)).toEqual({
    shell: { state: 'absent' },
    program: { state: 'absent' },
  })
  await kept.release()
  await processEnd(old.pid)
  expect(here.processes()).toEqual([])
}, 60_000)

test('after a runner of another protocol was killed, its commands end, are unknown, and are not repeated', async () => {
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older)
  await begin(here, old)
  await old.leave()
  const workspace = await here.open('c1', 2)
  expect(await workspace.ledger(['shell'], never)).toMatchObject({ shell: { state: 'running' } })
  const waiting = expect(workspace.exec(program, never)).rejects.toMatchObject({
    code: 'conflict',
    details: { reason: 'unknown_outcome' },
  })
  process.kill(old.pid, 'SIGKILL')
  await waiting
  await until(() => here.processes().length === 0)
  await expect(workspace.terminal(call, never)).rejects.toMatchObject({ details: { reason: 'unknown_outcome' } })
  expect(readFileSync(here.dir.file('work', 'c1', 'begun'), 'utf8')).toBe('x\n')
}, 60_000)

test('a hard limit ends the waiting for a command in a runner of another protocol, and a reset ends the command', async () => {
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older)
  await begin(here, old)
  await old.leave()
  const workspace = await here.open('c1', 2)
  const limited = await workspace.terminal({ ...call, timeoutMs: 50 }, never)
  expect(limited).toMatchObject({ outcome: 'running', limit: 'timeout' })
  expect(limited.output).toContain('continues there')
  expect(isAlive(old.pid)).toBe(true)
  expect((await terminal(workspace, 'echo fresh', { reset: true })).output).toContain('fresh')
  await processEnd(old.pid)
  expect(existsSync(here.dir.file('work', 'c1', 'go'))).toBe(false)
}, 60_000)

test('the end of the runner ends a runner of another protocol with its commands', async () => {
  await using here = await openTestWorkspaces()
  await using old = await startOther(here.dataDir, 3, older)
  await begin(here, old)
  await old.leave()
  const workspace = await here.open('c1', 2)
  expect(await workspace.ledger(['shell'], never)).toMatchObject({ shell: { state: 'running' } })
  process.kill((await here.runnerPid())!, 'SIGTERM')
  await processEnd(old.pid)
  await until(() => here.processes().length === 0)
  // What was recorded until then is known to the next runner.
  const { shell } = await workspace.ledger(['shell'], never)
  expect(shell?.state).toMatch(/^(exited|unknown)$/)
  expect(readdirSync(here.dir.file('data', 'runner'))).not.toContain(ledgerName(3))
}, 60_000)
