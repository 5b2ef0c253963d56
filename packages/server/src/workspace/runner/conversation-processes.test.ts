/** What is on disk before a call begins, and before its end is reported. */
import fs, { existsSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, test, vi } from 'vitest'
import { until } from '../../../testing/until.ts'
import {
  askExec,
  askSpawn,
  askTerminal,
  newReply,
  openProcesses,
  programSpec,
  type Ask,
  type TestProcesses,
} from './conversation-processes.testing.ts'
import { LEDGER_FILE } from './ledger/ledger.ts'
import { failSyncs, restoreSystem } from './ledger/ledger.testing.ts'

afterEach(restoreSystem)

/** True when the ledger on disk has the end of the call. */
const isRecorded = ({ dir }: TestProcesses): boolean =>
  readFileSync(dir.file(LEDGER_FILE), 'utf8').includes('"t":"end"')

test.each<[string, Ask]>([
  ['a command', askExec],
  ['a command of a terminal', askTerminal],
])('the result of %s is recorded before it is reported', async (_, ask) => {
  await using here = await openProcesses()
  let wasRecorded = false
  const { reply, answered } = newReply({ onOk: () => (wasRecorded = isRecorded(here)) })
  await ask(here, '(exit 3)', reply)
  expect(await answered).toMatchObject({ ok: { exit_code: 3 } })
  expect(wasRecorded).toBe(true)
})

test('the exit of a program with open pipes is recorded before it is reported', async () => {
  await using here = await openProcesses()
  const exit = Promise.withResolvers<boolean>()
  const holder = {
    send(event: { event: string }) {
      if (event.event === 'exit') exit.resolve(isRecorded(here))
      return true
    },
  }
  const { reply } = newReply()
  await here.processes.spawn('call', programSpec(here.dir, 'sh', '-c', 'exit 3'), holder, reply, () => 1)
  expect(await exit.promise).toBe(true)
  expect(here.ledger.entry('c', 'call')).toMatchObject({ state: 'exited', exit_code: 3 })
})

/** Holds every sync of the disk back until `free` is called. */
function holdSyncs() {
  const held: (() => void)[] = []
  const real = fs.fdatasync
  const spy = vi
    .spyOn(fs, 'fdatasync')
    .mockImplementation(((fd: number, done: (error: Error | null) => void) => held.push(() => real(fd, done))) as never)
  syncBuiltinESMExports()
  return {
    isAsked: () => held.length > 0,
    free() {
      spy.mockRestore()
      syncBuiltinESMExports()
      for (const sync of held) sync()
    },
  }
}

const KINDS: [string, Ask][] = [
  ['a command', askExec],
  ['a program with open pipes', askSpawn],
  ['a command of a terminal', askTerminal],
]

test.each(KINDS)('%s whose intent the disk refuses does not begin', async (_, ask) => {
  await using here = await openProcesses()
  failSyncs()
  const { reply, answered } = newReply()
  const asked = await ask(here, 'touch begun', reply).then(() => answered, String)
  expect(JSON.stringify(asked)).toMatch(/"refused":"internal"|EIO/)
  expect(existsSync(here.dir.file('begun'))).toBe(false)
  expect(here.ledger.entry('c', 'call')).toEqual({ state: 'absent' })
})

test.each(KINDS)('%s does not begin when its conversation is released while its intent is written', async (_, ask) => {
  await using here = await openProcesses()
  const disk = holdSyncs()
  const { reply } = newReply()
  const beginning = ask(here, 'touch begun', reply).catch((error: unknown) => error)
  await until(disk.isAsked)
  const released = here.processes.release()
  disk.free()
  await beginning
  await released
  expect(existsSync(here.dir.file('begun'))).toBe(false)
  expect(here.processes.isEmpty).toBe(true)
})

test('a command of a terminal does not begin when its conversation is released while the shell starts', async () => {
  await using here = await openProcesses()
  const asked = expect(askTerminal(here, 'touch begun', newReply().reply)).rejects.toThrow('was released')
  await here.processes.release()
  await asked
  expect(existsSync(here.dir.file('begun'))).toBe(false)
  expect(here.ledger.entry('c', 'call')).toEqual({ state: 'absent' })
})
