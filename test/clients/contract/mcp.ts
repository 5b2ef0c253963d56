/** MCP servers that are tried before they are stored. Source: agent-server-wire.md 1.13. */
import { expect } from 'vitest'
import { faultyServer } from '../../../packages/server/testing/mcp/servers.ts'
import { type Cases, detail, invalid, TEXT } from './case.ts'

const program = (way: string) => ({ type: 'stdio', ...faultyServer(way) })

const job = '/api/mcp/oauth'

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
  'POST /api/mcp/oauth/start': [
    {
      says: 'not supported',
      status: 200,
      shape: { ok: false, job_id: null, authorization_url: null, error: TEXT, error_kind: 'unknown' },
      ask: () => ({ body: { server: { type: 'http', url: 'https://mcp.example/mcp' } } }),
    },
    { says: 'no server', status: 422, shape: invalid('body', 'server'), ask: () => ({ body: {} }) },
  ],
  'GET /api/mcp/oauth/status/{job_id}': [
    { says: 'an unknown one', status: 404, shape: detail(), ask: () => ({ path: `${job}/status/x` }) },
  ],
  'POST /api/mcp/oauth/callback/{job_id}': [
    {
      says: 'an unknown one',
      status: 404,
      shape: detail(),
      ask: () => ({ path: `${job}/callback/x`, body: { callback_url: 'http://localhost/callback?code=x' } }),
    },
    {
      says: 'no address',
      status: 422,
      shape: invalid('body', 'callback_url'),
      ask: () => ({ path: `${job}/callback/x`, body: {} }),
    },
  ],
}
