import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { readSealed } from './bounded-output.ts'
import { EPOCHS_PER_START } from '../ipc/protocol.ts'
import { LedgerReader } from './ledger-reader.ts'
import { Ledger, LEDGER_FILE } from './ledger.ts'
import { ended, failSyncs, fillDisk, restoreSystem, spilled, writeOther } from './ledger.testing.ts'
import { ledgerName, outputsName } from '../ipc/names.ts'

afterEach(restoreSystem)

test('a call is absent, then running, then exited with its result', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  expect(ledger.entry('c', 'a')).toEqual({ state: 'absent' })
  await ledger.begin('c', 'a', true)
  ledger.began('c', 'a', 42)
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'running', pid: 42 })
  ledger.end('c', 'a', ended('out', 3))
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'exited', exit_code: 3 })
  expect(ledger.result('c', 'a')).toEqual(ended('out', 3))
  expect(ledger.entry('other', 'a')).toEqual({ state: 'absent' })
  ledger.close()
})

test('after a crash, results of ended calls are known and calls without an end are unknown', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  before.claim('c', 7)
  await before.begin('c', 'done', true)
  before.end('c', 'done', ended('kept'))
  await before.begin('c', 'open', true)
  before.close()
  appendFileSync(dir.file(LEDGER_FILE), '{"t":"begin","conversation":"c","call":"torn')

  const after = new Ledger(dir.path)
  expect(after.wasInterrupted).toBe(true)
  expect(after.entry('c', 'open')).toEqual({ state: 'unknown' })
  expect(after.entry('c', 'torn')).toEqual({ state: 'absent' })
  expect(after.result('c', 'done')).toEqual(ended('kept'))
  expect(after.epochOf('c')).toBe(7)
  after.close()

  const third = new Ledger(dir.path)
  expect(third.entry('c', 'open')).toEqual({ state: 'unknown' })
  third.close()
})

test('200 concurrent intents are on disk once each begin() has resolved', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  await Promise.all(Array.from({ length: 200 }, (_, i) => ledger.begin(`c${i % 5}`, `k${i}`, true)))
  ledger.close()
  const after = new Ledger(dir.path)
  expect(after.entry('c4', 'k199')).toEqual({ state: 'unknown' })
  after.close()
})

test('a ledger keeps its id, and one with a damaged line, which may hide a call, gets a new one', async () => {
  await using dir = await tempDir()
  const first = new Ledger(dir.path)
  await first.begin('c', 'kept', true)
  first.end('c', 'kept', ended('out'))
  first.close()
  const second = new Ledger(dir.path)
  expect(second.id).toBe(first.id)
  await second.begin('c', 'hidden', true)
  second.close()
  const path = dir.file(LEDGER_FILE)
  writeFileSync(path, readFileSync(path, 'utf8').replace('hidden', 'hXdden'))
  const third = new Ledger(dir.path)
  expect(third.id).not.toBe(first.id)
  expect(third.wasInterrupted).toBe(true)
  expect(third.result('c', 'kept')).toEqual(ended('out'))
  third.close()
  const fourth = new Ledger(dir.path)
  expect(fourth.id).toBe(third.id)
  fourth.close()
})

