/** Credentials of model providers that several profiles share. Source: agent-server-wire.md 1.13. */
import {
  createProviderConnection,
  deleteProviderConnection,
  listProviderConnections,
  updateProviderConnection,
} from '@parley/protocol'
import type { ProviderConnections } from '../../settings/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

export function providerConnectionRoutes(connections: ProviderConnections): Route[] {
  return [
    route(listProviderConnections, async (_call, { user }) =>
      ok(listProviderConnections, await connections.list(user)),
    ),
    route(createProviderConnection, async ({ body }, { user }) =>
      ok(createProviderConnection, await connections.create(user, body)),
    ),
    route(updateProviderConnection, async ({ params, body }, { user }) =>
      ok(updateProviderConnection, await connections.update(user, params.connection_id, body)),
    ),
    route(deleteProviderConnection, async ({ params }, { user }) =>
      ok(deleteProviderConnection, await connections.delete(user, params.connection_id)),
    ),
  ]
}
