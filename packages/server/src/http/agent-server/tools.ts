/** The tools that an agent may be given. Source: agent-server-wire.md 1.2. */
import { listTools } from '@parley/protocol'
import { ok, route } from '../route.ts'
import type { Route } from '../web.ts'

export function toolRoutes(names: readonly string[]): Route[] {
  const sorted = [...new Set(names)].toSorted()
  return [route(listTools, async () => ok(listTools, sorted))]
}
