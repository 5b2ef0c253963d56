/** Nodes of two versions on one store. */
import { expect } from 'vitest'
import { COMMANDS, lineOf, startFleet } from '../../packages/server/testing/fleet.ts'
import { followFleet } from '../../packages/server/testing/fleet-follower.ts'
import { until } from '../../packages/server/testing/until.ts'

/**
 * Moves a conversation from a node of the other version to one of this version and back, each time during a turn, and sends commands over the node that
 * does not own it. The other version starts first, so the store is migrated while it runs.
 */
export async function playTwoVersions(other: { argv: readonly string[]; version: string }, own: string): Promise<void> {
  await using fleet = await startFleet({ nodes: 0, env: { PARLEY_DRAIN_SECONDS: '5' } })
  const [old, now] = [await fleet.addNode({ argv: other.argv }), await fleet.addNode()]
  await old.start()
  await until(async () => (await fetch(`${fleet.proxy.url}/ready`)).ok)
  const id = await fleet.create()
  await using follower = followFleet(fleet.proxy.url, id)
  await now.start()
  const rows = await fleet.store.query<{ version: string }>('SELECT version FROM parley.nodes ORDER BY n')
  expect(rows.map(({ version }) => version)).toEqual([other.version, own])

  for (const [turn, from, to] of [
    [0, old, now],
    [1, now, old],
  ] as const) {
    await until(async () => (await fleet.call('GET', '/ready')).status === 200)
    await fleet.say(id, turn)
    await until(() => fleet.executed().length > turn * COMMANDS)
    expect(await fleet.ownerOf(id)).toBe(from)
    const title = `turn ${turn}`
    expect((await to.call('PATCH', `/api/conversations/${id}`, { title })).status).toBe(200)
    expect((await from.call('GET', `/api/conversations/${id}`)).body.title).toBe(title)
    expect(await from.drain()).toBe(0)
    await until(() => follower.finished === turn + 1, 60_000)
    expect(await fleet.ownerOf(id)).toBe(to)
    await from.start()
  }
  const lines = [0, 1].flatMap((turn) => Array.from({ length: COMMANDS }, (_, command) => lineOf(id, turn, command)))
  expect(fleet.executed()).toEqual(lines)
  expect(follower.faults).toEqual([])
}
