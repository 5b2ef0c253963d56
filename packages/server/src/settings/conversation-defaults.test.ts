import { SecurityAnalyzer, type Settings } from '@parley/protocol'
import { expect, test } from 'vitest'
import { SERVER_CREDENTIAL } from '../secrets/index.ts'
import { analyzerNamed, conversationDefaults, modelOf, type ServerModel } from './conversation-defaults.ts'
import { withSettingsRecord } from './settings-record.ts'
import { checked, NOTHING, readStored } from './stored.ts'

const open = { open: (text: string) => text, referenced: (text: string) => text }
const nothing: ServerModel = { model: null, apiKey: null, baseUrl: null }
const server: ServerModel = { model: 'openai/server', apiKey: 'server-key', baseUrl: 'https://proxy.example/v1' }
const defaults = (body: Settings, llm = nothing, searchUrl: string | null = null) =>
  conversationDefaults(checked(withSettingsRecord(readStored(null, open), body), { agent: null, conversation: null }), {
    llm,
    searchUrl,
  })

test.each<[string, Parameters<typeof modelOf>[0], ServerModel, object]>([
  ['nothing is known', {}, nothing, {}],
  [
    "the server's own, whose key is a reference and whose address is added with it",
    {},
    server,
    { model: 'openai/server', api_key: SERVER_CREDENTIAL },
  ],
  [
    "the user's own",
    { model: 'x/y', api_key: 'mine', base_url: 'https://m.example' },
    server,
    { model: 'x/y', api_key: 'mine', base_url: 'https://m.example' },
  ],
  [
    'another model of the same provider',
    { model: 'openai/other' },
    server,
    { model: 'openai/other', api_key: SERVER_CREDENTIAL },
  ],
  [
    'a model of another provider',
    { model: 'anthropic/c', api_key: 'mine' },
    server,
    { model: 'anthropic/c', api_key: 'mine' },
  ],
  ['a bare name of another provider', { model: 'claude-x' }, server, { model: 'claude-x' }],
  [
    'of a server without a model, which has the default one',
    { model: 'openai/other' },
    { ...server, model: null, baseUrl: null },
    { model: 'openai/other', api_key: SERVER_CREDENTIAL },
  ],
  [
    'of another provider than that of a server without a model',
    { model: 'anthropic/c' },
    { ...server, model: null, baseUrl: null },
    { model: 'anthropic/c' },
  ],
  [
    'of any provider at the address of a server without a model',
    { model: 'anthropic/c' },
    { ...server, model: null },
    { model: 'anthropic/c', api_key: SERVER_CREDENTIAL },
  ],
  [
    "the server's own address, named by the user",
    { base_url: 'https://proxy.example/v1' },
    server,
    { model: 'openai/server', api_key: SERVER_CREDENTIAL, base_url: 'https://proxy.example/v1' },
  ],
  [
    "an Ollama address of the user's",
    { ollama_base_url: 'https://evil.example' },
    server,
    { model: 'openai/server', base_url: 'https://proxy.example/v1', ollama_base_url: 'https://evil.example' },
  ],
  [
    'of a server that needs no key',
    {},
    { model: 'ollama/x', apiKey: null, baseUrl: 'http://127.0.0.1:1' },
    { model: 'ollama/x', base_url: 'http://127.0.0.1:1' },
  ],
  [
    "an address of the user's, without a key",
    { base_url: 'https://evil.example' },
    server,
    { model: 'openai/server', base_url: 'https://evil.example' },
  ],
  [
    'a key of their own for the server',
    { api_key: 'mine' },
    server,
    { model: 'openai/server', api_key: 'mine', base_url: 'https://proxy.example/v1' },
  ],
  [
    'other members',
    { temperature: 0.3, api_key: null },
    server,
    { model: 'openai/server', api_key: SERVER_CREDENTIAL, temperature: 0.3 },
  ],
])('the model: %s', (_, llm, of, expected) => {
  expect(modelOf(llm, of)).toEqual({ stream: true, ...expected })
})

