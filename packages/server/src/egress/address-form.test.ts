import { InvalidValue } from '@parley/protocol'
import { expect, test } from 'vitest'
import { addressForms, type OwnAddresses } from './address-form.ts'

const NONE: OwnAddresses = { model: null, vendor: null, mcp: null, other: null }
const refusalOf = (body: unknown, rules = ['public'], own = NONE): [string, string] | null => {
  try {
    addressForms(rules, own)(body)
    return null
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    return [error.at.join('.'), error.message]
  }
}

test.each<[string, unknown]>([
  ['llm.base_url', { llm: { model: 'openai/x', base_url: 'http://10.0.0.5:11434/v1' } }],
  ['llm_base_url', { llm_base_url: 'http://127.0.0.1/v1' }],
  ['llm.ollama_base_url', { llm: { ollama_base_url: 'http://[::1]:11434' } }],
  ['agent.condenser.llm.base_url', { agent: { condenser: { llm: { base_url: 'https://[fe80::1]/' } } } }],
  ['security_analyzer.analyzers.1.api_url', { security_analyzer: { analyzers: [{}, { api_url: 'http://0x7f.1' }] } }],
  ['agent.critic.server_url', { agent: { critic: { server_url: 'http://192.168.1.1' } } }],
  ['verification.critic_server_url', { verification: { critic_server_url: 'http://2130706433/' } }],
  ['workspace.host', { workspace: { kind: 'RemoteWorkspace', host: 'http://172.16.0.1:8000' } }],
  ['mcp_config.a.url', { mcp_config: { a: { url: 'http://169.254.169.254/latest' } } }],
  ['mcp_config.sse_servers.0', { mcp_config: { sse_servers: ['http://10.1.1.1/sse'] } }],
  ['mcp_config.shttp_servers.0.url', { mcp_config: { shttp_servers: [{ url: 'http://10.1.1.1/mcp' }] } }],
  ['url', { url: 'http://[::ffff:127.0.0.1]/mcp', headers: {} }],
])('a private address at %s is refused with its place and the remedy', (place, body) => {
  const [at, message] = refusalOf(body)!
  expect(at).toBe(place)
  expect(message).toMatch(/^\w+ leads to .* Name another address, or ask the operator to allow it with user_egress/)
})

test.each<[string, unknown]>([
  ['public addresses', { llm: { base_url: 'https://8.8.8.8/v1' } }],
  ['names, which are checked when they are connected to', { llm: { base_url: 'http://localhost:11434/v1' } }],
  ['texts that are no addresses', { base_url: '', llm: { base_url: '/v1' } }],
  [
    'secrets, which are looked up at hosts of the operator',
    { secrets: { A: { kind: 'LookupSecret', url: 'http://10.1.1.1' } } },
  ],
  ['a looked-up secret in another place', { kind: 'LookupSecret', url: 'http://10.1.1.1' }],
  ['texts of people', { tags: { url: 'http://10.1.1.1' }, initial_message: { url: 'http://10.1.1.1' } }],
  ['a host that is no agent server', { provider_tokens: { github: { host: 'http://10.1.1.1' } } }],
  ['bodies that are no objects', ['http://10.1.1.1', null, 7]],
])('%s are accepted', (_, body) => {
  expect(refusalOf(body)).toBeNull()
})

test.each(['file:///etc/passwd', 'ftp://example.org', 'localhost:11434/v1'])(
  'the scheme of %s is refused under every rule',
  (base_url) => {
    expect(refusalOf({ base_url }, ['any'])).toEqual([
      'base_url',
      'base_url is no http or https address. Begin it with http:// or https://.',
    ])
  },
)

test('where users may name any address, only sensitive ones are refused', () => {
  expect(refusalOf({ base_url: 'http://127.0.0.1:11434' }, ['any'])).toBeNull()
  expect(refusalOf({ base_url: 'http://169.254.169.254' }, ['any'])?.[0]).toBe('base_url')
})

test('a list allows its hosts at their ports', () => {
  const rules = ['public', '10.0.0.5:11434', '10.9.0.0/16']
  const ports = ['http://10.0.0.5:11434', 'http://10.9.1.1', 'http://10.0.0.5', 'https://10.0.0.5']
  expect(ports.map((base_url) => refusalOf({ base_url }, rules) === null)).toEqual([true, true, false, false])
  expect(refusalOf({ base_url: 'http://10.0.0.6' }, ['10.0.0.6:80'])).toBeNull()
  expect(refusalOf({ base_url: 'https://10.0.0.6' }, ['10.0.0.6:443'])).toBeNull()
})

test("the operator's own addresses are accepted for their members, at and below their path", () => {
  const own = { ...NONE, model: 'http://127.0.0.1:9/v1', vendor: 'http://127.0.0.1:8' }
  const isAccepted = (body: unknown) => refusalOf(body, ['public'], own) === null
  expect(isAccepted({ base_url: 'http://127.0.0.1:9/v1/' })).toBe(true)
  expect(isAccepted({ base_url: 'http://127.0.0.1:9/' })).toBe(false)
  expect(isAccepted({ api_url: 'http://127.0.0.1:8/check' })).toBe(true)
  expect(isAccepted({ url: 'http://127.0.0.1:9/v1' })).toBe(false)
  expect(isAccepted({ critic_server_url: 'http://127.0.0.1:9/v1' })).toBe(false)
})
