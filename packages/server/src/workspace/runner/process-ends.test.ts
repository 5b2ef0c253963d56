/** Which programs end, and when: with their sender, their holder, their limit, or their conversation. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { until } from '../../../testing/until.ts'
import {
  askExec,
  askSpawn,
  askTerminal,
  execSpec,
  newReply,
  noHolder,
  openProcesses,
  programSpec,
  type Ask,
  type TestProcesses,
} from './conversation-processes.testing.ts'
import { conversationMark } from './environment.ts'
import type { RunnerEvent } from './ipc/protocol.ts'
import { findProcesses } from './process-tree.ts'

const untilFile = ({ dir }: TestProcesses, name: string) =>
  until(() => (statSync(dir.file(name), { throwIfNoEntry: false })?.size ?? 0) > 0)

const pidOf = ({ dir }: TestProcesses): number => Number(readFileSync(dir.file('pid'), 'utf8'))
const isRunning = (pid: number): boolean =>
  findProcesses({ mark: null, leaders: new Set(), pids: () => new Set([pid]) }).length > 0

/** Writes its pid and continues until there is a file `go`. */
const UNTIL_GO = 'echo $$ >pid; until [ -e go ]; do sleep 0.01; done; exit 3'

test('a command without a call id ends when its sender leaves, also before it has started', async () => {
  await using here = await openProcesses()
  const { dir, processes } = here
  const early = newReply()
  const never = processes.exec(null, execSpec(dir, 'sleep', '1000'), early.reply)
  processes.leave(early.reply)
  await never
  const late = newReply()
  const running = processes.exec(null, execSpec(dir, 'sh', '-c', UNTIL_GO), late.reply)
  await untilFile(here, 'pid')
  processes.leave(late.reply)
  await running
  expect(processes.isEmpty).toBe(true)
})

test('a command with a call id continues when its sender leaves, and its result is kept', async () => {
  await using here = await openProcesses()
  const { reply } = newReply()
  const running = askExec(here, UNTIL_GO, reply)
  await untilFile(here, 'pid')
  here.processes.leave(reply)
  writeFileSync(here.dir.file('go'), '')
  await running
  expect(here.ledger.entry('c', 'call')).toMatchObject({ state: 'exited', exit_code: 3, signal: null })
})

/** A holder, and the output that it received. */
function newHolder() {
  let output = ''
  return {
    send(event: RunnerEvent) {
      if (event.event === 'output') output += String(Buffer.from(event.data, 'base64'))
      return true
    },
    output: () => output,
  }
}

test('a program without a call id ends when its own holder disconnects, and no other', async () => {
  await using here = await openProcesses()
  const holder = newHolder()
  const spec = programSpec(here.dir, 'cat')
  const pipes = await here.processes.spawn(null, spec, holder, newReply().reply, () => 1)
  here.processes.detach(noHolder)
  await pipes.input(Buffer.from('still there\n'))
  await until(() => holder.output() === 'still there\n')
  here.processes.detach(holder)
  expect(await pipes.exited).toEqual({ exit_code: null, signal: 'SIGTERM' })
})

test('a program with a call id continues without a holder, and the next one gets the output of that time', async () => {
  await using here = await openProcesses()
  const { dir, processes } = here
  const [first, second] = [newHolder(), newHolder()]
  const spec = programSpec(dir, 'sh', '-c', 'read line; echo "got $line"; echo . >printed; read line')
  const attach = (holder: typeof first) => processes.spawn('call', spec, holder, newReply().reply, () => 1)
  const pipes = await attach(first)
  processes.detach(first)
  await pipes.input(Buffer.from('a line\n'))
  await untilFile(here, 'printed')
  expect(await attach(second)).toBe(pipes)
  await until(() => second.output() === 'got a line\n')
  expect(first.output()).toBe('')
  await pipes.input(null)
  expect(await pipes.exited).toEqual({ exit_code: 1, signal: null })
})

test.each<[string, Ask]>([
  ['a command', askExec],
  ['a command of a terminal', askTerminal],
])('when a newer owner takes over, its request for %s stays, and that of the older one is refused', async (_, ask) => {
  await using here = await openProcesses()
  const [older, newer] = [newReply({ epoch: 1 }), newReply({ epoch: 2 })]
  // In the terminal, `exit` alone would end the shell.
  const script = `(${UNTIL_GO})`
  const asked = ask(here, script, older.reply)
  await untilFile(here, 'pid')
  await ask(here, script, newer.reply)
  here.processes.fence(2)
  expect(await older.answered).toEqual({ refused: 'stale_epoch' })
  writeFileSync(here.dir.file('go'), '')
  expect(await newer.answered).toMatchObject({ ok: { exit_code: 3 } })
  await asked
})

test.each<[string, Ask, object]>([
  ['a command', askExec, { ok: { exit_code: null } }],
  ['a program with open pipes', askSpawn, { ok: { process: 1 } }],
  ['a command of a terminal', askTerminal, { ok: { outcome: 'lost' } }],
])(
  'the release of a conversation ends %s without an environment, answers its request and forgets the call',
  async (_, ask, answer) => {
    await using here = await openProcesses()
    const { reply, answered } = newReply()
    // No mark of the conversation, and no end by the hang-up of the terminal.
    const script = `env -i sh -c 'trap "" HUP; echo $$ >pid; exec sleep 1000'`
    const asked = ask(here, script, reply)
    await untilFile(here, 'pid')
    const pid = pidOf(here)
    await here.processes.release()
    expect(isRunning(pid)).toBe(false)
    expect(await answered).toMatchObject(answer)
    await asked
    expect(here.ledger.entry('c', 'call')).toEqual({ state: 'absent' })
  },
)

test('output beyond the limit of a command is counted and not sent, and its file is removed', async () => {
  await using here = await openProcesses()
  const { reply, answered, output } = newReply()
  const spec = execSpec(here.dir, 'sh', '-c', 'yes | head -c 100000')
  await here.processes.exec(null, { ...spec, maxBytes: 1_000 }, reply)
  expect(await answered).toMatchObject({ ok: { exit_code: 0, dropped: { stdout: 99_000, stderr: 0 } } })
  expect(output()).toBe('y\n'.repeat(500))
  expect(readdirSync(here.ledger.outputs)).toEqual([])
})

test('a command whose time is over ends with the processes that it has started', async () => {
  await using here = await openProcesses()
  const { reply, answered } = newReply()
  const spec = execSpec(here.dir, 'sh', '-c', 'sleep 1000 & wait')
  await here.processes.exec('call', { ...spec, timeoutMs: 100 }, reply)
  expect(await answered).toMatchObject({ ok: { timedOut: true } })
  expect(findProcesses({ mark: conversationMark(here.dir.path, 'c'), leaders: new Set() })).toEqual([])
})

test('a command is over when its program ends, although a process that it has left keeps its output open', async () => {
  await using here = await openProcesses()
  const { reply, answered, output } = newReply()
  await askExec(here, 'sleep 1000 & echo $! >pid; echo out', reply)
  expect(await answered).toMatchObject({ ok: { exit_code: 0, timedOut: false } })
  expect(output()).toBe('out\n')
  expect(isRunning(pidOf(here))).toBe(true)
})
