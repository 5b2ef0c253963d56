/** MCP servers of the configuration in the form that ACP passes to an agent. Pure. Source: agent-core.md 11.4. */
import type { MCPServer, MCPServers } from '@parley/protocol'
import { expectNameFilter } from '../../../tools/index.ts'
import { AcpFailure } from '../failure.ts'
import { filteredCommand } from './mcp-filter.ts'

export type Forwarded = {
  servers: Record<string, unknown>[]
  /** Servers that cannot be passed on, and the reasons. */
  dropped: { name: string; reason: string }[]
}

export type ForwardOptions = {
  /** Transports that the agent supports in addition to stdio. */
  http: boolean
  sse: boolean
  filter: string | null
}

/** Splits the servers into those to pass on and those to drop. @throws AcpFailure `ACPInitError` for a filter that cannot be applied. */
export function forwardedServers(config: MCPServers, { http, sse, filter }: ForwardOptions): Forwarded {
  expectRegex(filter)
  const servers: Record<string, unknown>[] = []
  const dropped: Forwarded['dropped'] = []
  for (const [name, server] of Object.entries(config)) {
    if (!server.enabled) continue
    if (server.command !== null && server.transport !== 'http' && server.transport !== 'sse') {
      servers.push(stdio(name, server, filter))
      continue
    }
    if (filter !== null) {
      throw new AcpFailure(
        'ACPInitError',
        `filter_tools_regex cannot be kept for the MCP server '${name}': an ACP agent connects to its address by itself. ` +
          'Take the server or the filter out, or run the server by command.',
      )
    }
    const type = server.transport === 'sse' ? 'sse' : 'http'
    if (server.auth?.strategy === 'oauth2') dropped.push({ name, reason: 'its OAuth login cannot be passed on' })
    else if (type === 'sse' ? !sse : !http) dropped.push({ name, reason: `the agent does not support ${type}` })
    else servers.push({ type, name, url: server.url, headers: pairs(headersOf(server)) })
  }
  return { servers, dropped }
}

function stdio(name: string, { command, args, env, cwd }: MCPServer, filter: string | null): Record<string, unknown> {
  const plain = [command!, ...(args ?? [])]
  // The protocol has no working directory.
  const line = cwd === null ? plain : ['/bin/sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', cwd, ...plain]
  const [program, ...rest] = filter === null ? line : filteredCommand(filter, line)
  return { name, command: program, args: rest, env: pairs(env ?? {}) }
}

function headersOf({ headers, auth }: MCPServer): Record<string, string> {
  const given = { ...headers }
  switch (auth?.strategy) {
    case 'bearer':
      return auth.value === null ? given : { ...given, Authorization: `Bearer ${auth.value}` }
    case 'api_key':
      return auth.value === null ? given : { ...given, [auth.header_name ?? 'X-API-Key']: auth.value }
    case 'basic': {
      const pair = Buffer.from(`${auth.username}:${auth.password ?? ''}`).toString('base64')
      return { ...given, Authorization: `Basic ${pair}` }
    }
    case 'header':
      return { ...given, ...auth.headers }
    default:
      return given
  }
}

const pairs = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).map(([name, value]) => ({ name, value }))

function expectRegex(filter: string | null): void {
  try {
    expectNameFilter(filter)
  } catch (error) {
    throw new AcpFailure('ACPInitError', error instanceof Error ? error.message : String(error), error)
  }
}
