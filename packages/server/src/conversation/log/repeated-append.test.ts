import { EMPTY_STATE, type Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import { diskFull, faultyStorage } from '../../../testing/faulty-storage.ts'
import { conversation, own } from '../../../testing/store-fixtures.ts'
import { openSqlite } from '../../storage/index.ts'
import { userMessage } from '../drafts.ts'
import { Channel } from '../watch/channel.ts'
import { AppendRetry } from './append-retry.ts'
import { LiveLog } from './live-log.ts'

const said = (text: string): Draft => userMessage([{ type: 'text', text, cache_prompt: false }])

/** A log whose next append is stored without an answer, and the calls of `onLost`. */
async function unanswered() {
  const { storage, faults } = faultyStorage(await openSqlite({ path: ':memory:' }))
  const draft = conversation()
  await storage.conversations.create(draft)
  const { row } = await own(storage, draft.id)
  const lost: boolean[] = []
  let time = Date.UTC(2026, 0, 1)
  const log = new LiveLog(
    { ...row, record: {} as never, state: EMPTY_STATE, view: null, cachedSeq: 0 },
    new Channel(0),
    {
      storage,
      stamps: { now: () => new Date((time += 1_000)) },
      notifies: false,
      writeRecord: () => '{}',
      mask: async (drafts) => drafts,
      cipher: { seal: (text) => text, open: (text) => text },
      appendRetry: new AppendRetry(),
      pruning: { keepTokens: Infinity, leastTokens: Infinity },
      log: { warn: () => undefined, error: () => undefined },
    },
    { onLost: (hasNewOwner) => void lost.push(hasNewOwner), onCommit: async () => undefined },
  )
  faults.after = async () => {
    faults.after = async () => undefined
    throw diskFull()
  }
  const stored = async () => storage.events.page(draft.id, { limit: 10 })
  return { log, lost, stored, faults, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() }
}

test('an append that was stored without an answer is repeated with the same ids and times, and stored once', async () => {
  await using at = await unanswered()
  const drafts = [said('once')]
  await expect(at.log.append(drafts)).rejects.toMatchObject({ code: 'unavailable' })
  const events = await at.log.append(drafts)
  expect(await at.stored()).toEqual(events)
  expect(at.log.state.seq).toBe(1)
  const next = await at.log.append([said('next')])
  expect(await at.stored()).toEqual([...events, ...next])
  expect(at.lost).toEqual([])
})

test('another append after one that was stored without an answer is refused, and the log is loaded again', async () => {
  await using at = await unanswered()
  await expect(at.log.append([said('unanswered')])).rejects.toMatchObject({ code: 'unavailable' })
  await expect(at.log.append([said('another')])).rejects.toThrow('lost')
  expect(at.lost).toEqual([false])
  expect(await at.stored()).toHaveLength(1)
})

test('an append that was refused for another reason is repeated as a new one', async () => {
  await using at = await unanswered()
  at.faults.after = async () => undefined
  at.faults.refuse = () => new Error('string or blob too big')
  const drafts = [said('once')]
  await expect(at.log.append(drafts)).rejects.toThrow('too big')
  at.faults.refuse = () => null
  const [event] = await at.log.append(drafts)
  expect(event!.event.timestamp).toContain('2026-01-01T00:00:03')
})
