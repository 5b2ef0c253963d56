import { MCPServer, type MCPServers } from '@parley/protocol'
import { expect, test } from 'vitest'
import { endpointOf, identityOf } from './endpoint.ts'

const read = (server: object): MCPServers[string] => MCPServer.parse(server)
const url = 'https://mcp.example/v1'

test.each([
  [{ url }, 'http'],
  [{ url: 'https://mcp.example/sse' }, 'sse'],
  [{ url: 'https://mcp.example/sse', transport: 'http' }, 'http'],
  [{ url, transport: 'sse' }, 'sse'],
  [{ url, transport: 'streamable-http' }, 'http'],
  [{ command: 'x' }, 'stdio'],
  [{ command: 'x', url, transport: 'stdio' }, 'stdio'],
])('the configuration %o is reached by %s', (server, kind) => {
  expect(endpointOf(read(server)).kind).toBe(kind)
})

test.each([
  [null, {}],
  [{ strategy: 'none' }, {}],
  [{ strategy: 'bearer', value: 'k' }, { Authorization: 'Bearer k' }],
  [{ strategy: 'api_key', value: 'k' }, { Authorization: 'Bearer k' }],
  [{ strategy: 'api_key', value: 'k', header_name: 'X-Key' }, { 'X-Key': 'k' }],
  [{ strategy: 'basic', username: 'me', password: 'p' }, { Authorization: 'Basic bWU6cA==' }],
  [{ strategy: 'header', headers: { 'X-A': '1' } }, { 'X-A': '1' }],
  [{ strategy: 'oauth2', state: { tokens: { access_token: 't' } } }, { Authorization: 'Bearer t' }],
])('the credential %o becomes headers', (auth, headers) => {
  expect(endpointOf(read({ url, auth, headers: { 'X-Own': 'o' } }))).toMatchObject({
    headers: { ...headers, 'X-Own': 'o' },
  })
})

test('credentials in an address become a header, and are not part of the identity that an operator trusts', () => {
  const server = read({ url: 'https://me:p%20w@mcp.example/v1?key=x' })
  const endpoint = endpointOf(server)
  expect(endpoint).toMatchObject({ headers: { Authorization: `Basic ${Buffer.from('me:p w').toString('base64')}` } })
  expect(endpoint.kind === 'stdio' ? '' : endpoint.url.href).toBe('https://mcp.example/v1?key=x')
  expect(identityOf(server)).toBe('https://mcp.example/v1')
  expect(identityOf(read({ command: 'npx', args: ['-y', 'files'] }))).toBe('npx -y files')
})
