/** What the call ledger forgets, and the outputs that it removes. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { tempDir, type TempDir } from '../../../../testing/temp.ts'
import { ledgerName } from '../ipc/names.ts'
import { readSealed } from './bounded-output.ts'
import { LedgerReader } from './ledger-reader.ts'
import { Ledger, LEDGER_FILE } from './ledger.ts'
import { ended, failSyncs, fillDisk, inline, restoreSystem, spilled, writeOther } from './ledger.testing.ts'

afterEach(restoreSystem)

const DAY_MS = 24 * 60 * 60 * 1_000

/** True when the journal contains this output. */
const isOnDisk = (dir: TempDir, output: string): boolean =>
  readFileSync(dir.file(LEDGER_FILE), 'utf8').includes(Buffer.from(output).toString('base64'))

test('releasing a conversation removes its calls, its output files and its epoch, so that its id can be used again', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  ledger.claim('c', 3)
  await ledger.begin('c', 'a', true)
  ledger.end('c', 'a', spilled(ledger.outputs, 'x.out'))
  ledger.release('c')
  expect(ledger.entry('c', 'a')).toEqual({ state: 'absent' })
  expect(readdirSync(ledger.outputs)).toEqual([])
  ledger.close()
  const again = new Ledger(dir.path)
  expect(again.entry('c', 'a')).toEqual({ state: 'absent' })
  expect(again.epochOf('c')).toBe(0)
  again.close()
})

test('only the newest 16 long outputs of a conversation stay on disk', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  for (let i = 0; i < 40; i++) {
    await ledger.begin('c', `k${i}`, false)
    ledger.end('c', `k${i}`, spilled(ledger.outputs, `${i}.out`))
  }
  expect(readdirSync(ledger.outputs)).toHaveLength(16)
  expect(ledger.entry('c', 'k0')).toMatchObject({ state: 'exited' })
  const { stdout } = ledger.result('c', 'k0') ?? ended('')
  expect(stdout.chars).toBeGreaterThan(0)
  expect(readSealed(ledger.outputs, stdout).dropped).toBe(stdout.chars)
  ledger.close()
})

test('forgetting a call removes its output from the journal and the disk and keeps its exit, also after a restart', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  for (const call of ['a', 'b']) await before.begin('c', call, true)
  before.end('c', 'a', ended('first-output', 3))
  before.end('c', 'b', { ...spilled(before.outputs, 'spill.out'), stderr: inline('error-output') })
  before.acknowledge('c', ['a', 'b', 'unknown'])
  before.acknowledge('c', ['a'])
  before.acknowledge('unknown', ['a'])
  expect(readdirSync(before.outputs)).toEqual([])
  for (const output of ['first-output', 'error-output']) expect(isOnDisk(dir, output)).toBe(false)
  before.close()
  const after = new Ledger(dir.path)
  expect(after.entry('c', 'a')).toMatchObject({ state: 'exited', exit_code: 3 })
  expect(after.result('c', 'a')).toEqual(ended('', 3))
  expect(after.result('c', 'b')).toEqual({ ...ended(''), stderr: inline('') })
  after.close()
})

test('forgetting a running call has no effect', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  await ledger.begin('c', 'a', true)
  ledger.acknowledge('c', ['a'])
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'running' })
  ledger.end('c', 'a', ended('kept'))
  expect(ledger.result('c', 'a')).toEqual(ended('kept'))
  ledger.close()
})

test('a call without an acknowledgement is kept, after a week and among a thousand others', async () => {
  await using dir = await tempDir()
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] })
  const before = new Ledger(dir.path)
  await before.begin('c', 'ended', false)
  before.end('c', 'ended', ended('out', 3))
  await before.begin('c', 'under way', false)
  for (let i = 0; i < 1_200; i++) {
    await before.begin('c', `k${i}`, false)
    before.end('c', `k${i}`, ended(''))
  }
  expect(before.entry('c', 'under way')).toMatchObject({ state: 'running' })
  before.close()
  vi.setSystemTime(Date.now() + 7 * DAY_MS)
  const after = new Ledger(dir.path)
  expect(after.result('c', 'ended')).toEqual(ended('out', 3))
  expect(after.entry('c', 'under way')).toEqual({ state: 'unknown' })
  expect(after.entry('c', 'k0')).toMatchObject({ state: 'exited' })
  after.close()
})

test('an acknowledged call, its parts included, is forgotten a day after it began', async () => {
  await using dir = await tempDir()
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] })
  const before = new Ledger(dir.path)
  for (const call of ['a', 'a-0', 'a-1', 'b']) {
    await before.begin('c', call, false)
    before.end('c', call, ended('out'))
  }
  await before.begin('c', 'lost', false)
  before.acknowledge('c', ['a', 'lost'])
  before.close()
  const soon = new Ledger(dir.path)
  expect(soon.entry('c', 'a-1')).toMatchObject({ state: 'exited' })
  expect(soon.entry('c', 'lost')).toEqual({ state: 'unknown' })
  soon.close()
  vi.setSystemTime(Date.now() + 2 * DAY_MS)
  const late = new Ledger(dir.path)
  for (const call of ['a', 'a-0', 'a-1', 'lost']) expect(late.entry('c', call)).toEqual({ state: 'absent' })
  expect(late.result('c', 'b')).toEqual(ended('out'))
  late.close()
})

