import { expect, test, vi } from 'vitest'
import { Reminder } from './reminder.ts'

/** Resolves when a reminder that is set now has told. */
async function nextReminder(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  new Reminder(resolve).ended(performance.now())
  // Only this keeps the process waiting: a reminder itself does not.
  await vi.waitFor(() => promise)
}

test('an end soon after the command is told once more', async () => {
  const tell = vi.fn<() => void>()
  new Reminder(tell).ended(performance.now())
  expect(tell).not.toHaveBeenCalled()
  await nextReminder()
  expect(tell).toHaveBeenCalledOnce()
})

test('the end of a longer run is not: its sender listens by then', async () => {
  const tell = vi.fn<() => void>()
  new Reminder(tell).ended(performance.now() - 60_000)
  await nextReminder()
  expect(tell).not.toHaveBeenCalled()
})

test('a new command makes the old end uninteresting', async () => {
  const tell = vi.fn<() => void>()
  const reminder = new Reminder(tell)
  reminder.ended(performance.now())
  reminder.cancel()
  await nextReminder()
  expect(tell).not.toHaveBeenCalled()
})
