/** The tools that an agent can be given. Source: agent-server-wire.md 1.2. */
import { listTools } from '@parley/protocol'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function toolRoutes(names: readonly string[]): Route[] {
  const sorted = [...new Set(names)].toSorted()
  return [route(listTools, async () => ok(listTools, sorted))]
}
