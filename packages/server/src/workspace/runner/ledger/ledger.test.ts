import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { readSealed, type Sealed } from './bounded-output.ts'
import { Ledger, type Result } from './ledger.ts'

const inline = (text: string): Sealed => ({
  kind: 'inline',
  data: Buffer.from(text).toString('base64'),
  chars: text.length,
})
const ended = (text: string, exit_code = 0): Result => ({
  exit_code,
  signal: null,
  answer: { exit_code },
  stdout: inline(text),
  stderr: null,
})

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
  appendFileSync(dir.file('ledger.ndjson'), '{"t":"begin","conversation":"c","call":"torn')

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

test('releasing a conversation removes its calls and output files, and keeps its epoch', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  ledger.claim('c', 3)
  await ledger.begin('c', 'a', true)
  writeFileSync(`${ledger.outputs}/x.out`, 'long')
  ledger.end('c', 'a', { ...ended(''), stdout: { kind: 'file', name: 'x.out', half: 2, total: 4, chars: 4 } })
  ledger.release('c')
  expect(ledger.entry('c', 'a')).toEqual({ state: 'absent' })
  expect(readdirSync(ledger.outputs)).toEqual([])
  ledger.close()
  const again = new Ledger(dir.path)
  expect(again.entry('c', 'a')).toEqual({ state: 'absent' })
  expect(again.epochOf('c')).toBe(3)
  again.close()
})

test('only the newest 16 long outputs of a conversation stay on disk', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  for (let i = 0; i < 40; i++) {
    await ledger.begin('c', `k${i}`, false)
    writeFileSync(`${ledger.outputs}/${i}.out`, 'long')
    ledger.end('c', `k${i}`, { ...ended(''), stdout: { kind: 'file', name: `${i}.out`, half: 2, total: 4, chars: 4 } })
  }
  expect(readdirSync(ledger.outputs)).toHaveLength(16)
  expect(ledger.entry('c', 'k0')).toMatchObject({ state: 'exited' })
  const { stdout } = ledger.result('c', 'k0') ?? ended('')
  expect(readSealed(ledger.outputs, stdout).dropped).toBe(4)
  ledger.close()
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

test('forgetting a call removes its output from the journal and the disk and keeps its exit, also after a restart', async () => {
  await using dir = await tempDir()
  const before = new Ledger(dir.path)
  for (const call of ['a', 'b']) await before.begin('c', call, true)
  before.end('c', 'a', ended('first-output', 3))
  writeFileSync(dir.file('out', 'spill.out'), 'a long output')
  const file: Sealed = { kind: 'file', name: 'spill.out', half: 100, total: 13, chars: 13 }
  before.end('c', 'b', { ...ended(''), stdout: file, stderr: inline('error-output') })
  before.forget('c', ['a', 'b', 'unknown'])
  before.forget('c', ['a'])
  before.forget('nobody', ['a'])
  expect(readdirSync(dir.file('out'))).toEqual([])
  const text = readFileSync(dir.file('ledger.ndjson'), 'utf8')
  for (const output of ['first-output', 'error-output']) {
    expect(text).not.toContain(Buffer.from(output).toString('base64'))
  }
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
  ledger.forget('c', ['a'])
  expect(ledger.entry('c', 'a')).toMatchObject({ state: 'running' })
  ledger.end('c', 'a', ended('kept'))
  expect(ledger.result('c', 'a')).toEqual(ended('kept'))
  ledger.close()
})
