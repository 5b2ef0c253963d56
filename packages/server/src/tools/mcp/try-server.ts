/** Tries an MCP server outside of a conversation. Source: agent-server-wire.md 1.13. */
import { randomUUID } from 'node:crypto'
import {
  asConversationId,
  invalidInput,
  MCPServer,
  ParleyError,
  type MCPServerSpec,
  type MCPTestRequest,
  type MCPTestResponse,
} from '@parley/protocol'
import type { Fetch } from '../../egress/index.ts'
import { timeLimit } from '../../lib/index.ts'
import type { RootsOf, Workspaces } from '../../workspace/index.ts'
import { type CallToolResult, connect, type Connection } from './connection.ts'
import { type Endpoint, endpointOf } from './endpoint.ts'
import { reasonOf } from './failure.ts'
import { expandServer, namesIn } from './placeholders.ts'

export type TryServerDeps = {
  workspaces: Pick<Workspaces, 'open' | 'release'>
  roots: RootsOf
  fetch: Fetch
  /** The user's secrets that a text names. */
  secretsFor: (user: string) => (text: string) => Promise<Record<string, string>>
  /** Masks the user's secrets in a text. */
  hide: (user: string, text: string) => Promise<string>
}

/**
 * Reaches the server, or starts its program in a sandbox of the user where programs are sandboxed, and ends it again.
 * @throws ParleyError `invalid_input` for a server that is described wrongly, `rate_limited`
 */
export type TryServer = (user: string, request: MCPTestRequest, signal: AbortSignal) => Promise<MCPTestResponse>

/** Characters of the result of a tool. */
const MAX_RESULT_CHARS = 100_000
/** Errors of the request rather than of the server. */
const REFUSALS = new Set(['invalid_input', 'rate_limited', 'forbidden'])

export function openTryServer(deps: TryServerDeps): TryServer {
  return async (user, request, signal) => {
    const late = new AbortController()
    using _limit = timeLimit(request.timeout * 1000, () => late.abort(new ParleyError('timed_out', 'the time is up')))
    try {
      return await tried(deps, user, request, AbortSignal.any([signal, late.signal]))
    } catch (error) {
      signal.throwIfAborted()
      if (late.signal.aborted) return failed('timeout', `The server did not answer within ${request.timeout} seconds.`)
      if (error instanceof ParleyError && REFUSALS.has(error.code)) throw error
      const kind = error instanceof ParleyError ? 'connection' : 'unknown'
      return failed(kind, await deps.hide(user, reasonOf(error)))
    }
  }
}

async function tried(
  deps: TryServerDeps,
  user: string,
  { server: spec, tool_call }: MCPTestRequest,
  signal: AbortSignal,
): Promise<MCPTestResponse> {
  const described = serverOf(spec)
  const secrets = await deps.secretsFor(user)(namesIn(described).join(' '))
  const endpoint = reachable(expandServer(described, secrets))
  const directory = endpoint.kind === 'stdio' ? await directoryOf(deps.roots(user), spec) : ''
  // Its own id, so that everything that the program leaves behind ends with the test.
  const conversationId = asConversationId(`mcp-${randomUUID()}`)
  const openWorkspace = () =>
    deps.workspaces.open({ conversationId, owner: user, workingDir: directory, epoch: 1 }, signal)
  try {
    await using connection = await connect(
      endpoint.kind === 'stdio' ? { ...endpoint, cwd: directory } : endpoint,
      { openWorkspace, onListChanged: () => undefined, fetch: deps.fetch },
      signal,
    )
    return await answersOf(connection, deps, user, tool_call, signal)
  } finally {
    if (endpoint.kind === 'stdio') await deps.workspaces.release(conversationId)
  }
}

async function answersOf(
  connection: Connection,
  { hide }: TryServerDeps,
  user: string,
  call: MCPTestRequest['tool_call'],
  signal: AbortSignal,
): Promise<MCPTestResponse> {
  const tools = (await connection.list(signal)).map(({ name }) => name)
  const nothing = { tool_result: null, resolved_mcp_servers: null, oauth_state: null }
  if (call === null) return { ok: true, tools, ...nothing }
  // The time of the whole test is its limit.
  const result = await connection.call(call.name, call.arguments, Infinity, signal)
  return {
    ok: true,
    tools,
    ...nothing,
    tool_result: { is_error: result.isError === true, text: await hide(user, textOf(result)) },
  }
}

function textOf({ content, structuredContent }: CallToolResult): string {
  const texts = content.map((part) => (part.type === 'text' ? part.text : `[A part of type ${part.type}.]`))
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent))
  return texts.join('\n').slice(0, MAX_RESULT_CHARS)
}

/** @throws ParleyError `invalid_input` for members that contradict each other. */
function serverOf(spec: MCPServerSpec): MCPServer {
  const server =
    spec.type === 'stdio'
      ? { transport: 'stdio', command: spec.command, args: spec.args, env: spec.env, cwd: spec.cwd }
      : {
          transport: spec.type === 'shttp' || spec.type === 'http' ? 'http' : spec.type,
          url: spec.url,
          headers: spec.headers,
          auth: spec.auth,
        }
  const read = MCPServer.safeParse(server)
  if (read.success) return read.data
  throw invalidInput(
    `The server cannot be used: ${read.error.issues[0]?.message ?? 'its members contradict each other'}.`,
    ['server'],
  )
}

/** @throws ParleyError `unavailable` with the reason; the configuration may be valid for others, and no member of it is refused. */
function reachable(server: MCPServer): Endpoint {
  try {
    return endpointOf(server)
  } catch (error) {
    if (error instanceof ParleyError) throw new ParleyError('unavailable', error.message, { cause: error })
    throw error
  }
}

async function directoryOf(roots: ReturnType<RootsOf>, spec: MCPServerSpec): Promise<string> {
  const own = await roots.ownFolder()
  return spec.type !== 'stdio' || spec.cwd === null ? own : roots.directory(spec.cwd, ['server', 'cwd'], own)
}

const failed = (error_kind: 'timeout' | 'connection' | 'unknown', error: string): MCPTestResponse => ({
  ok: false,
  error,
  error_kind,
})