test('a ledger of version 0.1.0, without an id and without checksums, opens with all its calls', async () => {
  await using dir = await tempDir()
  const at = Date.now()
  const lines = [
    { t: 'claim', conversation: 'c', epoch: 7, at },
    { t: 'begin', conversation: 'c', call: 'a', at },
    { t: 'end', conversation: 'c', call: 'a', at, result: ended('out', 3) },
    { t: 'begin', conversation: 'c', call: 'open', at },
  ]
  writeFileSync(dir.file(LEDGER_FILE), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const ledger = new Ledger(dir.path)
  expect(ledger.epochOf('c')).toBe(7)
  expect(ledger.result('c', 'a')).toEqual(ended('out', 3))
  expect(ledger.entry('c', 'open')).toEqual({ state: 'unknown' })
  ledger.close()
})

test('a ledger of another protocol, without an id and without checksums as in version 0.1.0, is taken over with all its calls', async () => {
  await using dir = await tempDir()
  const at = Date.now()
  writeOther(dir.path, [
    { t: 'claim', conversation: 'c', epoch: 7, at },
    { t: 'begin', conversation: 'c', call: 'a', at },
    { t: 'end', conversation: 'c', call: 'a', at, result: ended('out', 3) },
    { t: 'begin', conversation: 'c', call: 'open', at },
    { t: 'begin', conversation: 'gone', call: 'a', at },
    { t: 'release', conversation: 'gone' },
    { t: 'begin', conversation: 'gone', call: 'b', at },
  ])
  const other = new LedgerReader(dir.path, 3, false)
  const ledger = new Ledger(dir.path, [other])
  const check = (of: Ledger) => {
    expect(of.result('c', 'a')).toEqual(ended('out', 3))
    expect(of.entry('c', 'open')).toEqual({ state: 'unknown' })
    expect(of.entry('gone', 'a')).toEqual({ state: 'absent' })
    expect(of.entry('gone', 'b')).toEqual({ state: 'unknown' })
  }
  check(ledger)
  ledger.complete(other)
  ledger.close()
  rmSync(dir.file(ledgerName(3)))
  const later = new Ledger(dir.path)
  check(later)
  expect(later.id).toBe(ledger.id)
  later.close()
})

test('the ledger that the runner of version 0.1.0 wrote opens with all its calls, by the same protocol and by another', async () => {
  const written = readFileSync(new URL('../../../../../../test/fixtures/ledgers/0.1.0.ndjson', import.meta.url))
  for (const isOther of [false, true]) {
    await using dir = await tempDir()
    writeFileSync(dir.file(isOther ? ledgerName(3) : LEDGER_FILE), written)
    const ledger = new Ledger(dir.path, isOther ? [new LedgerReader(dir.path, 3, false)] : [])
    const program = ledger.result('c1', 'program')!
    expect(program).toMatchObject({ exit_code: 4, answer: { timedOut: false } })
    const outputs = [program.stdout, program.stderr!].map((each) => String(readSealed(ledger.outputs, each).head))
    expect(outputs).toEqual(['out\n', 'err\n'])
    const shell = ledger.result('c1', 'shell')!
    expect(shell).toMatchObject({ exit_code: 3, answer: { outcome: 'exited', exit_code: 3, limit: null } })
    expect(String(readSealed(ledger.outputs, shell.stdout).head)).toBe('done\n')
    expect(ledger.entry('c1', 'open')).toEqual({ state: 'unknown' })
    expect(ledger.entry('gone', 'removed')).toEqual({ state: 'absent' })
    ledger.close()
  }
})

test('a call of a living runner of another protocol is running until its end is in that ledger, also after a restart', async () => {
  await using dir = await tempDir()
  const at = Date.now()
  mkdirSync(dir.file(outputsName(3)))
  const result = { ...spilled(dir.file(outputsName(3)), 'long.out'), exit_code: 5 }
  writeOther(dir.path, [
    { t: 'begin', conversation: 'c', call: 'a', at },
    { t: 'begin', conversation: 'c', call: 'b', at },
    { t: 'begin', conversation: 'gone', call: 'x', at },
  ])
  const before = new Ledger(dir.path, [new LedgerReader(dir.path, 3, true)])
  expect(before.wasInterrupted).toBe(false)
  expect(before.entry('c', 'a')).toMatchObject({ state: 'running' })
  before.release('gone')
  before.close()

  const other = new LedgerReader(dir.path, 3, true)
  const ledger = new Ledger(dir.path, [other])
  expect(ledger.wasInterrupted).toBe(false)
  expect(ledger.entry('gone', 'x')).toEqual({ state: 'absent' })
  const overs = ['a', 'b'].map((call) => ledger.elsewhere('c', call))
  expect(ledger.elsewhere('c', 'unknown')).toBeNull()
  const end = `${JSON.stringify({ t: 'end', conversation: 'c', call: 'a', at, result })}\n`
  appendFileSync(dir.file(ledgerName(3)), end.slice(0, 30))
  expect(ledger.follow(other)).toBe(true)
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'running' })
  appendFileSync(dir.file(ledgerName(3)), end.slice(30))
  expect(ledger.follow(other)).toBe(true)
  await overs[0]
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'exited', exit_code: 5 })
  other.isAlive = false
  ledger.complete(other)
  await overs[1]
  expect(ledger.entry('c', 'b')).toEqual({ state: 'unknown' })
  rmSync(dir.file(outputsName(3)), { recursive: true })
  const { stdout } = ledger.result('c', 'a')!
  expect(readSealed(ledger.outputs, stdout).head.toString()).toBe('a long output')
  ledger.close()
})

