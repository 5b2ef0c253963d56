/** The owner of a running conversation is frozen, replaced, and woken up. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { COMMANDS, lineOf, startFleet } from '../../packages/server/testing/fleet.ts'
import { followFleet } from '../../packages/server/testing/fleet-follower.ts'
import { until } from '../../packages/server/testing/until.ts'
import { watchRows } from './campaign/watched-rows.ts'

/** Seconds of the lease in these tests. */
export const LEASE_SECONDS = 3

/**
 * Freezes the owner for at least `seconds`, and checks that its turn continues elsewhere, that it changes nothing after it wakes up, and that it serves
 * again. Returns milliseconds: from the freeze to the first event of another owner, and from waking up to the first request it serves.
 */
export async function replaceFrozenOwner(seconds: number): Promise<{ continuedMs: number; servesMs: number }> {
  await using fleet = await startFleet({ leaseSeconds: LEASE_SECONDS, commandSeconds: 0.3 })
  await using watched = watchRows(fleet.store)
  const id = await fleet.create()
  await using follower = followFleet(fleet.proxy.url, id)
  // The other nodes may take over when their sessions are as old as a lease.
  await sleep(LEASE_SECONDS * 1000)
  await fleet.say(id, 0)
  await until(() => fleet.executed().length > 0)
  const owner = (await fleet.ownerOf(id))!
  const rowOf = async () => {
    const { at, rows } = await watched.next()
    return { at, ...rows.find((row) => row.id === id)! }
  }
  owner.freeze()
  const before = await rowOf()
  let now = before
  await until(async () => {
    now = await rowOf()
    return now.epoch > before.epoch && now.seq > before.seq
  }, 60_000)
  const continuedMs = now.at - before.at
  const other = now.url
  expect(other).not.toBe(owner.peerRelay.url)
  await until(() => follower.finished === 1, 60_000)
  await sleep(Math.max(0, seconds * 1000 - (performance.now() - before.at)))

  const atRest = await rowOf()
  owner.wake()
  const wokenAt = performance.now()
  const answer = async () => (await owner.call('GET', `/api/conversations/${id}`).catch(() => null))?.status
  await until(async () => (await answer()) === 200)
  const servesMs = performance.now() - wokenAt
  // It passes commands on to the owner instead of taking the conversation back.
  const renamed = await owner.call('PATCH', `/api/conversations/${id}`, { title: 'named by the woken node' })
  expect(renamed.status).toBe(200)
  const after = await rowOf()
  expect({ epoch: after.epoch, url: after.url }).toEqual({ epoch: atRest.epoch, url: atRest.url })
  await fleet.say(id, 1)
  await until(() => follower.finished === 2, 60_000)
  const lines = [0, 1].flatMap((turn) => Array.from({ length: COMMANDS }, (_, command) => lineOf(id, turn, command)))
  expect(fleet.executed()).toEqual(lines)
  expect([follower.faults, watched.faults]).toEqual([[], []])
  return { continuedMs, servesMs }
}
