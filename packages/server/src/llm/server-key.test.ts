import { openTestTransport } from '../../testing/requests.ts'
import { LLM, type LLMInput } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startRecordingOrigin } from '../../testing/recording-origin.ts'
import { SERVER_CREDENTIAL } from '../secrets/index.ts'
import { openLlm } from './open.ts'
import { configuredAddress, ServerKey, type ConfiguredModel } from './server-key.ts'

const KEY = 'sk-of-the-server-$&-1'
const REFERENCE = SERVER_CREDENTIAL
const configured = (change: Partial<ConfiguredModel> = {}) =>
  new ServerKey({ model: 'openai/a', apiKey: KEY, baseUrl: null, ...change })
const llm = (members: LLMInput) => LLM.parse({ model: 'openai/a', api_key: REFERENCE, ...members })

describe('the route of a model with the key of the server', () => {
  test.each<[string, Partial<ConfiguredModel>, LLMInput, string | null]>([
    ["the vendor's address", {}, {}, 'https://api.openai.com/v1'],
    ['another model of the vendor', {}, { model: 'gpt-9' }, 'https://api.openai.com/v1'],
    ["the vendor's address by name", {}, { base_url: 'https://api.openai.com/v1/' }, 'https://api.openai.com/v1'],
    ['another vendor', {}, { model: 'anthropic/a' }, null],
    ["a user's address", {}, { base_url: 'https://evil.example/v1' }, null],
    ["a user's address with a port of its own", {}, { base_url: 'https://api.openai.com:444/v1' }, null],
    ['another path of the vendor', {}, { base_url: 'https://api.openai.com/v2' }, null],
    ['a path above', {}, { base_url: 'https://api.openai.com/v1/%2e%2e/x/v1' }, null],
    ['a longer name', {}, { base_url: 'https://api.openai.com/v1x' }, null],
    [
      "an Ollama address of the user's",
      { model: 'ollama/a' },
      { model: 'ollama/a', ollama_base_url: 'http://e' },
      null,
    ],
    ['the configured address', { baseUrl: 'https://p.example/x' }, {}, 'https://p.example/x'],
    ['any model at the configured address', { baseUrl: 'https://p.example/x' }, { model: 'b' }, 'https://p.example/x'],
    [
      "the vendor's address beside it",
      { baseUrl: 'https://p.example' },
      { base_url: 'https://api.openai.com/v1' },
      null,
    ],
    ['no model of its own', { model: null }, {}, 'https://api.openai.com/v1'],
    ['a model of no known provider', { model: 'nobody' }, {}, null],
    ['no key any more', { apiKey: null }, {}, null],
    ['the key itself at its address', {}, { api_key: KEY }, 'https://api.openai.com/v1'],
    ["the key itself at a user's address", {}, { api_key: KEY, base_url: 'https://evil.example' }, null],
    ["a user's own key", {}, { api_key: 'mine', base_url: 'https://mine.example/v1' }, 'https://mine.example/v1'],
  ])('%s', (_, server, config, expected) => {
    const route = configured(server).routeOf(llm(config))
    expect(route.kind === 'remote' ? route.baseUrl : null).toBe(expected)
    if (route.kind === 'unconfigured') expect(route.reason).toMatch(/set a key for this address: `llm_api_key`/)
  })
})

test('a request to the address of the key gets it in place of the reference, under the host name of the address', () => {
  const address = new URL('https://api.openai.com/v1/responses')
  const sent = { authorization: `Bearer ${REFERENCE}`, Host: 'evil.example', 'x-other': 'kept' }
  expect(configured().headersFor(address, sent)).toEqual({ authorization: `Bearer ${KEY}`, 'x-other': 'kept' })
  const own = { authorization: 'Bearer mine', host: 'mine.example' }
  expect(configured().headersFor(address, own)).toEqual(own)
})

test('a request with the key of the server, or with its reference, is refused at every other address', () => {
  const key = configured({ baseUrl: 'https://p.example/own/v1' })
  const elsewhere = fc.oneof(
    fc.webUrl({ withQueryParameters: true }),
    fc.webPath().map((path) => `https://p.example/other${path}`),
    fc.webPath().map((path) => `https://p.example/own/v1/../..${path}`),
    fc.webPath().map((path) => `http://p.example/own/v1${path}`),
    fc.webPath().map((path) => `https://p.example.evil.example/own/v1${path}`),
    fc.webPath().map((path) => `https://p.example@evil.example/own/v1${path}`),
  )
  const text = fc.constantFrom(KEY, REFERENCE, `Bearer ${KEY}`, `Bearer ${REFERENCE}`)
  fc.assert(
    fc.property(
      elsewhere,
      fc.constantFrom('authorization', 'x-api-key', 'x-goog-api-key', 'x'),
      text,
      (url, name, value) => {
        fc.pre(!new URL(url).href.startsWith('https://p.example/own/v1/'))
        expect(() => key.headersFor(new URL(url), { [name]: value })).toThrow(/not to that of/)
      },
    ),
  )
})

test('a key that the answer of a model repeats is not in the error', async () => {
  await using origin = await startRecordingOrigin({
    respond: ({ headers }) => ({
      status: 401,
      error: `Incorrect API key provided: ${headers['authorization'] ?? KEY}`,
    }),
  })
  using transport = openTestTransport({ serverKey: configured({ baseUrl: `${origin.url}/v1` }) })
  const model = openLlm(llm({ num_retries: 0 }), { transport })
  const asked = model.complete({ messages: [], tools: [] }, () => undefined, new AbortController().signal)
  const { message, cause } = await asked.then(
    () => ({ message: '', cause: '' }),
    (error: Error) => error,
  )
  expect(message).toContain('<api key>')
  expect(`${message} ${String(cause)}`).not.toContain(KEY)
  expect(origin.containing(KEY)).toHaveLength(1)
})

test('the server pays for its key and its reference alone, and only where users have a share of it', () => {
  const shared = new ServerKey({ model: 'openai/a', apiKey: KEY, baseUrl: null }, true)
  expect([KEY, REFERENCE, 'sk-of-a-user', null].map((key) => shared.pays(key))).toEqual([true, true, false, false])
  expect(configured().pays(KEY)).toBe(false)
})

test.each<[string | null, string | null, string | null]>([
  [null, null, null],
  ['ollama/qwen3', null, 'http://127.0.0.1:11434/v1'],
  ['ollama/qwen3', 'http://10.0.0.2:11434', 'http://10.0.0.2:11434/'],
  [null, 'http://10.0.0.2/v1', 'http://10.0.0.2/v1'],
  ['scripted/demo', null, null],
])('the model %s at %s has the configured address %s', (model, baseUrl, expected) => {
  expect(configuredAddress({ model, baseUrl })).toBe(expected)
})
