/** Endpoint rows that try an MCP server before it is stored. Source: agent-server-wire.md 1.13. */
import { z } from 'zod'
import { laxBoolean, laxNumber } from '../lax.ts'
import { text } from '../lax-text.ts'
import { list, map } from '../lists.ts'
import { MCPAuth } from '../mcp.ts'
import { tagUnion } from '../unions.ts'
import { endpoint } from './endpoint.ts'

const remote = <const T extends string>(type: T) =>
  z.object({
    type: z.literal(type),
    url: text({ min: 1 }),
    headers: map(z.string()).default({}),
    auth: MCPAuth.nullable().default(null),
    /** Seconds; accepted without effect, because `timeout` of the request limits the whole test. */
    timeout: laxNumber().nullable().default(null),
    sse_read_timeout: laxNumber().nullable().default(null),
    keep_alive: laxBoolean().nullable().default(null),
  })

export const MCPServerSpec = tagUnion('type', {
  stdio: z.object({
    type: z.literal('stdio'),
    command: text({ min: 1 }),
    args: list(z.string()).default([]),
    env: map(z.string()).default({}),
    /** Default: the folder of the user. */
    cwd: z.string().nullable().default(null),
  }),
  http: remote('http'),
  shttp: remote('shttp'),
  'streamable-http': remote('streamable-http'),
  sse: remote('sse'),
})
export type MCPServerSpec = z.infer<typeof MCPServerSpec>

export const MCPTestRequest = z.object({
  name: text({ min: 1, max: 128 }).default('test-server'),
  server: MCPServerSpec,
  /** Seconds for the whole test. */
  timeout: laxNumber({ gt: 0, le: 120 }).default(15),
  /** A tool that is called after the tools were listed. */
  tool_call: z
    .object({ name: text({ min: 1 }), arguments: map(z.unknown()).default({}) })
    .nullable()
    .default(null),
})
export type MCPTestRequest = z.infer<typeof MCPTestRequest>

const ErrorKind = z.enum(['timeout', 'connection', 'unknown'])

export const MCPTestSuccess = z.object({
  ok: z.literal(true),
  /** Names in the order of the server. */
  tools: z.array(z.string()).default([]),
  tool_result: z.object({ is_error: z.boolean(), text: z.string() }).nullable().default(null),
  resolved_mcp_servers: z.array(z.record(z.string(), z.unknown())).nullable().default(null),
  oauth_state: z.record(z.string(), z.unknown()).nullable().default(null),
})
export type MCPTestSuccess = z.infer<typeof MCPTestSuccess>

export const MCPTestFailure = z.object({
  ok: z.literal(false),
  error: z.string(),
  /** `timeout`: the time of the request is up; `connection`: the server cannot be started, reached or understood. */
  error_kind: ErrorKind,
})
export type MCPTestFailure = z.infer<typeof MCPTestFailure>

export const MCPTestResponse = z.discriminatedUnion('ok', [MCPTestSuccess, MCPTestFailure])
export type MCPTestResponse = z.infer<typeof MCPTestResponse>

export const testMcpServer = endpoint({
  operationId: 'testMcpServer',
  tag: 'MCP',
  auth: 'session_key',
  method: 'POST',
  path: '/api/mcp/test',
  description: 'Starts or reaches an MCP server, lists its tools, and may call one of them.',
  body: MCPTestRequest,
  namesAddresses: true,
  ok: { status: 200, schema: MCPTestResponse, description: 'The tools, or why there are none' },
  errors: [429],
})

const OAuthStart = z.object({
  ok: z.boolean(),
  job_id: z.string().nullable().default(null),
  authorization_url: z.string().nullable().default(null),
  error: z.string().nullable().default(null),
  error_kind: ErrorKind.nullable().default(null),
})

export const startMcpLogin = endpoint({
  operationId: 'startMcpLogin',
  tag: 'MCP',
  auth: 'session_key',
  method: 'POST',
  path: '/api/mcp/oauth/start',
  description: 'Refuses: OAuth logins to MCP servers are not supported.',
  body: MCPTestRequest,
  namesAddresses: true,
  ok: { status: 200, schema: OAuthStart, description: 'Always `ok: false` with the remedy' },
  errors: [],
})

const OAuthStatus = z.object({
  ok: z.boolean(),
  status: z.enum(['pending', 'authorizing', 'succeeded', 'failed']),
  job_id: z.string(),
})
const job = { tag: 'MCP', auth: 'session_key', params: z.object({ job_id: z.string() }) } as const
const neverReturned = { status: 200, schema: OAuthStatus, description: 'Never returned' } as const

export const getMcpLogin = endpoint({
  operationId: 'getMcpLogin',
  ...job,
  method: 'GET',
  path: '/api/mcp/oauth/status/{job_id}',
  description: 'Refuses: no OAuth login has begun.',
  ok: neverReturned,
  errors: [404],
})

export const finishMcpLogin = endpoint({
  operationId: 'finishMcpLogin',
  ...job,
  method: 'POST',
  path: '/api/mcp/oauth/callback/{job_id}',
  description: 'Refuses: no OAuth login has begun.',
  body: z.object({ callback_url: text({ min: 1 }) }),
  ok: neverReturned,
  errors: [404],
})
