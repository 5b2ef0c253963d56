/**
 * Conversion between the three lists of MCP servers in the conversation service API and the map by name that agents use. Pure.
 * Members that the lists cannot express (headers, OAuth, a directory, `enabled`) survive a write of the lists.
 * Source: interface.md, MCPConfig; agent-server-wire.md 5.9; agent-core.md 8.12.
 */
import type { MCPConfig, MCPServer, MCPServers } from '@parley/protocol'
import { HIDDEN } from '../secrets/index.ts'

type Kind = 'sse' | 'shttp' | 'stdio'

const kindOf = ({ url, transport }: MCPServer): Kind => {
  if (transport === 'stdio' || url === null) return 'stdio'
  return transport === 'sse' ? 'sse' : 'shttp'
}

/** The map as lists, secrets masked. */
export function mcpConfigOf(servers: MCPServers): MCPConfig {
  const entries = Object.entries(servers)
  const of = (kind: Kind) => entries.filter(([, server]) => kindOf(server) === kind)
  return {
    sse_servers: of('sse').map(([, { url, auth }]) => ({ url: url ?? '', api_key: masked(apiKey(auth)) })),
    stdio_servers: of('stdio').map(([name, { command, args, env }]) => ({
      name,
      command: command ?? '',
      args: args ?? [],
      env: Object.fromEntries(Object.entries(env ?? {}).map(([key, value]) => [key, value === '' ? '' : HIDDEN])),
    })),
    shttp_servers: of('shttp').map(([, { url, auth, timeout }]) => ({
      url: url ?? '',
      api_key: masked(apiKey(auth)),
      timeout,
    })),
  }
}

const masked = (value: string | null): string | null => (value === null ? null : HIDDEN)

/**
 * The lists as a map. Existing servers keep their name, their masked secrets and the members that the lists cannot express. The
 * address identifies a server that has one, so a key never moves to another host.
 */
export function serversOf(config: MCPConfig, stored: MCPServers = {}): MCPServers {
  const left = new Map(Object.entries(stored))
  const result: MCPServers = {}
  const taken = new Set(config.stdio_servers.map(({ name }) => name))
  const known = (kind: Kind, url: string): [string, MCPServer] | undefined => {
    const found = [...left].find(([name, server]) => kindOf(server) === kind && server.url === url && !taken.has(name))
    if (found !== undefined) left.delete(found[0])
    return found
  }
  const remote = (kind: 'sse' | 'shttp', url: string, api_key: string | null, timeout: number | null | undefined) => {
    const [name = freeName(url, new Set([...taken, ...Object.keys(stored), ...Object.keys(result)])), old = BLANK] =
      known(kind, url) ?? []
    result[name] = {
      ...old,
      url,
      transport: kind === 'sse' ? 'sse' : (old.transport ?? 'http'),
      auth: authOf(api_key, old.auth),
      ...(timeout === undefined ? {} : { timeout }),
    }
  }
  for (const { url, api_key } of config.sse_servers) remote('sse', url, api_key, undefined)
  for (const { url, api_key, timeout } of config.shttp_servers) remote('shttp', url, api_key, timeout)
  for (const { name, command, args, env } of config.stdio_servers) {
    const same = stored[name]
    const old = same !== undefined && kindOf(same) === 'stdio' ? same : BLANK
    const kept = Object.entries(env).flatMap(([key, value]): [string, string][] => {
      if (value !== HIDDEN) return [[key, value]]
      const before = old.env?.[key]
      return before === undefined ? [] : [[key, before]]
    })
    result[name] = { ...old, transport: 'stdio', command, args, env: Object.fromEntries(kept) }
  }
  return result
}

const BLANK: MCPServer = {
  url: null,
  transport: null,
  command: null,
  args: null,
  env: null,
  cwd: null,
  description: null,
  icon: null,
  timeout: null,
  sse_read_timeout: null,
  keep_alive: null,
  headers: null,
  auth: null,
  enabled: true,
}

type Auth = MCPServer['auth']

function apiKey(auth: Auth): string | null {
  return auth?.strategy === 'bearer' || auth?.strategy === 'api_key' ? auth.value : null
}

/** Null removes a key; credentials that the lists cannot express stay. */
function authOf(key: string | null, old: Auth): Auth {
  if (key === HIDDEN) return old
  if (key === null || key === '') return apiKey(old) === null ? old : null
  return old?.strategy === 'api_key' ? { ...old, value: key } : { strategy: 'bearer', value: key }
}

/** A name derived from the host; equal for equal configurations. */
function freeName(url: string, taken: ReadonlySet<string>): string {
  const host = (URL.parse(url)?.hostname ?? '').replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')
  const base = host === '' ? 'server' : host
  if (!taken.has(base)) return base
  for (let n = 2; ; n++) if (!taken.has(`${base}-${n}`)) return `${base}-${n}`
}
