/** Every place of the server where a request can be made is known, and obeys the rules for requests or has a reason not to. */
import { expect, test } from 'vitest'
import { outgoingIn } from './outgoing.ts'
import { readSource, sourceFiles } from './source-files.ts'
import { isTestPart } from './layers/rules.ts'

const RULES = 'the rules for users, by the agents that it gets'
const OPERATOR = 'addresses of the operator alone'
const NODES = `${OPERATOR}: other nodes, whose addresses are in the store`
const LOCAL = 'no request to another machine'

/** Files that make requests themselves. Everything else gets a `fetch` or agents from `egress`. */
const PLACES: Readonly<Record<string, { makes: readonly string[]; why: string }>> = {
  'egress/agents.ts': { makes: ['nodeHttp', 'nodeHttps'], why: RULES },
  'egress/client.ts': { makes: ['nodeHttp', 'nodeHttps'], why: RULES },
  'egress/egress.ts': { makes: ['clientOf', 'fetch'], why: `${RULES}; operatorFetch has no rules` },
  'llm/images/fetch-image.ts': { makes: ['clientOf'], why: RULES },
  'llm/providers/transport.ts': { makes: ['clientOf'], why: RULES },
  'workspace/remote/connections.ts': { makes: ['clientOf'], why: RULES },
  'settings/lookup.ts': { makes: ['operatorFetch'], why: `${OPERATOR}: hosts of secret_lookup_hosts, and this server` },
  'webhooks/post.ts': { makes: ['operatorFetch'], why: OPERATOR },
  'workspace/callback.ts': { makes: ['operatorFetch'], why: OPERATOR },
  'observability/audit/audit-syslog.ts': {
    makes: ['createSocket of node:dgram', 'connect of node:net'],
    why: OPERATOR,
  },
  'storage/postgres/database.ts': { makes: ['everything of pg'], why: `${OPERATOR}: the database` },
  'storage/postgres/probe.ts': { makes: ['everything of pg'], why: `${OPERATOR}: the database` },
  'storage/postgres/session.ts': {
    makes: ['everything of pg', 'Socket of node:net'],
    why: `${OPERATOR}: the database`,
  },
  'lib/node-http.ts': { makes: ['getBuiltinModule'], why: `${LOCAL}: gives the modules to the others` },
  'llm/providers/foreign-text.ts': { makes: ['nodeHttp'], why: `${LOCAL}: names of statuses` },
  'http/admin/metrics-listener.ts': { makes: ['nodeHttp'], why: `${LOCAL}: a listener` },
  'http/forward/request-to-node.ts': { makes: ['nodeHttp', 'nodeHttps'], why: NODES },
  'http/forward/socket-relay.ts': { makes: ['WebSocket', 'WebSocket of ws'], why: NODES },
  'http/live/socket-connection.ts': { makes: ['WebSocket', 'WebSocket of ws'], why: `${LOCAL}: accepted sockets` },
  'workspace/runner/ipc/place.ts': { makes: ['connect of node:net'], why: `${LOCAL}: the socket of the runner` },
  'workspace/runner/terminal/shell.ts': { makes: ['Socket of node:net'], why: `${LOCAL}: a terminal` },
  'workspace/runner/sandbox/filtering-proxy.ts': {
    makes: ['connect of node:net', 'nodeHttp'],
    why: 'the list of hosts of the sandbox, for commands',
  },
}

/** Production dependencies. `fetch`: makes requests with the function that it is given. */
const LIBRARIES: Readonly<Record<string, 'none' | 'fetch' | 'server' | 'browser' | 'database'>> = {
  '@agentclientprotocol/sdk': 'none',
  '@ai-sdk/anthropic': 'fetch',
  '@ai-sdk/google': 'fetch',
  '@ai-sdk/openai': 'fetch',
  '@ai-sdk/openai-compatible': 'fetch',
  '@ai-sdk/provider': 'none',
  '@fastify/busboy': 'none',
  '@huggingface/jinja': 'none',
  '@lydell/node-pty': 'none',
  '@modelcontextprotocol/client': 'fetch',
  '@parley/client': 'fetch',
  '@parley/protocol': 'none',
  '@pydantic/genai-prices': 'none',
  '@silvia-odwyer/photon-node': 'none',
  fastify: 'server',
  'ipaddr.js': 'none',
  pg: 'database',
  pino: 'none',
  // Controls a browser, which is a process of the conversation.
  'playwright-core': 'browser',
  re2js: 'none',
  unbash: 'none',
  ws: 'server',
  yaml: 'none',
  zod: 'none',
}

test('every place of the server that makes requests obeys the rules for requests, or has a reason', () => {
  const base = 'packages/server/src/'
  const found = sourceFiles(`${base}**/*.ts`)
    .filter((file) => !isTestPart(file))
    .flatMap((file) => {
      const makes = outgoingIn(file, readSource(file))
      return makes.length === 0 ? [] : [[file.slice(base.length), makes.toSorted()]]
    })
  const known = Object.entries(PLACES).map(([file, { makes }]) => [file, makes.toSorted()])
  expect(Object.fromEntries(found), 'let it use a fetch or agents of egress/, or give the reason in PLACES').toEqual(
    Object.fromEntries(known),
  )
})

test('it is known of every production dependency whether it makes requests', () => {
  const { dependencies } = JSON.parse(readSource('packages/server/package.json')) as { dependencies: object }
  expect(Object.keys(LIBRARIES).toSorted()).toEqual(Object.keys(dependencies).toSorted())
})

test.each<[string, string[]]>([
  ['await fetch(url)', ['fetch']],
  ['const all = { fetch }', ['fetch']],
  ['const get = given ?? fetch', ['fetch']],
  ['globalThis.fetch(url)', ['fetch']],
  ["import { request } from 'node:https'", ['request of node:https']],
  ["import http from 'node:http'", ['everything of node:http']],
  ["const { Agent } = await import('undici')", ['everything of undici']],
  ["process.getBuiltinModule('node:http')", ['getBuiltinModule']],
  ['new WebSocket(url)', ['WebSocket']],
  ['createOpenAI({ apiKey })', ['createOpenAI without fetch']],
  ['const options = {}; new library.SSEClientTransport(url, options)', ['SSEClientTransport without fetch']],
  ['function ask(fetch: Fetch) { return fetch(url) }', []],
  ['const ask = ({ fetch }: Deps) => fetch(url)', []],
  ["import type { Agent } from 'node:http'; import { isIP, type Socket } from 'node:net'", []],
  ['type F = typeof globalThis.fetch; type D = { fetch: F }; deps.fetch(url)', []],
  ['createOpenAI({ fetch: ours })', []],
])('in %s, %j makes requests', (text, expected) => {
  expect(outgoingIn('a.ts', text)).toEqual(expected)
})
