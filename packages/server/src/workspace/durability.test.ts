import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openTestWorkspaces, processEnd, isAlive, never, terminal, type TestWorkspaces } from './workspace.testing.ts'
import { findBubblewrap } from './runner/sandbox/sandbox.ts'
import type { ExecRequest, TerminalRequest, Workspace } from './workspace.ts'
import { until } from '../../testing/until.ts'

const program = fileURLToPath(new URL('./server.testing.ts', import.meta.url))

function server(here: TestWorkspaces, epoch: number, call: object): ChildProcess {
  const args = [program, here.dataDir, here.dir.file('work', 'c1'), String(epoch), JSON.stringify(call)]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const exists = async (workspace: Workspace, path: string) => (await workspace.stat(path, never)) !== null
const call = (command: string): TerminalRequest => ({
  callId: 'the-call',
  command,
  isInput: false,
  reset: false,
  timeoutMs: null,
  noChangeMs: 20_000,
})

test('the next server collects the output and exit code of a command whose server was killed', async () => {
  await using here = await openTestWorkspaces()
  const command = 'echo x >>begun; until [ -e go ]; do sleep 0.02; done; echo done; (exit 3)'
  const first = server(here, 1, { terminal: call(command) })
  const workspace = await here.open('c1', 2)
  await until(() => exists(workspace, 'begun'))
  await killed(first)
  expect((await workspace.ledger(['the-call'], never))['the-call']).toMatchObject({ state: 'running' })
  const second = server(here, 2, { terminal: call(command) })
  await workspace.writeFile('go', Buffer.from(''), never)
  const printed = JSON.parse(await text(second.stdout ?? process.stdin)) as object
  expect(printed).toMatchObject({ outcome: 'exited', exit_code: 3, output: 'done\n', dropped: 0 })
  expect(readFileSync(here.dir.file('work', 'c1', 'begun'), 'utf8')).toBe('x\n')
  expect((await workspace.ledger(['the-call'], never))['the-call']).toMatchObject({ state: 'exited', exit_code: 3 })
  expect(await workspace.terminal(call(command), never)).toEqual(printed)
  expect((await terminal(workspace, 'echo same shell: $?')).output).toBe('same shell: 3\n')
})

test('a program with a call id continues after its server was killed, and its result is kept', async () => {
  await using here = await openTestWorkspaces()
  const script = 'echo x >>begun; until [ -e go ]; do sleep 0.02; done; echo out; echo err >&2; exit 4'
  const request: ExecRequest = { callId: 'e', argv: ['sh', '-c', script] }
  const first = server(here, 1, { exec: request })
  const workspace = await here.open('c1', 2)
  await until(() => exists(workspace, 'begun'))
  await killed(first)
  const asked = Promise.all([1, 2].map(() => workspace.exec(request, never)))
  await workspace.writeFile('go', Buffer.from(''), never)
  const results = await asked
  expect(results[0]).toMatchObject({ exit_code: 4, stdout: 'out\n', stderr: 'err\n', timedOut: false })
  expect(await workspace.exec(request, never)).toEqual(results[1])
  expect(readFileSync(here.dir.file('work', 'c1', 'begun'), 'utf8')).toBe('x\n')
})

test('a spawned program without a call id ends with its server, and one with a call id waits for the next server', async () => {
  await using here = await openTestWorkspaces()
  const servers = [{ callId: 'keep', argv: ['cat'] }, { argv: ['cat'] }].map((request) =>
    server(here, 1, { spawn: request }),
  )
  const lines = await Promise.all(servers.map(async (one) => String((await once(one.stdout ?? one, 'data'))[0])))
  const [kept = 0, lost = 0] = lines.map((line) => (JSON.parse(line) as { pid: number }).pid)
  await Promise.all(servers.map(killed))
  await processEnd(lost)
  const workspace = await here.open('c1', 2)
  await using process = await workspace.spawn({ callId: 'keep', argv: ['cat'] }, never)
  expect(process.pid).toBe(kept)
  const writer = process.stdin.getWriter()
  await writer.write(Buffer.from('hello'))
  await writer.close()
  expect(await new Response(process.stdout).text()).toBe('hello')
  expect(await process.exited).toEqual({ exit_code: 0, signal: null })
})

test('after the runner was killed, its processes are ended, and its calls are unknown and not repeated', async () => {
  await using here = await openTestWorkspaces()
  const workspace = await here.open()
  expect((await terminal(workspace, 'echo before', { callId: 'done' })).output).toBe('before\n')
  const command = 'nohup setsid sleep 1000 >/dev/null & echo x >>begun; sleep 1000'
  const waiting = workspace.terminal(call(command), never)
  const failed = expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
  await until(() => exists(workspace, 'begun'))
  // A process shows no environment while it becomes another program, and is not found then.
  await until(() => here.processes().length > 1)
  const leftovers = here.processes()
  process.kill((await here.runnerPid()) ?? 0, 'SIGKILL')
  await failed
  const ledger = await workspace.ledger(['the-call', 'done', 'other'], never)
  expect(ledger).toMatchObject({
    'the-call': { state: 'unknown' },
    done: { state: 'exited' },
    other: { state: 'absent' },
  })
  await expect(workspace.terminal(call(command), never)).rejects.toMatchObject({
    code: 'conflict',
    details: { reason: 'unknown_outcome' },
  })
  expect((await terminal(workspace, 'echo before', { callId: 'done' })).output).toBe('before\n')
  expect((await terminal(workspace, 'cat begun')).output).toBe('x\n')
  expect(leftovers.length).toBeGreaterThan(1)
  for (const pid of leftovers) await processEnd(pid)
})

test('requests of an older owner are refused, including those that already wait', async () => {
  await using here = await openTestWorkspaces()
  const old = await here.open('c1', 4)
  const command = 'until [ -e go ]; do sleep 0.02; done; echo late'
  const waiting = expect(terminal(old, command, { callId: 'x' })).rejects.toMatchObject({
    code: 'conflict',
    details: { reason: 'stale_epoch' },
  })
  await until(async () => (await old.ledger(['x'], never))['x']?.state === 'running')
  const fresh = await here.open('c1', 5, here.another())
  const adopted = terminal(fresh, command, { callId: 'x' })
  await waiting
  await fresh.writeFile('go', Buffer.from(''), never)
  const refused = [
    terminal(old, 'touch evil'),
    old.exec({ argv: ['touch', 'evil'] }, never),
    old.spawn({ argv: ['touch', 'evil'] }, never),
    old.ledger(['x'], never),
    old.interrupt(),
    old.release(),
  ]
  await Promise.all(refused.map((each) => expect(each).rejects.toMatchObject({ code: 'conflict' })))
  expect(await adopted).toMatchObject({ outcome: 'exited', output: 'late\n' })
  expect(await exists(fresh, 'evil')).toBe(false)
  expect(await terminal(await here.open('c2', 1), 'echo other')).toMatchObject({ output: 'other\n' })
})

test('the next runner of a data directory knows the newest epoch', async () => {
  await using here = await openTestWorkspaces()
  await terminal(await here.open('c1', 9), 'true')
  process.kill((await here.runnerPid()) ?? 0, 'SIGKILL')
  await until(async () => (await here.runnerPid()) === null)
  await expect(terminal(await here.open('c1', 8), 'true')).rejects.toMatchObject({ code: 'conflict' })
})

test('releasing a conversation ends all its processes and none of another conversation', async () => {
  await using here = await openTestWorkspaces()
  const workspace = await here.open()
  const other = await here.open('c2')
  const { pid: bystander } = await other.spawn({ argv: ['sleep', '1000'] }, never)
  await terminal(
    workspace,
    'sleep 1001 & (setsid sleep 1002 &) ; nohup sleep 1003 >/dev/null 2>&1 & disown -a; sleep 1004 | cat &',
  )
  await terminal(workspace, `trap '' TERM HUP INT; bash -c "trap '' TERM HUP INT; sleep 1005 & wait"`, {
    timeoutMs: 150,
  })
  await workspace.spawn({ argv: ['sh', '-c', 'trap "" TERM; sleep 1006 & sleep 1007'] }, never)
  const running = workspace.exec({ callId: 'e', argv: ['sh', '-c', 'sleep 1008 & sleep 1009'] }, never)
  await until(async () => (await workspace.ledger(['e'], never))['e']?.state === 'running')
  await until(() => here.processes().length > 9)
  const before = here.processes().filter((pid) => pid !== bystander)
  await workspace.release()
  expect(before.filter(isAlive)).toEqual([])
  expect(isAlive(bystander)).toBe(true)
  expect(await running).toMatchObject({ exit_code: null, signal: 'SIGTERM' })
  await workspace.release()
  expect((await workspace.ledger(['e'], never))['e']).toEqual({ state: 'absent' })
  expect((await terminal(workspace, 'jobs; echo new')).output).toBe('new\n')
})

test('a runner without a connected server ends its processes and itself', async () => {
  await using here = await openTestWorkspaces({ orphanExitMs: 200 })
  const workspace = await here.open()
  await terminal(workspace, 'setsid sleep 1000 & sleep 1001 &')
  const runner = (await here.runnerPid()) ?? 0
  await until(() => here.processes().length > 2)
  const processes = here.processes()
  await here.workspaces[Symbol.asyncDispose]()
  await processEnd(runner)
  expect(processes.filter(isAlive)).toEqual([])
})

test('a runner whose data directory is removed ends with its processes', async () => {
  await using here = await openTestWorkspaces()
  await terminal(await here.open(), 'sleep 1000 &')
  const runner = (await here.runnerPid()) ?? 0
  const processes = here.processes()
  await here.workspaces[Symbol.asyncDispose]()
  rmSync(here.dataDir, { recursive: true })
  await processEnd(runner)
  expect(processes.filter(isAlive)).toEqual([])
})

test('an idle runner ends, and the next runner knows its results', async () => {
  await using here = await openTestWorkspaces({ idleExitMs: 80 })
  const workspace = await here.open()
  expect(await here.runnerPid()).toBeNull()
  expect(await workspace.ledger(['a'], never)).toEqual({ a: { state: 'absent' } })
  await workspace.release()
  expect(await here.runnerPid()).toBeNull()
  await workspace.exec({ callId: 'a', argv: ['echo', 'kept'] }, never)
  const runner = (await here.runnerPid()) ?? 0
  await processEnd(runner)
  expect(await workspace.exec({ callId: 'a', argv: ['echo', 'kept'] }, never)).toMatchObject({
    stdout: 'kept\n',
    exit_code: 0,
  })
  expect(await here.runnerPid()).not.toBe(runner)
})

test('no request fails because an idle runner ends at the same moment', async () => {
  await using here = await openTestWorkspaces({ idleExitMs: 0 })
  const workspace = await here.open()
  for (let i = 0; i < 6; i++) {
    expect(await workspace.exec({ argv: ['echo', String(i)] }, never)).toMatchObject({ stdout: `${i}\n` })
  }
})

test('servers that start at once share one runner', async () => {
  await using here = await openTestWorkspaces()
  const opened = await Promise.all(Array.from({ length: 4 }, (_, i) => here.open(`c${i}`, 1, here.another())))
  const results = await Promise.all(opened.map((workspace) => terminal(workspace, 'echo $PPID')))
  expect(new Set(results.map(({ output }) => output))).toEqual(new Set([`${await here.runnerPid()}\n`]))
})

const bubblewrap = await findBubblewrap()

test.skipIf('reason' in bubblewrap)(
  'in a sandbox, the release of a conversation ends a process that changed its session and environment',
  async () => {
    await using here = await openTestWorkspaces({ sandbox: { mode: 'required', network: true } })
    const workspace = await here.open()
    const command = `env -i setsid sh -c 'until [ -e ended ]; do echo x >>beats; sleep 0.05; done' </dev/null >/dev/null 2>&1 &`
    await terminal(workspace, command)
    const beats = () => readFileSync(here.dir.file('work', 'c1', 'beats')).length
    await until(() => exists(workspace, 'beats'))
    await workspace.release()
    const atRelease = beats()
    // A process that was left would write many lines while a new shell starts.
    expect((await terminal(await here.open('c2'), 'sleep 0.3; echo later')).output).toBe('later\n')
    expect(beats()).toBe(atRelease)
  },
)
