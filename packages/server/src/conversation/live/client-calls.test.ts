import { asConversationId, asEventId } from '@parley/protocol'
import { afterEach, expect, test, vi } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { ClientCallBoard } from './client-calls.ts'

const ID = asConversationId('0c6a2f0e-3b1d-4c56-9a52-0f6f4f8a7b11')
const CALL = asEventId('0c6a2f0e-3b1d-4c56-9a52-0f6f4f8a7b12')
const YEAR_MS = 365 * 24 * 3600 * 1000

afterEach(() => {
  vi.useRealTimers()
})

const setClock = (ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: ms })
}

test('a call for a client still ends in its time after the clock was set back by a year', async () => {
  await using dir = await tempDir()
  const real = Date.now()
  setClock(real + YEAR_MS)
  const stop = new AbortController()
  const before = new ClientCallBoard(() => dir.path).of(ID, (work) => work())
  const cut = before.result(CALL, 50, stop.signal)
  cut.catch(() => undefined)
  stop.abort(new Error('killed'))
  await expect(cut).rejects.toThrow('killed')

  setClock(real)
  const after = new ClientCallBoard(() => dir.path).of(ID, (work) => work())
  const from = performance.now()
  expect(await after.result(CALL, 50, new AbortController().signal)).toBeNull()
  expect(performance.now() - from).toBeGreaterThan(45)
})

test('a result is accepted while its call waits, although the clock was set forward by a year', async () => {
  await using dir = await tempDir()
  const board = new ClientCallBoard(() => dir.path)
  const { promise: waits, resolve: isWaiting } = Promise.withResolvers<void>()
  const waiting = board
    .of(ID, (work) => {
      const done = work()
      isWaiting()
      return done
    })
    .result(CALL, 60_000, new AbortController().signal)
  await waits
  setClock(Date.now() + YEAR_MS)
  const result = { text: 'done' } as never
  await board.take(ID, CALL, result)
  expect(await waiting).toEqual(result)
})