test('the id of the ledger of another runner continues only when that runner has ended and its ledger is whole and readable', async () => {
  const id = 'id-of-the-other'
  const cases = [
    ['ended', { t: 'ledger', id, format: 1 }, false, '', true],
    ['alive', { t: 'ledger', id, format: 1 }, true, '', false],
    ['torn', { t: 'ledger', id, format: 1 }, false, '{"t":', false],
    ['damaged', { t: 'ledger', id, format: 1 }, false, '{"t":\n{"t":"release","conversation":"d"}\n', false],
    ['of a later form', { t: 'ledger', id, format: 2 }, false, '', false],
  ] as const
  for (const [name, first, isAlive, rest, continues] of cases) {
    await using dir = await tempDir()
    writeOther(dir.path, [first, { t: 'begin', conversation: 'c', call: 'a', at: 1 }])
    appendFileSync(dir.file(ledgerName(3)), rest)
    const other = new LedgerReader(dir.path, 3, isAlive)
    const ledger = new Ledger(dir.path, [other])
    expect(ledger.id === id, name).toBe(continues)
    expect(ledger.entry('c', 'a').state, name).toBe(
      isAlive ? 'running' : name === 'of a later form' ? 'absent' : 'unknown',
    )
    expect(other.isReadable, name).toBe(name !== 'of a later form')
    ledger.close()
  }
})

test('after a disk was full during one call, the next call is known to the next runner', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  const free = fillDisk()
  await expect(before.begin('c', 'refused', true)).rejects.toThrow('ENOSPC')
  expect(before.entry('c', 'refused')).toEqual({ state: 'absent' })
  free()
  await before.begin('c', 'next', true)
  before.close()
  const after = new Ledger(dir.path)
  expect(after.entry('c', 'next')).toEqual({ state: 'unknown' })
  expect(after.id).toBe(before.id)
  after.close()
})

test('a call that ends on a full disk has its result at once, and on disk when there is space again', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  await before.begin('c', 'a', true)
  const free = fillDisk()
  before.end('c', 'a', ended('out', 3))
  expect(before.result('c', 'a')).toEqual(ended('out', 3))
  expect(before.entry('c', 'a')).toMatchObject({ state: 'exited', exit_code: 3 })
  free()
  await before.begin('c', 'b', true)
  before.close()
  const after = new Ledger(dir.path)
  expect(after.result('c', 'a')).toEqual(ended('out', 3))
  after.close()
})

test('a claim on a full disk counts at once, and is on disk before the next call begins', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  const free = fillDisk()
  before.claim('c', 7)
  before.claim('released', 7)
  expect(before.epochOf('c')).toBe(7)
  free()
  before.release('released')
  await before.begin('d', 'a', true)
  before.close()
  const after = new Ledger(dir.path)
  expect([after.epochOf('c'), after.epochOf('released')]).toEqual([7, 0])
  after.close()
})

test('a release that the disk refuses changes nothing, and is on disk when it is repeated', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  before.claim('c', 7)
  await before.begin('c', 'a', true)
  const free = fillDisk()
  expect(() => before.release('c')).toThrow('ENOSPC')
  expect(before.entry('c', 'a')).toMatchObject({ state: 'running' })
  free()
  before.release('c')
  before.close()
  const after = new Ledger(dir.path)
  expect([after.entry('c', 'a').state, after.epochOf('c')]).toEqual(['absent', 0])
  after.close()
})

test('an intent whose sync fails does not begin, and the next one is written anew', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  const repair = failSyncs()
  await expect(before.begin('c', 'refused', true)).rejects.toThrow('EIO')
  expect(before.entry('c', 'refused')).toEqual({ state: 'absent' })
  repair()
  await before.begin('c', 'next', true)
  before.close()
  const after = new Ledger(dir.path)
  expect(after.entry('c', 'next')).toEqual({ state: 'unknown' })
  after.close()
})

test('epochs of an earlier start of the server are refused in every conversation, also after a release and a restart', async () => {
  await using dir = await tempDir()
  const start = (n: number, epoch: number) => n * EPOCHS_PER_START + epoch
  const before = new Ledger(dir.path)
  before.claim('c', start(3, 9))
  expect(before.epochOf('c')).toBe(start(3, 9))
  expect(before.epochOf('other')).toBe(start(3, 0))
  before.release('c')
  expect(before.epochOf('c')).toBe(start(3, 0))
  before.close()
  for (let restarts = 0; restarts < 2; restarts++) {
    const after = new Ledger(dir.path)
    expect(after.epochOf('c')).toBe(start(3, 0))
    after.close()
  }
})
