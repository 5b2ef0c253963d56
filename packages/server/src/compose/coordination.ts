/** Opens the coordination of this node with the others that use its store. */
import { isLoopback, type Config } from '../config/index.ts'
import { openLocalCoordination, openSharedCoordination, type Coordination } from '../coordination/index.ts'
import { VERSION } from '../lib/index.ts'
import type { Log, ServerMetrics } from '../observability/index.ts'
import type { PlaceId, Storage } from '../storage/index.ts'

/** @throws ParleyError `conflict` for another node with the same data directory or address; `unavailable` */
export async function composeCoordination(
  { nodeUrl, leaseMs }: Pick<Config, 'nodeUrl' | 'leaseMs'>,
  storage: Storage,
  place: PlaceId | null,
  onClaim: ServerMetrics['claimed'],
  log: Log,
): Promise<Coordination> {
  const self = { url: nodeUrl ?? '', version: VERSION }
  const { shared } = storage
  if (shared !== null && place !== null)
    return openSharedCoordination({ storage, shared, self, place, leaseMs, onClaim, log })
  return openLocalCoordination({ storage, self: { ...self, places: [] }, now: () => new Date() })
}

/** Publishes the address where the server listens, where other nodes can reach it: on the machine itself. */
export async function publish(coordination: Coordination, host: string, url: string): Promise<void> {
  if (isLoopback(host)) await coordination.listensAt(url)
}
