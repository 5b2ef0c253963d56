import { expect, test } from 'vitest'
import { diskFull } from '../../../testing/faulty-storage.ts'
import { openLog, said } from '../../../testing/log-bench.ts'

/** A log whose next append is stored without an answer. */
async function unanswered() {
  const at = await openLog(':memory:')
  at.faults.after = async () => {
    at.faults.after = async () => undefined
    throw diskFull()
  }
  return at
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
