/** MCP servers of an agent. Closed models. Source: agent-server-wire.md 5.9. */
import { z } from 'zod'
import { laxBoolean, laxNumber } from './lax.ts'
import { secretText, text, valueError } from './lax-text.ts'
import { tagUnion } from './unions.ts'
import { list, map } from './lists.ts'

const maybeText = () => z.string().nullable().default(null)
const secretMap = () => map(z.string())

const OAuthAuthentication = z.strictObject({
  type: z.literal('oauth'),
  client_auth_method: z
    .enum(['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'])
    .nullable()
    .default(null),
  scopes: z
    .union([z.string(), list(z.string())])
    .nullable()
    .default(null),
  client_name: maybeText(),
  client_metadata_url: maybeText(),
  client_id: maybeText(),
  client_secret: secretText(),
  additional_client_metadata: map(z.unknown()).nullable().default(null),
})

export const MCPAuth = tagUnion('strategy', {
  none: z.strictObject({ strategy: z.literal('none') }),
  api_key: z.strictObject({ strategy: z.literal('api_key'), value: secretText(), header_name: maybeText() }),
  bearer: z.strictObject({ strategy: z.literal('bearer'), value: secretText() }),
  basic: z.strictObject({ strategy: z.literal('basic'), username: z.string(), password: secretText() }),
  header: z.strictObject({ strategy: z.literal('header'), headers: secretMap() }),
  oauth2: z.strictObject({
    strategy: z.literal('oauth2'),
    authentication: OAuthAuthentication.nullable().default(null),
    state: map(z.unknown()).nullable().default(null),
  }),
})
export type MCPAuth = z.infer<typeof MCPAuth>

const hasAuthorization = (headers: Record<string, string> | null) =>
  headers !== null && Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')

export const MCPServer = z
  .strictObject({
    url: text({ min: 1 }).nullable().default(null),
    /** Null: derived from the presence of `url` or `command`. */
    transport: z.enum(['stdio', 'http', 'streamable-http', 'sse']).nullable().default(null),
    command: text({ min: 1 }).nullable().default(null),
    args: list(z.string()).nullable().default(null),
    env: secretMap().nullable().default(null),
    cwd: maybeText(),
    description: maybeText(),
    icon: maybeText(),
    /** Seconds. */
    timeout: laxNumber().nullable().default(null),
    /** Seconds. */
    sse_read_timeout: laxNumber().nullable().default(null),
    keep_alive: laxBoolean().nullable().default(null),
    headers: secretMap().nullable().default(null),
    auth: MCPAuth.nullable().default(null),
    /** False: stored, and not offered to the agent. */
    enabled: laxBoolean().default(true),
  })
  .refine((server) => server.url !== null || server.command !== null, valueError("MCP server needs 'url' or 'command'"))
  .refine(
    (server) => server.transport !== 'stdio' || server.command !== null,
    valueError("transport 'stdio' needs 'command'"),
  )
  .refine(
    ({ transport, url }) => transport === null || transport === 'stdio' || url !== null,
    valueError("transports 'http', 'streamable-http' and 'sse' need 'url'"),
  )
  .refine(
    ({ auth, headers }) => auth === null || !hasAuthorization(headers),
    valueError("an Authorization header cannot be combined with 'auth'"),
  )
export type MCPServer = z.infer<typeof MCPServer>

export const MCPServers = map(MCPServer)
/** Name to server. */
export type MCPServers = z.infer<typeof MCPServers>
