import { MCPConfig, MCPServers } from '@parley/protocol'
import { expect, test } from 'vitest'
import { HIDDEN } from '../secrets/index.ts'
import { seedConfig, serversOf } from './mcp-config.ts'

const config = MCPConfig.parse({
  sse_servers: [{ url: 'https://a.example/sse', api_key: 'key-a' }, 'https://a.example/other'],
  shttp_servers: [{ url: 'https://b.example/mcp', api_key: 'key-b', timeout: 5 }],
  stdio_servers: [{ name: 'a-example', command: 'tool', args: ['-v'], env: { T: 'env-t' } }],
})

test('each list becomes named servers; names are made from hosts, once each', () => {
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

test('shown with masks, and sent back unchanged, it is the same', () => {
  const servers = serversOf(config)
  const shown = seedConfig(servers)
  expect(JSON.stringify(shown)).not.toMatch(/key-|env-t/)
  expect(serversOf(MCPConfig.parse(shown), servers)).toEqual(servers)
})

test('what the lists cannot say survives', () => {
  const servers = MCPServers.parse({
    off: { url: 'https://x.example', enabled: false, headers: { 'X-Team': 'blue' } },
    login: { url: 'https://y.example', transport: 'sse', auth: { strategy: 'oauth2' } },
    local: { command: 'tool', cwd: '/srv', env: { A: 'a', B: 'b' } },
  })
  const shown = seedConfig(servers)
  const again = serversOf(MCPConfig.parse(shown), servers)
  expect(again.off).toMatchObject({ enabled: false, headers: { 'X-Team': 'blue' } })
  expect(again.login).toMatchObject({ auth: { strategy: 'oauth2' } })
  expect(again.local).toMatchObject({ cwd: '/srv', env: { A: 'a', B: 'b' } })
})

test('a masked key follows neither to another address nor to another program', () => {
  const servers = serversOf(config)
  const moved = MCPConfig.parse({ sse_servers: [{ url: 'https://evil.example/sse', api_key: HIDDEN }] })
  expect(Object.values(serversOf(moved, servers)).map(({ auth }) => auth)).toEqual([null])
  const sent = MCPConfig.parse({ stdio_servers: [{ name: 'new', command: 'x', env: { T: HIDDEN, U: 'u' } }] })
  expect(serversOf(sent, servers).new?.env).toEqual({ U: 'u' })
})

test.each([null, ''])('a key of %j takes the stored one away', (api_key) => {
  const url = 'https://a.example/sse'
  const servers = serversOf(MCPConfig.parse({ sse_servers: [{ url, api_key }] }), serversOf(config))
  expect(Object.values(servers)).toMatchObject([{ url, auth: null }])
})

test('servers that are no longer listed are gone', () => {
  expect(serversOf(MCPConfig.parse({}), serversOf(config))).toEqual({})
})
