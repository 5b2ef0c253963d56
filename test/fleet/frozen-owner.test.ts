import { test } from 'vitest'
import { LEASE_SECONDS, replaceFrozenOwner } from './frozen-owner.ts'

test('the turn of a node that is frozen for longer than its lease continues elsewhere, and the woken node changes nothing and serves again', async () => {
  const { continuedMs, servesMs } = await replaceFrozenOwner(LEASE_SECONDS + 2)
  console.log(
    `frozen owner: continued after ${Math.round(continuedMs)} ms, served ${Math.round(servesMs)} ms after waking up`,
  )
}, 120_000)
