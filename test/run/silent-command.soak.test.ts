import { expect, test } from 'vitest'
import { waitForSilentCommand } from './silent-command.ts'

test('a command that is silent for 25 minutes ends well in at most 8 requests, in real time', async () => {
  const { status, exitCodes, requests } = await waitForSilentCommand(1500, 30, 1_800_000)
  expect({ status, last: exitCodes.at(-1) }).toEqual({ status: 'finished', last: 0 })
  expect(requests).toBeLessThanOrEqual(8)
}, 1_900_000)
