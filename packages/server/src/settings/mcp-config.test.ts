import { MCPConfig, MCPServers } from '@parley/protocol'
import { expect, test } from 'vitest'
import { HIDDEN } from '../secrets/index.ts'
import { mcpConfigOf, serversOf } from './mcp-config.ts'

const config = MCPConfig.parse({
  sse_servers: [{ url: 'https://a.example/sse', api_key: 'key-a' }, 'https://a.example/other'],
  shttp_servers: [{ url: 'https://b.example/mcp', api_key: 'key-b', timeout: 5 }],
  stdio_servers: [{ name: 'a-example', command: 'tool', args: ['-v'], env: { T: 'env-t' } }],
})

test('each list of MCP servers becomes named servers with unique names derived from hosts', () => {
  const servers = serversOf(config)
  expect(servers).toMatchObject({
    'a-example': { command: 'tool', transport: 'stdio', args: ['-v'], env: { T: 'env-t' } },
    'a-example-2': { url: 'https://a.example/sse', transport: 'sse', auth: { strategy: 'bearer', value: 'key-a' } },
    'a-example-3': { url: 'https://a.example/other', transport: 'sse', auth: null },
    'b-example': { url: 'https://b.example/mcp', transport: 'http', timeout: 5 },
  })
  expect(MCPServers.parse(servers)).toEqual(servers)
  expect(serversOf(config)).toEqual(servers)
})

test('a masked MCP configuration that is sent back unchanged changes nothing', () => {
  const servers = serversOf(config)
  const shown = mcpConfigOf(servers)
  expect(JSON.stringify(shown)).not.toMatch(/key-|env-t/)
  expect(serversOf(MCPConfig.parse(shown), servers)).toEqual(servers)
})

test('members that the MCP lists cannot express survive a write', () => {
  const servers = MCPServers.parse({
    off: { url: 'https://x.example', enabled: false, headers: { 'X-Team': 'blue' } },
    login: { url: 'https://y.example', transport: 'sse', auth: { strategy: 'oauth2' } },
    local: { command: 'tool', cwd: '/srv', env: { A: 'a', B: 'b' } },
  })
  const shown = mcpConfigOf(servers)
  const again = serversOf(MCPConfig.parse(shown), servers)
  expect(again.off).toMatchObject({ enabled: false, headers: { 'X-Team': 'blue' } })
  expect(again.login).toMatchObject({ auth: { strategy: 'oauth2' } })
  expect(again.local).toMatchObject({ cwd: '/srv', env: { A: 'a', B: 'b' } })
})

test('a masked MCP key moves neither to another address nor to another program', () => {
  const servers = serversOf(config)
  const moved = MCPConfig.parse({ sse_servers: [{ url: 'https://evil.example/sse', api_key: HIDDEN }] })
  expect(Object.values(serversOf(moved, servers)).map(({ auth }) => auth)).toEqual([null])
  const sent = MCPConfig.parse({ stdio_servers: [{ name: 'new', command: 'x', env: { T: HIDDEN, U: 'u' } }] })
  expect(serversOf(sent, servers).new?.env).toEqual({ U: 'u' })
})

test.each([null, ''])('an MCP key of %j removes the stored one', (api_key) => {
  const url = 'https://a.example/sse'
  const servers = serversOf(MCPConfig.parse({ sse_servers: [{ url, api_key }] }), serversOf(config))
  expect(Object.values(servers)).toMatchObject([{ url, auth: null }])
})

test('MCP servers that are no longer listed are removed', () => {
  expect(serversOf(MCPConfig.parse({}), serversOf(config))).toEqual({})
})
