/** Address or command of an MCP server, from its configuration. Pure. Source: agent-core.md 8.12. */
import { invalidInput, type MCPServer, ParleyError, unreachable } from '@parley/protocol'

export type Endpoint =
  | { kind: 'stdio'; argv: readonly string[]; cwd?: string; env: Readonly<Record<string, string>> }
  | { kind: 'http' | 'sse'; url: URL; headers: Readonly<Record<string, string>> }

/**
 * Returns the endpoint of a server. @throws ParleyError `unsupported` or `invalid_input` for one that cannot be
 * reached.
 */
export function endpointOf(server: MCPServer): Endpoint {
  const { url, transport, command, args, env, cwd, headers } = server
  if (transport === 'stdio' || url === null) {
    if (command === null) throw invalidInput("it has neither 'url' nor 'command'")
    return { kind: 'stdio', argv: [command, ...(args ?? [])], env: env ?? {}, ...(cwd === null ? {} : { cwd }) }
  }
  const address = URL.parse(url)
  if (address === null) throw invalidInput('its url is no address')
  if (address.protocol !== 'http:' && address.protocol !== 'https:')
    throw new ParleyError('unsupported', `addresses of ${address.protocol}// are not supported; use http or https`)
  const credentials = { ...userInfo(address), ...credentialHeaders(server.auth) }
  address.username = ''
  address.password = ''
  return { kind: kindOf(transport, address), url: address, headers: { ...credentials, ...headers } }
}

/** Returns the identity of a server for operators: its address without credentials, or its command line. */
export function identityOf({ url, transport, command, args }: MCPServer): string {
  if (transport === 'stdio' || url === null) return [command ?? '', ...(args ?? [])].join(' ')
  const address = URL.parse(url)
  if (address === null) return ''
  return `${address.origin}${address.pathname}`
}

/** By default, an address that ends in `/sse` uses the older transport. */
function kindOf(transport: MCPServer['transport'], { pathname }: URL): 'http' | 'sse' {
  if (transport === null) return /\/sse\/?$/.test(pathname) ? 'sse' : 'http'
  return transport === 'sse' ? 'sse' : 'http'
}

function credentialHeaders(auth: MCPServer['auth']): Record<string, string> {
  if (auth === null) return {}
  switch (auth.strategy) {
    case 'none':
      return {}
    case 'bearer':
      return filled(auth.value) ? { Authorization: `Bearer ${auth.value}` } : {}
    case 'api_key':
      if (!filled(auth.value)) return {}
      return auth.header_name === null ? { Authorization: `Bearer ${auth.value}` } : { [auth.header_name]: auth.value }
    case 'basic':
      return { Authorization: basic(auth.username, auth.password ?? '') }
    case 'header':
      return auth.headers
    case 'oauth2':
      return oauthHeader(auth.state)
    default:
      return unreachable(auth)
  }
}

/** No person can log in here, so the configuration must contain a token. */
function oauthHeader(state: Record<string, unknown> | null): Record<string, string> {
  const { access_token: token } = (state?.['tokens'] ?? {}) as Record<string, unknown>
  if (typeof token === 'string' && token !== '') return { Authorization: `Bearer ${token}` }
  throw new ParleyError(
    'unsupported',
    'logging in with OAuth is not supported; give it a token with the strategy bearer',
  )
}

const filled = (value: string | null): value is string => value !== null && value !== ''

function userInfo({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  return { Authorization: basic(decodeURIComponent(username), decodeURIComponent(password)) }
}

const basic = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
