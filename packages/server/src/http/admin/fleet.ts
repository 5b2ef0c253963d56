/** The nodes that share the store, for administrators. Source: docs/operations.md, Several nodes. */
import { type Fleet, readFleet } from '@parley/protocol'
import type { Coordination } from '../../coordination/index.ts'
import type { NodeStore, TargetStore } from '../../storage/index.ts'
import { expectAdmin } from '../core/auth.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type FleetDeps = {
  coordination: Pick<Coordination, 'node' | 'nodes' | 'isShared'>
  nodes: Pick<NodeStore, 'running' | 'facts'>
  targets: Pick<TargetStore, 'list'>
}

export const fleetRoutes = (deps: FleetDeps): Route[] => [
  route(readFleet, async (_call, actor) => {
    expectAdmin(actor)
    return ok(readFleet, await fleetOf(deps))
  }),
]

async function fleetOf({ coordination, nodes, targets }: FleetDeps): Promise<Fleet> {
  const [alive, running, rows, store] = await Promise.all([
    coordination.nodes(),
    nodes.running(),
    targets.list(),
    nodes.facts(),
  ])
  const { isShared, node: self } = coordination
  const numbers = new Set(alive.map(({ n }) => n))
  const isAlive = (node: number | null) => node !== null && numbers.has(node)
  const countOf = (isCounted: (node: number | null) => boolean) =>
    running.reduce((sum, { node, count }) => sum + (isCounted(node) ? count : 0), 0)
  return {
    is_shared: isShared,
    nodes: alive
      .map(({ n, url, version, places, startedAt, drainingAt }) => ({
        node: n,
        url,
        version,
        places: [...places],
        started_at: startedAt,
        draining_at: drainingAt,
        is_this: n === self,
        running: countOf((node) => node === n),
      }))
      .toSorted((a, b) => a.node - b.node),
    orphans: countOf((node) => !isAlive(node)),
    webhook_targets: rows.map(({ name, sender }) => {
      const known = isShared ? sender : self
      return { target: name, sender: isAlive(known) ? known : null }
    }),
    store,
  }
}
