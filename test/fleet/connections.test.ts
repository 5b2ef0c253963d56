/** Connections between a node and its store that break or fall silent. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { COMMANDS, lineOf, startFleet } from '../../packages/server/testing/fleet.ts'
import { followFleet } from '../../packages/server/testing/fleet-follower.ts'
import { until } from '../../packages/server/testing/until.ts'
import { linesOf as linesOfTalk, startWorkload } from './campaign/workload.ts'
import { LEASE_SECONDS } from './frozen-owner.ts'

const linesOf = (id: string) => Array.from({ length: COMMANDS }, (_, command) => lineOf(id, 0, command))

test('a node whose appends lose their answers again and again stores each event once, and keeps its conversation', async () => {
  await using fleet = await startFleet({ nodes: 2, leaseSeconds: LEASE_SECONDS })
  const id = await fleet.create()
  await using follower = followFleet(fleet.proxy.url, id)
  await fleet.say(id, 0)
  const owner = (await fleet.ownerOf(id))!
  let cuts = 0
  let seen = 0
  await until(() => {
    // The event is stored, and the node waits for the answer or asks for the next one.
    if (follower.ids.length > seen && follower.finished === 0) {
      seen = follower.ids.length
      owner.storeRelay.cut()
      cuts += 1
    }
    return follower.finished === 1
  }, 60_000)
  expect(cuts).toBeGreaterThan(COMMANDS)
  expect(fleet.executed()).toEqual(linesOf(id))
  expect(follower.faults).toEqual([])
  expect(await fleet.ownerOf(id)).toBe(owner)
}, 120_000)

test('outages of the store delay turns and calls of all kinds of steps, and none of them ends with an error', async () => {
  await using fleet = await startFleet({ nodes: 2, leaseSeconds: LEASE_SECONDS })
  await using work = await startWorkload(fleet, 6)
  for (let outage = 1; outage <= 4; outage += 1) {
    await until(() => fleet.executed().length >= outage * 6, 60_000)
    await fleet.store.crash()
    // Longer than a statement is repeated.
    await sleep(3_000)
    await fleet.store.start()
  }
  await work.rest()
  expect(fleet.executed().toSorted()).toEqual(work.talks.flatMap(linesOfTalk).toSorted())
  const errors = `SELECT event FROM parley.events WHERE kind IN ('AgentErrorEvent', 'ConversationErrorEvent')`
  expect(await fleet.store.query(errors)).toEqual([])
}, 180_000)

test('a node whose pings get no answer gives its turn to another node, each call is executed once, and the node serves again when the answers come', async () => {
  await using fleet = await startFleet({ nodes: 2, leaseSeconds: LEASE_SECONDS, commandSeconds: 1 })
  const id = await fleet.create()
  await using follower = followFleet(fleet.proxy.url, id)
  // The other node may take over when its session is as old as a lease.
  await sleep(LEASE_SECONDS * 1000)
  await fleet.say(id, 0)
  await until(() => fleet.executed().length > 0)
  const owner = (await fleet.ownerOf(id))!
  owner.sessionRelay.state = 'silent'
  await until(() => follower.finished === 1, 60_000)
  const other = (await fleet.ownerOf(id))!
  expect(other).not.toBe(owner)
  expect(fleet.executed()).toEqual(linesOf(id))
  owner.sessionRelay.state = 'open'
  await until(async () => (await owner.call('GET', '/ready')).status === 200)
  const renamed = async () => (await owner.call('PATCH', `/api/conversations/${id}`, { title: 'renamed' })).status
  await until(async () => (await renamed()) === 200)
  expect(await fleet.ownerOf(id)).toBe(other)
  expect(follower.faults).toEqual([])
}, 120_000)

test('a client that connects to a node which has lost a conversation, and still has it in memory, sees the turn at the new owner', async () => {
  await using fleet = await startFleet({ nodes: 2, leaseSeconds: LEASE_SECONDS, commandSeconds: 0.5 })
  const id = await fleet.create()
  const owner = (await fleet.ownerOf(id))!
  const other = fleet.nodes.find((node) => node !== owner)!
  // The conversation is idle, so nothing that this node does shows it that its lease has ended.
  owner.sessionRelay.state = 'silent'
  await until(async () => (await other.call('GET', '/api/fleet')).body.nodes.length === 1, 60_000)
  const content = [{ type: 'text', text: `run ${id} turn 0` }]
  const said = { role: 'user', content, run: true, event_id: randomUUID() }
  await until(async () => (await other.call('POST', `/api/conversations/${id}/events`, said)).status === 200, 60_000)
  expect(await fleet.ownerOf(id)).toBe(other)
  await using follower = followFleet(owner.url, id)
  await until(() => follower.finished === 1, 30_000)
  expect(follower.faults).toEqual([])
}, 120_000)
