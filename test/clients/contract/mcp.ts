/** MCP servers that are tried before they are stored. Source: agent-server-wire.md 1.13. */
import { expect } from 'vitest'
import { faultyServer } from '../../../packages/server/testing/mcp/servers.ts'
import { type Cases, invalid, TEXT } from './case.ts'

const program = (way: string) => ({ type: 'stdio', ...faultyServer(way) })

export const mcpCases: Cases = {
  'POST /api/mcp/test': [
    {
      says: 'its tools',
      status: 200,
      shape: {
        ok: true,
        tools: expect.arrayContaining(['say_kind']),
        tool_result: { is_error: false, text: TEXT },
        resolved_mcp_servers: null,
        oauth_state: null,
      },
      ask: () => ({ body: { server: program('fine'), timeout: 60, tool_call: { name: 'where' } } }),
    },
    {
      says: 'a server that does not answer',
      status: 200,
      shape: { ok: false, error: TEXT, error_kind: 'timeout' },
      ask: () => ({ body: { server: program('silent'), timeout: 1 } }),
    },
    {
      says: 'a server that is not there',
      status: 200,
      shape: { ok: false, error: TEXT, error_kind: 'connection' },
      ask: () => ({ body: { server: { type: 'sse', url: 'http://127.0.0.1:1/sse' } } }),
    },
    { says: 'no server', status: 422, shape: invalid('body', 'server'), ask: () => ({ body: {} }) },
    {
      says: 'more than two minutes',
      status: 422,
      shape: invalid('body', 'timeout'),
      ask: () => ({ body: { server: program('fine'), timeout: 121 } }),
    },
  ],
}
