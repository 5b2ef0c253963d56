import { asConversationId, asEventId, EMPTY_STATE, type ConversationState, type StoredEvent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { conversation } from '../../../testing/store-fixtures.ts'
import { tempDir } from '../../../testing/temp.ts'
import { until } from '../../../testing/until.ts'
import { openSqlite, type Storage } from '../../storage/index.ts'
import type { Watcher, WatchItem } from '../conversations.ts'
import { batchNote, ShownBatches } from './shown-batches.ts'

const ID = asConversationId('c1')
const OTHER = asConversationId('c2')
const request = (id: string, seq = 1) =>
  ({ seq, event: { kind: 'ConfirmationRequestedEvent', id: asEventId(id), llm_response_id: 'r1' } }) as StoredEvent
const waits: ConversationState = {
  ...EMPTY_STATE,
  execution_status: 'waiting_for_confirmation',
  awaiting_approval: { batch_id: 'b1', llm_response_id: 'r1', actions: [] },
}

/** A store with a conversation in which these batches wait. */
async function storeWith(path: string, ...batches: string[]): Promise<Storage> {
  const storage = await openSqlite({ path })
  await storage.conversations.create(conversation({ id: ID }))
  for (const batch of batches) await storage.notes.put({ id: ID, epoch: 0 }, batchNote(batch))
  return storage
}

test('a client has received a batch when it has received its request', async () => {
  await using storage = await storeWith(':memory:')
  const shown = new ShownBatches(storage.notes)
  await shown.addEvents(ID, [{ ...request('e1'), event: { ...request('e1').event, kind: 'PauseEvent' } as never }])
  expect(await shown.has(ID, 'e1')).toBe(false)
  await shown.addEvents(ID, [request('b1')])
  expect([await shown.has(ID, 'b1'), await shown.has(ID, 'r1')]).toEqual([true, false])
})

test.each([
  ['waiting_for_confirmation', true],
  ['running', false],
  ['paused', false],
] as const)('the status %s shows the batch: %s', async (execution_status, isShown) => {
  await using storage = await storeWith(':memory:')
  const shown = new ShownBatches(storage.notes)
  await shown.addStatus(ID, { ...waits, execution_status })
  expect(await shown.has(ID, 'b1')).toBe(isShown)
})

test('a batch counts as received when the watcher of a client has returned it, not before', async () => {
  await using storage = await storeWith(':memory:')
  const shown = new ShownBatches(storage.notes)
  const items: WatchItem[][] = [
    [{ kind: 'snapshot', seq: 0, value: {} }],
    [{ kind: 'snapshot', seq: 0, value: {}, batch_id: 'b1' }],
    [{ kind: 'event', ...request('b2', 2) }],
  ]
  const watcher: Watcher = { next: async () => items.shift()!, [Symbol.asyncDispose]: async () => undefined }
  await using noting = shown.noting(ID, watcher)
  const known: boolean[][] = []
  while (items.length > 0) {
    await noting.next()
    known.push([await shown.has(ID, 'b1'), await shown.has(ID, 'b2')])
  }
  expect(known).toEqual([
    [false, false],
    [true, false],
    [true, true],
  ])
})

test('the next process knows which waiting batches clients have received', async () => {
  await using dir = await tempDir()
  const path = dir.file('store.db')
  {
    await using storage = await storeWith(path, 'b1', 'b2')
    const shown = new ShownBatches(storage.notes)
    await shown.addEvents(ID, [request('decided'), request('b1', 2)])
    await shown.addEvents(OTHER, [request('b2')])
    await until(async () => (await storage.notes.get(ID, 'batch', 'b1')) === 'shown')
  }
  await using storage = await storeWith(path)
  const shown = new ShownBatches(storage.notes)
  const known = ['b1', 'b2', 'decided'].map((batch) => shown.has(ID, batch))
  expect(await Promise.all(known)).toEqual([true, false, false])
  expect(await storage.notes.get(ID, 'batch', 'decided')).toBeNull()
})

test('a batch that was received is written once, however often it is read', async () => {
  await using storage = await storeWith(':memory:', 'b1')
  let writes = 0
  const notes: ConstructorParameters<typeof ShownBatches>[0] = {
    get: (...asked) => storage.notes.get(...asked),
    change: (...asked) => {
      writes += 1
      return storage.notes.change(...asked)
    },
  }
  const shown = new ShownBatches(notes)
  for (let reads = 0; reads < 3; reads++) {
    await shown.addStatus(ID, waits)
    await shown.addEvents(ID, [request('b1')])
  }
  await until(async () => (await storage.notes.get(ID, 'batch', 'b1')) === 'shown')
  expect(writes).toBe(1)
})

test('the oldest of very many batches is forgotten in memory', async () => {
  await using storage = await storeWith(':memory:')
  const shown = new ShownBatches(storage.notes)
  const batches = Array.from({ length: 10_001 }, (_, n) => request(`b${n}`))
  await shown.addEvents(ID, batches)
  const known = ['b0', 'b1', 'b10000'].map((batch) => shown.has(ID, batch))
  expect(await Promise.all(known)).toEqual([false, true, true])
})
