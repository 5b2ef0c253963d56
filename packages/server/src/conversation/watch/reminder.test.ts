import { expect, test, vi } from 'vitest'
import { Reminder } from './reminder.ts'

/** Resolves when a reminder that is set now has fired. */
async function nextReminder(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  new Reminder(resolve).ended(performance.now())
  // Only this keeps the process waiting: a reminder itself does not.
  await vi.waitFor(() => promise)
}

test('the end of a run soon after its command is repeated', async () => {
  const tell = vi.fn<() => void>()
  new Reminder(tell).ended(performance.now())
  expect(tell).not.toHaveBeenCalled()
  await nextReminder()
  expect(tell).toHaveBeenCalledOnce()
})

test('the end of a longer run is not repeated', async () => {
  const tell = vi.fn<() => void>()
  new Reminder(tell).ended(performance.now() - 60_000)
  await nextReminder()
  expect(tell).not.toHaveBeenCalled()
})

test('a new command cancels the repetition of an end', async () => {
  const tell = vi.fn<() => void>()
  const reminder = new Reminder(tell)
  reminder.ended(performance.now())
  reminder.cancel()
  await nextReminder()
  expect(tell).not.toHaveBeenCalled()
})
