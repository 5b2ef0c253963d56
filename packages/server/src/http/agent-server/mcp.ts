/** MCP servers that a user tries before they are stored. Source: agent-server-wire.md 1.13. */
import { finishMcpLogin, getMcpLogin, startMcpLogin, testMcpServer } from '@parley/protocol'
import type { TryServer } from '../../tools/index.ts'
import { detail } from '../core/errors.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export type McpRoutesDeps = { tryServer: TryServer }

const NO_LOGIN = {
  ok: false,
  job_id: null,
  authorization_url: null,
  error: 'OAuth logins to MCP servers are not supported. Give the server a token with the strategy bearer.',
  error_kind: 'unknown',
}
const NO_JOB = detail(404, 'This login is not known: no OAuth login has begun.')

export function mcpRoutes({ tryServer }: McpRoutesDeps): Route[] {
  return [
    route(testMcpServer, async ({ body, callerSignal }, { user }) =>
      ok(testMcpServer, await tryServer(user, body, callerSignal())),
    ),
    route(startMcpLogin, async () => ok(startMcpLogin, NO_LOGIN)),
    route(getMcpLogin, async () => NO_JOB),
    route(finishMcpLogin, async () => NO_JOB),
  ]
}
