/** Endpoint row of the external agents that the server knows. Source: docs/acp.md, Starting. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

export const AcpServer = z.object({
  /** The value of `acp_server` in settings and profiles. */
  id: z.enum(['claude-code', 'codex', 'gemini-cli']),
  /** True when a conversation of this user finds the program on its path. */
  installed: z.boolean(),
  /** Of the installed package; null when it is not known. */
  version: z.string().nullable(),
  /** Where a login was found: a stored secret, or a file of the program; null: nowhere. */
  login: z.enum(['secret', 'file']).nullable(),
  /** The secret with the key of the agent. */
  secret_name: z.string(),
  /** The command line that installs it. */
  install: z.string(),
})
/** An external agent, as a new conversation would find it. */
export type AcpServer = z.infer<typeof AcpServer>

export const listAcpServers = endpoint({
  operationId: 'listAcpServers',
  tag: 'Agents',
  auth: 'session_key',
  method: 'GET',
  path: '/api/acp/servers',
  description: 'Lists the external agents that the server knows, with what is installed; starts none of them.',
  ok: { status: 200, schema: z.object({ servers: z.array(AcpServer) }), description: 'The known agents' },
  errors: [503],
})