const RISKY = { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true }
test.each<[Settings, string | undefined, object | undefined]>([
  [{}, undefined, undefined],
  [{ confirmation_mode: false, security_analyzer: 'llm' }, 'LLMSecurityAnalyzer', undefined],
  [{ confirmation_mode: true }, undefined, { kind: 'AlwaysConfirm' }],
  [{ confirmation_mode: true, security_analyzer: 'none' }, undefined, { kind: 'AlwaysConfirm' }],
  [{ confirmation_mode: true, security_analyzer: 'no-such-thing' }, undefined, { kind: 'AlwaysConfirm' }],
  [{ confirmation_mode: true, security_analyzer: 'llm' }, 'LLMSecurityAnalyzer', RISKY],
  [{ confirmation_mode: true, security_analyzer: 'pattern' }, 'PatternSecurityAnalyzer', RISKY],
  [
    { confirmation_mode: true, security_analyzer: 'pattern', confirmation_threshold: 'MEDIUM' },
    'PatternSecurityAnalyzer',
    { ...RISKY, threshold: 'MEDIUM' },
  ],
  [{ confirmation_mode: true, confirmation_threshold: 'LOW' }, undefined, { kind: 'AlwaysConfirm' }],
  [{ confirmation_threshold: 'LOW' }, undefined, undefined],
])('%o: analyzer %s, policy %o', (body, kind, policy) => {
  const { security_analyzer, confirmation_policy } = defaults(body)
  expect([security_analyzer?.kind, confirmation_policy]).toEqual([kind, policy])
})

test.each([
  ['llm', 'LLMSecurityAnalyzer'],
  ['LLMSecurityAnalyzer', 'LLMSecurityAnalyzer'],
  ['PatternSecurityAnalyzer', 'PatternSecurityAnalyzer'],
  ['policy_rail', 'PolicyRailSecurityAnalyzer'],
  ['PolicyRailSecurityAnalyzer', 'PolicyRailSecurityAnalyzer'],
  ['ensemble', 'EnsembleSecurityAnalyzer'],
  ['invariant', 'EnsembleSecurityAnalyzer'],
])('%s names a %s', (name, kind) => {
  const analyzer = analyzerNamed(name)
  expect(analyzer?.kind).toBe(kind)
  expect(SecurityAnalyzer.parse(analyzer)).toEqual(analyzer)
})

test('several names of analyzers are an ensemble of those that are known, each once', () => {
  const analyzer = analyzerNamed('pattern, LLMSecurityAnalyzer,no-such-thing,pattern')
  expect(analyzer).toEqual({
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: [{ kind: 'PatternSecurityAnalyzer' }, { kind: 'LLMSecurityAnalyzer' }],
    propagate_unknown: false,
  })
  expect(SecurityAnalyzer.parse(analyzer)).toEqual(analyzer)
  expect(analyzerNamed('no-such-thing,llm')).toEqual({ kind: 'LLMSecurityAnalyzer' })
  expect(analyzerNamed('none,')).toBeNull()
})

test('a conversation has a condenser with the same model unless the settings disable it', () => {
  expect(defaults({ llm_model: 'a/b', llm_api_key: 'k' }).condenser).toMatchObject({
    kind: 'LLMSummarizingCondenser',
    max_size: 240,
    keep_first: 2,
    llm: { model: 'a/b', api_key: 'k', usage_id: 'condenser' },
  })
  expect(defaults({ enable_default_condenser: false }).condenser).toBeNull()
})

test('a conversation has no condenser when the settings name the one that does nothing', () => {
  const openhands = { condenser: { condenser_kind: 'no_op' } }
  const stored = { ...NOTHING, agents: { openhands, acp: {} } }
  expect(
    conversationDefaults(checked(stored, { agent: null, conversation: null }), { llm: nothing, searchUrl: null }),
  ).toMatchObject({
    condenser: null,
  })
})

test('limits and MCP servers of the settings are passed on, and are absent without settings', () => {
  const set = defaults({
    max_iterations: 5,
    max_budget_per_task: 0.5,
    mcp_config: { sse_servers: [{ url: 'https://a.example', api_key: null }], shttp_servers: [], stdio_servers: [] },
  })
  expect(set).toMatchObject({
    max_iterations: 5,
    max_budget_per_task: 0.5,
    mcp_config: { 'a-example': { transport: 'sse' } },
  })
  expect(defaults({})).toMatchObject({ max_budget_per_task: null, mcp_config: {} })
  expect(defaults({})).not.toHaveProperty('max_iterations')
})

test('a search key adds the search server, if one is configured', () => {
  const url = 'https://search.example/mcp'
  const { search } = defaults({ search_api_key: 'key' }, nothing, url)
  expect(search).toMatchObject({ search: { url, transport: 'http', auth: { strategy: 'bearer', value: 'key' } } })
  expect(defaults({ search_api_key: 'key' }).search).toEqual({})
  expect(defaults({ search_api_key: '' }, nothing, url).search).toEqual({})
  expect(defaults({}, nothing, url).search).toEqual({})
})
