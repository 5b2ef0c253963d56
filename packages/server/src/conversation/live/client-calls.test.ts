import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { asConversationId, asEventId } from '@parley/protocol'
import { afterEach, expect, test, vi } from 'vitest'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { tempDir } from '../../../testing/temp.ts'
import { ClientCallBoard } from './client-calls.ts'

const ID = asConversationId('0c6a2f0e-3b1d-4c56-9a52-0f6f4f8a7b11')
const CALL = asEventId('0c6a2f0e-3b1d-4c56-9a52-0f6f4f8a7b12')
const OWNER = { id: ID, epoch: 0 }
const YEAR_MS = 365 * 24 * 3600 * 1000

afterEach(() => {
  vi.useRealTimers()
})

const setClock = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: ms })
}

test('a call for a client still ends in its time after the clock was set back by a year', async () => {
  await using dir = await tempDir()
  await using notes = await openTestNotes()
  await notes.of(ID)
  const real = Date.now()
  setClock(real + YEAR_MS)
  const stop = new AbortController()
  const before = new ClientCallBoard(notes.open, () => dir.path).of(OWNER, (work) => work())
  const cut = before.result(CALL, 50, stop.signal)
  cut.catch(() => undefined)
  stop.abort(new Error('killed'))
  await expect(cut).rejects.toThrow('killed')

  setClock(real)
  const after = new ClientCallBoard(notes.open, () => dir.path).of(OWNER, (work) => work())
  const from = performance.now()
  expect(await after.result(CALL, 50, new AbortController().signal)).toBeNull()
  expect(performance.now() - from).toBeGreaterThan(45)
})

test('a result is accepted while its call waits, although the clock was set forward by a year', async () => {
  await using dir = await tempDir()
  await using notes = await openTestNotes()
  await notes.of(ID)
  const board = new ClientCallBoard(notes.open, () => dir.path)
  const { promise: waits, resolve: isWaiting } = Promise.withResolvers<void>()
  const waiting = board
    .of(OWNER, (work) => {
      const done = work()
      isWaiting()
      return done
    })
    .result(CALL, 60_000, new AbortController().signal)
  await waits
  setClock(Date.now() + YEAR_MS)
  const result = { text: 'done' } as never
  await board.take(OWNER, CALL, result)
  expect(await waiting).toEqual(result)
})

test('the deadline and the result that version 0.1.0 stored in files count, until their call has an answer', async () => {
  await using dir = await tempDir()
  await using notes = await openTestNotes()
  await notes.of(ID)
  const board = new ClientCallBoard(notes.open, () => dir.path)
  const calls = board.of(OWNER, (work) => work())
  const result = { content: [], is_error: false }
  await mkdir(dir.file('client_calls'))
  await writeFile(dir.file('client_calls', `${CALL}.time.json`), JSON.stringify({ deadline: Date.now() - 1 }))
  await expect(board.take(OWNER, CALL, result)).rejects.toMatchObject({ code: 'conflict' })
  await writeFile(dir.file('client_calls', `${CALL}.result.json`), JSON.stringify(result))
  expect(await calls.known(CALL)).toEqual(result)
  await board.forget(ID, CALL)
  expect([await calls.known(CALL), await readdir(dir.file('client_calls'))]).toEqual([null, []])
})
