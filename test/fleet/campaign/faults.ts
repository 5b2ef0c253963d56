/** The faults of the campaign. Each one ends with every node running again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet } from '../../../packages/server/testing/fleet.ts'
import type { FleetNode } from '../../../packages/server/testing/fleet-node.ts'
import { until } from '../../../packages/server/testing/until.ts'
import type { Watched } from './watched-rows.ts'

export const LEASE_MS = 3_000
/** Longest time, in milliseconds, until a turn continues elsewhere; a failed fault is reported with what was seen then. */
const CONTINUED_MS = 60_000

/** Shares of all faults, in percent. */
const SHARES = { kill: 35, freeze: 25, cut: 15, drain: 15, 'store crash': 5, promotion: 5 } as const
export type FaultKind = keyof typeof SHARES
export const FAULT_KINDS = Object.keys(SHARES) as FaultKind[]

/** Milliseconds from a kill to the first event of another owner, one for each conversation that was running there. */
export type Continued = { ms: number; isAfterStore: boolean }

export type FaultDeps = {
  fleet: Fleet
  watched: Watched
  /** Numbers in [0, 1). */
  random: () => number
  onContinued: (continued: Continued) => void
}

/** `performance.now()` of the newest start or promotion of the store. */
export type StoreStart = { at: number }

export function kindOf(random: () => number): FaultKind {
  let left = random() * 100
  for (const kind of FAULT_KINDS) {
    left -= SHARES[kind]
    if (left < 0) return kind
  }
  return 'kill'
}

export async function inject(kind: FaultKind, deps: FaultDeps, store: StoreStart): Promise<void> {
  const { fleet, random } = deps
  const node = fleet.nodes[Math.floor(random() * fleet.nodes.length)]!
  switch (kind) {
    case 'kill':
      return kill(node, deps, store)
    case 'freeze':
      node.freeze()
      await sleep(LEASE_MS + 2_000)
      return node.wake()
    case 'cut':
      return cut(node, random)
    case 'drain': {
      const code = await node.drain()
      if (code !== 0) throw new Error(`a drained node ended with ${code}: ${node.stderr.slice(-2000)}`)
      return node.start()
    }
    case 'store crash':
      await fleet.store.crash()
      await sleep(random() * 2_000)
      await fleet.store.start()
      store.at = performance.now()
      return
    case 'promotion':
      await fleet.store.addStandby()
      await fleet.store.promote()
      store.at = performance.now()
  }
}

/** The way to the store, or the one from other nodes, is broken or silent for a while, which may be longer than a lease. */
async function cut(node: FleetNode, random: () => number): Promise<void> {
  const state = random() < 0.5 ? 'refused' : 'silent'
  const isStore = random() < 0.75
  if (isStore) node.store = state
  else node.peerRelay.state = state
  await sleep(random() * (LEASE_MS + 2_000))
  if (isStore) node.store = 'open'
  else node.peerRelay.state = 'open'
}

async function kill(node: FleetNode, { fleet, watched, onContinued }: FaultDeps, store: StoreStart): Promise<void> {
  const url = node.peerRelay.url
  const { at: killedAt, rows } = await watched.next(() => node.kill())
  const orphaned = rows.filter((row) => row.url === url && row.wants)
  const isAfterStore = killedAt - store.at < LEASE_MS
  const left = new Map(orphaned.map((row) => [row.id, row]))
  const continued = async () => {
    const { at, rows: now } = await watched.next()
    for (const { id, epoch, seq } of now) {
      const before = left.get(id)
      if (before === undefined || epoch <= before.epoch || seq <= before.seq) continue
      left.delete(id)
      onContinued({ ms: at - killedAt, isAfterStore })
    }
    return left.size === 0
  }
  await until(continued, CONTINUED_MS).catch((cause: unknown) => {
    const ids = [...left.keys()].join(', ')
    const errors = fleet.nodes.map(({ name, stderr }) => `${name}: ${stderr.slice(-1500)}`).join('\n')
    throw new Error(`after a kill no node continued ${ids}\n${errors}`, { cause })
  })
  // Only now, because a start would take the processor from what is measured.
  await node.start()
}
