import { expect, test } from 'vitest'
import { LEASE_SECONDS, replaceFrozenOwner } from './frozen-owner.ts'

test('the turn of a node that is frozen for 60 seconds continues elsewhere within its lease and a second, and the woken node changes nothing', async () => {
  const { continuedMs, servesMs } = await replaceFrozenOwner(60)
  console.log(
    `frozen owner: continued after ${Math.round(continuedMs)} ms, served ${Math.round(servesMs)} ms after waking up`,
  )
  expect(continuedMs).toBeLessThanOrEqual((LEASE_SECONDS + 1) * 1000)
  expect(servesMs).toBeLessThanOrEqual(1_000)
}, 300_000)
