/** R4 to R7 and R9: how long turns stand still when nodes and the store end, and what moves without need. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startFleet, type Fleet } from '../../packages/server/testing/fleet.ts'
import type { FleetNode } from '../../packages/server/testing/fleet-node.ts'
import { startWorkload } from '../../test/fleet/campaign/workload.ts'
import { watchRows, type Watched } from '../../test/fleet/campaign/watched-rows.ts'
import { entry, median } from '../harness.ts'
import { note, row, type Row } from './place.ts'

const LEASE_SECONDS = 3
const CONVERSATIONS = 8
const KILLS = 12
/** Milliseconds until a turn counts as lost. */
const GIVEN_UP_MS = 60_000

/** All in one fleet whose conversations run one turn after another. @param seconds of the freeze and of the outage of the store */
export async function moves(seconds = 60): Promise<Row[]> {
  await using fleet = await startFleet({
    argv: entry(),
    leaseSeconds: LEASE_SECONDS,
    env: { PARLEY_LOG_LEVEL: 'error', PARLEY_DRAIN_SECONDS: '10' },
  })
  await using watched = watchRows(fleet.store)
  await using work = await startWorkload(fleet, CONVERSATIONS)
  await sleep(2 * LEASE_SECONDS * 1000)
  const rows: Row[] = []
  const kills: number[] = []
  for (let at = 0; at < KILLS; at += 1) {
    const node = fleet.nodes[at % fleet.nodes.length]!
    kills.push(...(await continuedAfter(watched, node, () => node.kill())))
    await node.start()
    await sleep(LEASE_SECONDS * 1000)
  }
  rows.push(row('R4 kill -9: a turn continues, p50', median(kills), 1_000, 'ms'))
  rows.push(row('R4 kill -9: a turn continues, max', Math.max(...kills), 3_000, 'ms'))
  rows.push(...(await frozen(fleet, watched, seconds)), ...(await upgraded(fleet, watched)))
  rows.push(...(await joined(fleet, watched)), ...(await storeAway(fleet, watched, seconds / 2)))
  await work.rest()
  const lines = fleet.executed()
  rows.push(row('R4 calls executed twice', lines.length - new Set(lines).size, 0, ''))
  const orphans = await fleet.store.query('SELECT 1 FROM parley.conversations WHERE wants_owner')
  rows.push(row('R4 conversations without an owner', orphans.length, 0, ''))
  const errors = await fleet.store.query<{ event: string }>(
    `SELECT event FROM parley.events WHERE kind IN ('ConversationErrorEvent', 'AgentErrorEvent')`,
  )
  rows.push(row('R6, R7 turns or calls in error', errors.length, 0, ''), note('calls in all', String(lines.length)))
  for (const { event } of errors.slice(0, 3)) rows.push(note('an error', event.slice(0, 300)))
  return rows
}

/** Milliseconds from a fault to the first event of another owner, for each conversation that was running at the node. */
async function continuedAfter(watched: Watched, node: FleetNode, fault: () => Promise<void>): Promise<number[]> {
  const { at: from, rows } = await watched.next(fault)
  const left = new Map(rows.flatMap((each) => (each.url === node.peerRelay.url && each.wants ? [[each.id, each]] : [])))
  const times: number[] = []
  while (left.size > 0) {
    const { at, rows: now } = await watched.next()
    if (at - from > GIVEN_UP_MS) return [...times, ...[...left].map(() => Number.POSITIVE_INFINITY)]
    for (const { id, epoch, seq } of now) {
      const before = left.get(id)
      if (before === undefined || epoch <= before.epoch || seq <= before.seq) continue
      left.delete(id)
      times.push(at - from)
    }
  }
  return times
}

async function frozen(fleet: Fleet, watched: Watched, seconds: number): Promise<Row[]> {
  const node = fleet.nodes[0]!
  const from = performance.now()
  const times = await continuedAfter(watched, node, async () => node.freeze())
  await sleep(Math.max(0, seconds * 1000 - (performance.now() - from)))
  node.wake()
  const wokenAt = performance.now()
  while ((await node.call('GET', '/api/conversations/count').catch(() => null))?.status !== 200) await sleep(5)
  return [
    row(`R5 SIGSTOP of ${seconds} s: a turn continues, max`, Math.max(0, ...times), (LEASE_SECONDS + 1) * 1000, 'ms'),
    row('R5 the woken node serves again', performance.now() - wokenAt, 1_000, 'ms'),
  ]
}

/** Each node ends in order and starts again. The pause of a conversation: from the start of the drain, less the time it still ran there. */
async function upgraded(fleet: Fleet, watched: Watched): Promise<Row[]> {
  const pauses: number[] = []
  for (const node of fleet.nodes) {
    const newest = new Map<string, { at: number; seq: number; url: string | null }>()
    let isOver = false
    const ending = node.drain().then(() => (isOver = true))
    const until = () => performance.now() + 2_000
    for (let end = until(); !isOver || performance.now() < end; end = isOver ? end : until()) {
      const { at, rows } = await watched.next()
      for (const { id, seq, url } of rows) {
        const before = newest.get(id)
        if (before !== undefined && before.seq === seq) continue
        if (before?.url === node.peerRelay.url && url !== before.url) pauses.push(at - before.at)
        newest.set(id, { at, seq, url })
      }
    }
    await ending
    await node.start()
    await sleep(LEASE_SECONDS * 1000)
  }
  return [row(`R6 rolling upgrade: longest pause of ${pauses.length} turns`, Math.max(0, ...pauses), 1_000, 'ms')]
}

/** Another node starts, and nothing that runs moves to it or elsewhere. */
async function joined(fleet: Fleet, watched: Watched): Promise<Row[]> {
  const before = new Map((await watched.next()).rows.map(({ id, url }) => [id, url]))
  const node = await fleet.addNode()
  await node.start()
  const epochs = new Map((await watched.next()).rows.map(({ id, epoch }) => [id, epoch]))
  await sleep(3 * LEASE_SECONDS * 1000)
  const moved = (await watched.next()).rows.filter(
    ({ id, url, epoch }) => url !== before.get(id) || epoch !== epochs.get(id),
  )
  return [row('R9 a fourth node joins: running conversations that move', moved.length, 0, '')]
}

async function storeAway(fleet: Fleet, watched: Watched, seconds: number): Promise<Row[]> {
  const seqs = async () => new Map((await watched.next()).rows.map(({ id, seq }) => [id, seq]))
  const allContinue = async (from: number) => {
    const before = await seqs()
    const left = new Set(before.keys())
    while (left.size > 0 && performance.now() - from < GIVEN_UP_MS)
      for (const [id, seq] of await seqs()) if (seq > before.get(id)!) left.delete(id)
    return left.size === 0 ? performance.now() - from : Number.POSITIVE_INFINITY
  }
  await fleet.store.crash()
  await sleep(seconds * 1000)
  await fleet.store.start()
  const outageMs = await allContinue(performance.now())
  await fleet.store.addStandby()
  await fleet.store.promote()
  const promotedMs = await allContinue(performance.now())
  return [
    row(`R7 store stopped for ${seconds} s: all turns continue`, outageMs, 3_000, 'ms'),
    row('R7 promotion of the standby: all turns continue', promotedMs, (LEASE_SECONDS + 3) * 1000, 'ms'),
    row('R7 promotion: logs that went back', watched.faults.length, 0, ''),
  ]
}
