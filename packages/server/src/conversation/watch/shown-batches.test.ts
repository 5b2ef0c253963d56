import { asEventId, EMPTY_STATE, type ConversationState, type StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import type { Watcher, WatchItem } from '../conversations.ts'
import { ShownBatches } from './shown-batches.ts'

const request = (id: string, seq = 1) =>
  ({ seq, event: { kind: 'ConfirmationRequestedEvent', id: asEventId(id), llm_response_id: 'r1' } }) as StoredEvent
const waits: ConversationState = {
  ...EMPTY_STATE,
  execution_status: 'waiting_for_confirmation',
  awaiting_approval: { batch_id: 'b1', llm_response_id: 'r1', actions: [] },
}

test('a client has received a batch when it has received its request', () => {
  const shown = new ShownBatches()
  shown.addEvents([{ ...request('e1'), event: { ...request('e1').event, kind: 'PauseEvent' } as never }])
  expect(shown.has('e1')).toBe(false)
  shown.addEvents([request('b1')])
  expect([shown.has('b1'), shown.has('r1')]).toEqual([true, false])
})

test.each([
  ['waiting_for_confirmation', true],
  ['running', false],
  ['paused', false],
] as const)('the status %s shows the batch: %s', (execution_status, isShown) => {
  const shown = new ShownBatches()
  shown.addStatus({ ...waits, execution_status })
  expect(shown.has('b1')).toBe(isShown)
})

test('a batch counts as received when the watcher of a client has returned it, not before', async () => {
  const shown = new ShownBatches()
  const items: WatchItem[][] = [
    [{ kind: 'snapshot', seq: 0, value: {} }],
    [{ kind: 'snapshot', seq: 0, value: {}, batch_id: 'b1' }],
    [{ kind: 'event', ...request('b2', 2) }],
  ]
  const watcher: Watcher = { next: async () => items.shift()!, [Symbol.asyncDispose]: async () => undefined }
  await using noting = shown.noting(watcher)
  const known: boolean[][] = []
  while (items.length > 0) {
    await noting.next()
    known.push([shown.has('b1'), shown.has('b2')])
  }
  expect(known).toEqual([
    [false, false],
    [true, false],
    [true, true],
  ])
})

test('the oldest of very many batches is forgotten', () => {
  const shown = new ShownBatches()
  for (let n = 0; n <= 10_000; n++) shown.addEvents([request(`b${n}`)])
  expect([shown.has('b0'), shown.has('b1'), shown.has('b10000')]).toEqual([false, true, true])
})
