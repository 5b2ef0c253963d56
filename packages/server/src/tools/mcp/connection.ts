/**
 * A connection to one MCP server, over the transport of its endpoint. The library is loaded for the first connection.
 */
import type * as Library from '@modelcontextprotocol/client'
import type { CallToolResult, Client, Tool as ListedTool, Transport } from '@modelcontextprotocol/client'
import { ParleyError } from '@parley/protocol'
import { abortable, timeLimit } from '../../lib/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import type { Fetch } from '../../egress/index.ts'
import { boundedFetch } from './bounded-fetch.ts'
import type { Endpoint } from './endpoint.ts'
import { reasonOf } from './failure.ts'
import { ProcessTransport } from './process-transport.ts'
import { onUnansweredRequest } from './unanswered-requests.ts'

export type { CallToolResult, ListedTool }

const CLIENT = { name: 'parley', version: '0.1.0' }
const MAX_PAGES = 50
/** More descriptions would fill a model's context. */
const MAX_TOOLS = 500
/** Milliseconds for the request that ends a session. */
const END_SESSION_MS = 2_000
/** Longest time of a timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1

export type Connection = AsyncDisposable & {
  /** Requests the list of tools. */
  list(signal: AbortSignal): Promise<ListedTool[]>
  /** @throws any error of the library, the transport or the server, and the signal's reason. */
  call(name: string, args: Record<string, unknown>, timeoutMs: number, signal: AbortSignal): Promise<CallToolResult>
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
}

export type ConnectOptions = {
  /** Opens the workspace in which programs are started; called for stdio servers only. */
  openWorkspace: (signal: AbortSignal) => Promise<Workspace>
  /** Called when the server announces a changed list of tools. */
  onListChanged: () => void
  /** Requests to addresses of servers. */
  fetch: Fetch
}

/**
 * Connects and negotiates. Ends what it started when that fails or the signal aborts.
 * @throws ParleyError `unavailable` with a reason that contains no credentials.
 */
export async function connect(
  endpoint: Endpoint,
  { openWorkspace, onListChanged, fetch }: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  const library = await import('@modelcontextprotocol/client')
  signal.throwIfAborted()
  const transport = await open(endpoint, { openWorkspace, fetch }, library, signal)
  // No capabilities: a server gets no model, no questions to people and no folders.
  const client = new library.Client(CLIENT, { capabilities: {} })
  const closed = Promise.withResolvers<void>()
  client.onclose = () => closed.resolve()
  // The older transport would reopen its stream by itself, as another session without the state of this one.
  client.onerror = (error) => {
    if (error instanceof library.SseError) void end(client, transport)
  }
  if (transport instanceof library.StreamableHTTPClientTransport)
    onUnansweredRequest(transport, () => void end(client, transport))
  client.setNotificationHandler('notifications/tools/list_changed', onListChanged)
  try {
    await abortable(client.connect(transport, limitedBy(signal)), signal)
  } catch (error) {
    await end(client, transport)
    signal.throwIfAborted()
    const complaint = transport instanceof ProcessTransport ? transport.complaint : ''
    throw new ParleyError('unavailable', reasonOf(error, complaint), { cause: error })
  }
  return {
    list: (of) => list(client, of),
    async call(name, args, timeoutMs, of) {
      const late = new AbortController()
      using _limit = timeLimit(timeoutMs, () => late.abort())
      const params = { name, arguments: args }
      return await client.request({ method: 'tools/call', params }, limitedBy(AbortSignal.any([of, late.signal])))
    },
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      if (transport instanceof library.StreamableHTTPClientTransport) await endSession(transport)
      await end(client, transport)
      closed.resolve()
    },
  }
}

/**
 * Options of a request that only the signal ends. The library's own timer would fire before an answer that arrived while this
 * process was stopped is read.
 */
const limitedBy = (signal: AbortSignal) => ({ signal, timeout: LONGEST_MS })

async function open(
  endpoint: Endpoint,
  { openWorkspace, fetch }: Pick<ConnectOptions, 'openWorkspace' | 'fetch'>,
  library: typeof Library,
  signal: AbortSignal,
): Promise<Transport> {
  if (endpoint.kind !== 'stdio') {
    const requestInit = { headers: { ...endpoint.headers } }
    // A redirect to another origin fails, so that no credential follows it.
    const options = { requestInit, redirectPolicy: 'same-origin' as const, fetch: boundedFetch(fetch) }
    return endpoint.kind === 'sse'
      ? new library.SSEClientTransport(endpoint.url, options)
      : (new library.StreamableHTTPClientTransport(endpoint.url, options) as Transport)
  }
  const { argv, cwd, env } = endpoint
  // The runner owns the program; the workspace was only needed to start it.
  await using workspace = await openWorkspace(signal)
  const process = await workspace.spawn({ argv, env, ...(cwd === undefined ? {} : { cwd }) }, signal)
  return new ProcessTransport(process, library)
}

async function list(client: Client, signal: AbortSignal): Promise<ListedTool[]> {
  const capabilities = client.getServerCapabilities()
  // A closed client has no capabilities, which differs from a server without tools.
  if (capabilities === undefined) throw new ParleyError('unavailable', 'it ended the connection')
  if (capabilities.tools === undefined) return []
  const tools: ListedTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = await client.request({ method: 'tools/list', params }, limitedBy(signal))
    tools.push(...answer.tools)
    cursor = answer.nextCursor
    if (cursor === undefined) break
  }
  return tools.slice(0, MAX_TOOLS)
}

/** Ends the session at the server. A server that does not respond detects the end itself. */
async function endSession(transport: { terminateSession(): Promise<void> }): Promise<void> {
  await abortable(transport.terminateSession(), AbortSignal.timeout(END_SESSION_MS)).catch(() => undefined)
}

/** A client that never connected has no reference to its transport. */
async function end(client: Client, transport: Transport): Promise<void> {
  await client.close().catch(() => undefined)
  await transport.close().catch(() => undefined)
}
