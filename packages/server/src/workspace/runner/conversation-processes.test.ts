import fs, { existsSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, test, vi } from 'vitest'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { ConversationProcesses } from './conversation-processes.ts'
import type { ExecSpec, ProcessSpec, TerminalSpec } from './ipc/protocol.ts'
import type { Reply } from './ipc/reply.ts'
import { Ledger, LEDGER_FILE } from './ledger/ledger.ts'
import { Sandbox } from './sandbox/sandbox.ts'

function open(dir: TempDir) {
  const ledger = new Ledger(dir.path)
  const processes = new ConversationProcesses('c', {
    root: dir.path,
    home: dir.path,
    ledger,
    sandbox: new Sandbox(dir.path, dir.path),
    onChange: () => undefined,
  })
  return {
    ledger,
    processes,
    async [Symbol.asyncDispose]() {
      await processes.release()
      ledger.close()
    },
  }
}

type Answered = { ok: object } | { refused: string }

/** A reply that tells when it was answered; `onOk` runs at the moment of a positive answer. */
function newReply(onOk: () => void = () => undefined): { reply: Reply; answered: Promise<Answered> } {
  const { promise, resolve } = Promise.withResolvers<Answered>()
  const reply: Reply = {
    epoch: 1,
    isOpen: true,
    chunk: () => undefined,
    ok(answer) {
      onOk()
      resolve({ ok: answer })
    },
    refuse: (code) => resolve({ refused: code }),
  }
  return { reply, answered: promise }
}

const program = (dir: TempDir, ...argv: string[]): ProcessSpec => ({ argv, cwd: dir.path, env: {} })
const exec = (dir: TempDir, ...argv: string[]): ExecSpec => ({
  ...program(dir, ...argv),
  stdin: null,
  timeoutMs: null,
  maxBytes: 1_000,
})
const terminal = (dir: TempDir, command: string): TerminalSpec => ({
  callId: 'call',
  command,
  isInput: false,
  reset: false,
  timeoutMs: null,
  noChangeMs: 20_000,
  cwd: dir.path,
})

/** True when the ledger on disk has the end of the call. */
const isRecorded = (dir: TempDir): boolean => readFileSync(dir.file(LEDGER_FILE), 'utf8').includes('"t":"end"')

test('the result of a command is recorded before it is reported', async () => {
  await using dir = await tempDir()
  await using here = open(dir)
  let wasRecorded = false
  const { reply, answered } = newReply(() => (wasRecorded = isRecorded(dir)))
  await here.processes.exec('call', exec(dir, 'sh', '-c', 'exit 3'), reply)
  expect(await answered).toMatchObject({ ok: { exit_code: 3 } })
  expect(wasRecorded).toBe(true)
})

test('the result of a command of a terminal is recorded before it is reported', async () => {
  await using dir = await tempDir()
  await using here = open(dir)
  let wasRecorded = false
  const { reply, answered } = newReply(() => (wasRecorded = isRecorded(dir)))
  await here.processes.terminal(terminal(dir, '(exit 3)'), reply)
  expect(await answered).toMatchObject({ ok: { exit_code: 3 } })
  expect(wasRecorded).toBe(true)
})

test('the exit of a program with open pipes is recorded before it is reported', async () => {
  await using dir = await tempDir()
  await using here = open(dir)
  const exit = Promise.withResolvers<boolean>()
  const holder = {
    send(event: { event: string }) {
      if (event.event === 'exit') exit.resolve(isRecorded(dir))
      return true
    },
  }
  const { reply } = newReply()
  await here.processes.spawn('call', program(dir, 'sh', '-c', 'exit 3'), holder, reply, () => 1)
  expect(await exit.promise).toBe(true)
  expect(here.ledger.entry('c', 'call')).toMatchObject({ state: 'exited', exit_code: 3 })
})

afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
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

type Begin = (here: ReturnType<typeof open>, dir: TempDir, reply: Reply) => Promise<unknown>

test.each<[string, Begin]>([
  ['a command', ({ processes }, dir, reply) => processes.exec('call', exec(dir, 'touch', dir.file('begun')), reply)],
  [
    'a program with open pipes',
    ({ processes }, dir, reply) =>
      processes.spawn('call', program(dir, 'touch', dir.file('begun')), { send: () => true }, reply, () => 1),
  ],
  [
    'a command of a terminal',
    ({ processes }, dir, reply) => processes.terminal(terminal(dir, `touch ${dir.file('begun')}`), reply),
  ],
])('%s does not begin when its conversation is released while its intent is written', async (_, begin) => {
  await using dir = await tempDir()
  await using here = open(dir)
  const disk = holdSyncs()
  const { reply } = newReply()
  const beginning = begin(here, dir, reply).catch((error: unknown) => error)
  await until(disk.isAsked)
  const released = here.processes.release()
  disk.free()
  await beginning
  await released
  expect(existsSync(dir.file('begun'))).toBe(false)
  expect(here.processes.isEmpty).toBe(true)
})
