/** MCP servers that a user tries before they are stored. Source: agent-server-wire.md 1.13. */
import { testMcpServer } from '@parley/protocol'
import type { TryServer } from '../../tools/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type McpRoutesDeps = { tryServer: TryServer }

export function mcpRoutes({ tryServer }: McpRoutesDeps): Route[] {
  return [
    route(testMcpServer, async ({ body, callerSignal }, { user }) =>
      ok(testMcpServer, await tryServer(user, body, callerSignal())),
    ),
  ]
}
