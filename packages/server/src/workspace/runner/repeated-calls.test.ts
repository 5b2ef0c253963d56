/** A call id is executed at most once. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  askExec,
  askSpawn,
  askTerminal,
  newReply,
  noHolder,
  openProcesses,
  programSpec,
  type Ask,
  type TestProcesses,
} from './conversation-processes.testing.ts'
import type { Pipes } from './pipes.ts'

/** Leaves a trace of each execution. */
const SCRIPT = 'echo x >>executions; (exit 3)'
const executions = ({ dir }: TestProcesses): string => readFileSync(dir.file('executions'), 'utf8')

test.each<[string, Ask]>([
  ['a command', askExec],
  ['a command of a terminal', askTerminal],
])(
  '%s that is requested twice at once, and again after its end, is executed once and gives one result',
  async (_, ask) => {
    await using here = await openProcesses()
    const replies = [newReply(), newReply()]
    await Promise.all(replies.map(({ reply }) => ask(here, SCRIPT, reply)))
    const late = newReply()
    const answers = await Promise.all(replies.map(({ answered }) => answered))
    await ask(here, SCRIPT, late.reply)
    expect(answers[0]).toMatchObject({ ok: { exit_code: 3 } })
    expect([answers[1], await late.answered]).toEqual([answers[0], answers[0]])
    expect(executions(here)).toBe('x\n')
  },
)

test('a program with open pipes that is requested twice at once, and again after its end, is started once', async () => {
  await using here = await openProcesses()
  const ask = () => askSpawn(here, SCRIPT, newReply().reply) as Promise<Pipes>
  const [first, second] = await Promise.allSettled([ask(), ask()])
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
  if (first.status === 'rejected') throw first.reason
  expect(await first.value.exited).toEqual({ exit_code: 3, signal: null })
  await expect(ask()).rejects.toMatchObject({ code: 'unavailable' })
  expect(executions(here)).toBe('x\n')
})

test('a program with open pipes that cannot be started has ended for every later request', async () => {
  await using here = await openProcesses()
  const { dir, ledger, processes } = here
  const spec = programSpec(dir, 'no-such-program')
  const ask = () => processes.spawn('call', spec, noHolder, newReply().reply, () => 1)
  await expect(ask()).rejects.toThrow('command not found')
  expect(ledger.entry('c', 'call')).toMatchObject({ state: 'exited', exit_code: 127 })
  await expect(ask()).rejects.toThrow('has ended')
})
