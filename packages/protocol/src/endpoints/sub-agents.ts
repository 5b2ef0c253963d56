/** The endpoint row that lists the sub-agents of a project, of a user and of this server. Source: agent-server-wire.md 1.13. */
import { z } from 'zod'
import { AgentDefinition } from '../agent-definition.ts'
import { laxBoolean } from '../lax.ts'
import { MCPServers } from '../mcp.ts'
import { endpoint } from './endpoint.ts'

const yes = () => laxBoolean().default(true)

export const SubAgentsRequest = z.object({
  load_user: yes(),
  load_project: yes(),
  load_builtin: yes(),
  /** Directory of the project on the server's machine. */
  project_dir: z.string().nullable().default(null),
})
export type SubAgentsRequest = z.infer<typeof SubAgentsRequest>

export const SubAgentInfo = AgentDefinition.extend({
  /** The same as `mcp_config`, whose values of secrets are masked. */
  mcp_servers: MCPServers.nullable().default(null),
  is_builtin: z.boolean().default(false),
})
export type SubAgentInfo = z.infer<typeof SubAgentInfo>

export const loadSubAgents = endpoint({
  operationId: 'loadSubAgents',
  tag: 'Sub-agents',
  auth: 'session_key',
  method: 'POST',
  path: '/api/sub-agents',
  description: 'Returns the sub-agents of a project, of the user and of this server; of equal names, the nearest one.',
  body: SubAgentsRequest,
  ok: {
    status: 200,
    schema: z.object({ agents: z.array(SubAgentInfo) }),
    description: 'The definitions; unreadable files are omitted',
  },
  errors: [],
})