test('an acknowledged call is forgotten also without a restart, but not while it runs', async () => {
  await using dir = await tempDir()
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] })
  const ledger = new Ledger(dir.path)
  for (const call of ['ended', 'running']) await ledger.begin('c', call, false)
  ledger.end('c', 'ended', ended('out'))
  ledger.acknowledge('c', ['ended', 'running'])
  vi.setSystemTime(Date.now() + 2 * DAY_MS)
  // After a failed sync the journal is written anew.
  const repair = failSyncs()
  await expect(ledger.begin('c', 'refused', true)).rejects.toThrow('EIO')
  repair()
  await ledger.begin('c', 'next', true)
  expect(ledger.entry('c', 'ended')).toEqual({ state: 'absent' })
  expect(ledger.entry('c', 'running')).toMatchObject({ state: 'running' })
  ledger.close()
})

test('output files that a crash has left are removed at the next start, and those of results stay', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  await before.begin('c', 'a', false)
  before.end('c', 'a', spilled(before.outputs, 'result.out'))
  writeFileSync(join(before.outputs, 'left.out'), 'output of a command under way')
  before.close()
  const after = new Ledger(dir.path)
  expect(readdirSync(after.outputs)).toEqual(['result.out'])
  after.close()
})

test('the output of a command that ends after the release of its conversation is removed', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  await ledger.begin('c', 'a', false)
  ledger.release('c')
  ledger.end('c', 'a', spilled(ledger.outputs, 'late.out'))
  expect(readdirSync(ledger.outputs)).toEqual([])
  expect(ledger.entry('c', 'a')).toEqual({ state: 'absent' })
  ledger.close()
})

test.each<[string, (ledger: Ledger) => void]>([
  ['its conversation is released', (ledger) => ledger.release('c')],
  ['its call is acknowledged', (ledger) => ledger.acknowledge('c', ['a'])],
])('output that a full disk refused does not stay on disk when %s', async (_, forget) => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  await ledger.begin('c', 'a', false)
  const result = { ...spilled(ledger.outputs, 'held.out'), stderr: inline('error-output') }
  const free = fillDisk()
  ledger.end('c', 'a', result)
  free()
  forget(ledger)
  // Writes what the disk refused before.
  await ledger.begin('c', 'next', false)
  expect(readdirSync(ledger.outputs)).toEqual([])
  expect(isOnDisk(dir, 'error-output')).toBe(false)
  ledger.close()
})

test('an acknowledged result of another runner does not come back when the ledger of that runner is read again', async () => {
  await using dir = await tempDir()
  const at = Date.now()
  writeOther(dir.path, [
    { t: 'begin', conversation: 'c', call: 'a', at },
    { t: 'end', conversation: 'c', call: 'a', at, result: ended('out', 3) },
  ])
  const before = new Ledger(dir.path, [new LedgerReader(dir.path, 3, true)])
  expect(before.result('c', 'a')).toEqual(ended('out', 3))
  before.acknowledge('c', ['a'])
  before.close()
  const after = new Ledger(dir.path, [new LedgerReader(dir.path, 3, true)])
  expect(after.result('c', 'a')).toEqual(ended('', 3))
  after.close()
})

test('a released conversation does not come back when the ledger of another runner, which names it, is read again', async () => {
  await using dir = await tempDir()
  const at = Date.now()
  const lines = [
    { t: 'begin', conversation: 'gone', call: 'x', at },
    { t: 'begin', conversation: 'c', call: 'a', at },
  ]
  writeOther(dir.path, lines)
  const other = new LedgerReader(dir.path, 3, true)
  const before = new Ledger(dir.path, [other])
  expect(before.entry('gone', 'x')).toMatchObject({ state: 'running' })
  before.release('gone')
  // The other runner replaces its file by one without the lines that it no longer needs.
  renameSync(dir.file(ledgerName(3)), dir.file('replaced'))
  writeOther(dir.path, lines)
  expect(before.follow(other)).toBe(true)
  expect(before.entry('gone', 'x')).toEqual({ state: 'absent' })
  before.close()
  for (let restarts = 0; restarts < 2; restarts++) {
    const after = new Ledger(dir.path, [new LedgerReader(dir.path, 3, true)])
    expect(after.entry('gone', 'x')).toEqual({ state: 'absent' })
    expect(after.entry('c', 'a')).toMatchObject({ state: 'running' })
    after.close()
  }
})
