/** Endpoint rows of liveness and details of the server; they need no key. Source: agent-server-wire.md 1.3. */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'

const server = { tag: 'Server details', auth: 'none', method: 'GET' } as const
const ok = { status: 200, schema: z.object({ status: z.literal('ok') }), description: 'Alive' } as const

export const ServerInfo = z.looseObject({
  /** Whole seconds. */
  uptime: z.number(),
  /** Seconds since the last activity. */
  idle_time: z.number(),
  title: z.string(),
  /** Version of the implemented agent-server contract; clients gate features on it. */
  version: z.string(),
  sdk_version: z.string(),
  tools_version: z.string(),
  workspace_version: z.string(),
  build_git_sha: z.string(),
  build_git_ref: z.string(),
  /** Changes with every build of other sources. Parley's own; only for a request with a key. */
  build: z.string().optional(),
  python_version: z.string(),
  usable_tools: z.array(z.string()),
  runtime_idle_timeout_seconds: z.number().nullable(),
  capabilities: z.array(z.string()),
  max_foreground_terminal_timeout_seconds: z.number().nullable(),
  docs: z.string(),
  redoc: z.string(),
})
export type ServerInfo = z.infer<typeof ServerInfo>

export const alive = endpoint({
  operationId: 'alive',
  ...server,
  path: '/alive',
  description: 'Reports that the server answers.',
  ok,
  errors: [],
})
export const health = endpoint({
  operationId: 'health',
  ...server,
  path: '/health',
  description: 'Reports that the server is healthy.',
  ok,
  errors: [],
})
export const ready = endpoint({
  operationId: 'ready',
  ...server,
  path: '/ready',
  description: 'Reports that the server accepts work.',
  ok: { status: 200, schema: z.object({ status: z.literal('ready') }), description: 'Ready' },
  errors: [503],
})
export const readMetrics = endpoint({
  operationId: 'readMetrics',
  tag: 'Server details',
  auth: 'session_key',
  method: 'GET',
  path: '/metrics',
  description: 'Returns the metrics of the server in the text format of Prometheus; for administrators.',
  ok: { status: 200, description: 'text/plain: the metrics' },
  errors: [403],
})
export const serverInfo = endpoint({
  operationId: 'serverInfo',
  ...server,
  path: '/server_info',
  description: 'Returns version, tools and uptime of the server.',
  ok: { status: 200, schema: ServerInfo, description: 'Details' },
  errors: [],
})
