import { ACPAgent } from '@parley/protocol'
import { expect, test } from 'vitest'
import { forwardedServers } from './mcp.ts'

const config = (servers: object) => ACPAgent.parse({ acp_command: ['x'], mcp_config: servers }).mcp_config
const forward = (servers: object, members: object = {}) =>
  forwardedServers(config(servers), { http: true, sse: true, filter: null, ...members })

test.each([
  [{ strategy: 'api_key', value: 'k' }, [{ name: 'X-API-Key', value: 'k' }]],
  [{ strategy: 'api_key', value: 'k', header_name: 'Key' }, [{ name: 'Key', value: 'k' }]],
  [{ strategy: 'basic', username: 'u', password: 'p' }, [{ name: 'Authorization', value: 'Basic dTpw' }]],
  [{ strategy: 'header', headers: { A: 'b' } }, [{ name: 'A', value: 'b' }]],
  [null, []],
])('the MCP authentication %o becomes the headers %o', (auth, headers) => {
  expect(forward({ s: { url: 'https://x', auth } }).servers).toEqual([
    { type: 'http', name: 's', url: 'https://x', headers },
  ])
})

test('MCP servers with a transport that the agent lacks are reported as dropped', () => {
  const { servers, dropped } = forward(
    { a: { url: 'https://x' }, b: { url: 'https://x', transport: 'sse' } },
    { http: false, sse: false },
  )
  expect([servers, dropped.map(({ name }) => name)]).toEqual([[], ['a', 'b']])
})

test('an MCP server with a working directory is started there', () => {
  const [server] = forward({ a: { command: 'run', args: ['x y'], cwd: '/some where' } }).servers
  expect(server).toMatchObject({
    command: '/bin/sh',
    args: ['-c', 'cd "$1" && shift && exec "$@"', 'sh', '/some where', 'run', 'x y'],
  })
})
