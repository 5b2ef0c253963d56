/** Opens the coordination of this node with the others that use its store. */
import type { Config } from '../config/index.ts'
import { openLocalCoordination, type Coordination } from '../coordination/index.ts'
import { VERSION } from '../lib/index.ts'
import type { Storage } from '../storage/index.ts'

export async function composeCoordination({ host, port }: Config, storage: Storage): Promise<Coordination> {
  const self = { url: `http://${host}:${port}`, version: VERSION, places: [] }
  return openLocalCoordination({ storage, self, now: () => new Date() })
}
