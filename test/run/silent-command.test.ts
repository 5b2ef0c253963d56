import { expect, test } from 'vitest'
import { waitForSilentCommand } from './silent-command.ts'

/** One second stands for 1,250 seconds of the default limits. */
const FASTER = 1250

test('a command that is silent for 25 minutes ends well in few requests, with a shortened clock', async () => {
  const { status, exitCodes, requests } = await waitForSilentCommand(1500 / FASTER, 30 / FASTER, 60_000)
  expect({ status, last: exitCodes.at(-1) }).toEqual({ status: 'finished', last: 0 })
  expect(exitCodes.length).toBeGreaterThan(4)
  expect(exitCodes.slice(0, -1).every((code) => code === -1)).toBe(true)
  expect(requests).toBeLessThan(12)
})
