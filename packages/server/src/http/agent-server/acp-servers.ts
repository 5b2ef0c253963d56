/** The external agents that the server knows. Source: docs/acp.md, Starting. */
import { type AcpServer, listAcpServers } from '@parley/protocol'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** @param find as `knownAcpServers`, for a user */
export const acpServerRoutes = (find: (user: string, signal: AbortSignal) => Promise<AcpServer[]>): Route[] => [
  route(listAcpServers, async ({ callerSignal }, { user }) =>
    ok(listAcpServers, { servers: await find(user, callerSignal()) }),
  ),
]
