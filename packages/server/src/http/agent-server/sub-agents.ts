/** The sub-agents of a directory on the server's machine, of the user and of this server. Source: agent-server-wire.md 1.13. */
import { type AgentDefinition, loadSubAgents, type SubAgentsRequest } from '@parley/protocol'
import { redact } from '../../secrets/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

/** Definitions, of equal names the nearest one. */
export type SubAgentsOfDirectory = (
  user: string,
  request: SubAgentsRequest,
  signal: AbortSignal,
) => Promise<AgentDefinition[]>

export function subAgentRoutes(subAgentsOf: SubAgentsOfDirectory): Route[] {
  return [
    route(loadSubAgents, async ({ body, callerSignal }, { user }) => {
      const found = await subAgentsOf(user, body, callerSignal())
      return ok(loadSubAgents, { agents: found.map(infoOf) })
    }),
  ]
}

function infoOf(definition: AgentDefinition): unknown {
  const shown = redact(definition, 'socket') as AgentDefinition
  return { ...shown, mcp_servers: shown.mcp_config, is_builtin: definition.level === 'builtin' }
}
