/** Sealing and redacting look for secrets in the same places; what they promise is checked on one record. */
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cipher, openCipher } from './cipher.ts'
import { encryptSecrets } from './expose.ts'
import { HIDDEN, redact } from './redact.ts'
import { sealRecord, unsealRecord } from './seal-record.ts'

/** Every place that may hold a secret; `secret` gives each its own text. */
function recordWith(secret: () => string) {
  return {
    agent: {
      kind: 'Agent',
      llm: {
        model: 'openai/gpt',
        api_key: secret(),
        aws_access_key_id: secret(),
        aws_secret_access_key: secret(),
        aws_session_token: secret(),
        extra_headers: { 'X-Api-Key': secret(), 'X-Title': 'shown title' },
      },
      mcp_config: {
        local: { command: 'run', args: ['--fast'], env: { A: secret(), B: secret() }, enabled: true },
        remote: { url: 'https://mcp.example', headers: { Authorization: secret(), 'X-Any': secret() }, enabled: true },
        bearer: { url: 'https://mcp.example', auth: { strategy: 'bearer', value: secret() }, enabled: true },
        api: { url: 'https://mcp.example', auth: { strategy: 'api_key', value: secret(), header_name: 'X-K' } },
        basic: { url: 'https://mcp.example', auth: { strategy: 'basic', username: 'me', password: secret() } },
        header: { url: 'https://mcp.example', auth: { strategy: 'header', headers: { 'X-Y': secret() } } },
        oauth: {
          url: 'https://mcp.example',
          auth: {
            strategy: 'oauth2',
            authentication: { type: 'oauth', client_id: 'shown id', client_secret: secret() },
            state: {
              tokens: { access_token: secret(), refresh_token: secret(), issued: secret() },
              client_info: { client_secret: secret() },
              token_expires_at: 5,
            },
          },
        },
      },
      agent_context: {
        skills: [{ name: 'shown skill', content: 'shown content' }],
        secrets: {
          PLAIN: secret(),
          STATIC: { kind: 'StaticSecret', value: secret(), description: 'shown description' },
          BARE: { value: secret() },
          LOOKUP: {
            kind: 'LookupSecret',
            url: 'https://vault.example',
            headers: { 'X-Session-API-Key': secret(), Cookie: secret(), Accept: 'text/plain' },
          },
        },
      },
      acp_resume_session_id: secret(),
      critic: { kind: 'APIBasedCritic', api_key: secret() },
    },
    security_analyzer: {
      kind: 'EnsembleSecurityAnalyzer',
      analyzers: [
        { kind: 'GraySwanAnalyzer', api_key: secret() },
        { kind: 'ToolShieldLLMSecurityAnalyzer', llm: { api_key: secret() } },
      ],
    },
    secret_registry: { secret_sources: { NAME: { kind: 'StaticSecret', value: secret(), description: null } } },
    settings: {
      llm_api_key: secret(),
      search_api_key: secret(),
      sandbox_api_key: secret(),
      secrets_store: {
        provider_tokens: { github: { token: secret(), user_id: 'shown user' }, gitlab: secret() },
        custom_secrets: { OTHER: { secret: secret(), description: 'shown too' }, SHORT: secret() },
      },
      mcp: {
        sse_servers: [{ url: 'https://sse.example', api_key: secret() }],
        stdio_servers: [{ env: { K: secret(), LIST: [secret(), secret()] } }],
      },
    },
    workspace: { kind: 'RemoteWorkspace', host: 'https://host.example', api_key: secret(), session_api_key: secret() },
    signing: { private_key: secret(), upload_token: secret() },
    option: { kind: 'Choice', value: 'shown value' },
    tags: { token: 'shown tag', password: 'shown tag too' },
    client_tools: [
      {
        name: 'call',
        parameters: { properties: { env: { type: 'shown type' }, api_key: { default: 'shown default' } } },
      },
    ],
    max_iterations: 500,
    title: null,
    empty: {},
  }
}

/** The record and all its secrets; none of them is part of another text of it. */
function sample(prefix = 'S3CR3T') {
  const secrets: string[] = []
  const record = recordWith(() => {
    const text = `${prefix}#${secrets.length}#`
    secrets.push(text)
    return text
  })
  return { record, secrets }
}

/** Texts that are never hidden; header values are sealed at rest, but shown where their name speaks of no secret. */
const SHOWN = [
  'shown id',
  'shown skill',
  'shown content',
  'shown description',
  'shown user',
  'shown too',
  'shown tag',
  'shown tag too',
  'shown type',
  'shown default',
  'shown value',
  '--fast',
]
const SHOWN_HEADERS = ['shown title', 'text/plain']

let cipher: Cipher
beforeAll(async () => {
  cipher = await openCipher({ keyText: 'key of the test', keyFile: '/nowhere', salt: '' })
})

describe('sealing', () => {
  test('sealing leaves no secret readable and everything else unchanged', () => {
    const { record, secrets } = sample()
    const text = JSON.stringify(sealRecord(record, cipher))
    for (const secret of secrets) expect(text).not.toContain(secret)
    for (const shown of SHOWN) expect(text).toContain(shown)
  })

  test('unsealing reverses sealing', () => {
    const { record } = sample()
    expect(unsealRecord(JSON.parse(JSON.stringify(sealRecord(record, cipher))), cipher)).toEqual(record)
  })

  test('unsealing reverses sealing for every record and every secret text', () => {
    const json = fc.object({
      key: fc.oneof(
        fc.constantFrom(
          'api_key',
          'env',
          'headers',
          'secrets',
          'auth',
          'value',
          'kind',
          'tokens',
          '__proto__',
          'password',
          'tags',
        ),
        fc.string(),
      ),
      values: [
        fc.string({ unit: 'grapheme' }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.constant('StaticSecret'),
      ],
      maxDepth: 5,
    })
    fc.assert(
      fc.property(json, (value) => {
        const record = JSON.parse(JSON.stringify(value)) as unknown
        expect(unsealRecord(sealRecord(record, cipher), cipher)).toEqual(record)
      }),
      { numRuns: 300 },
    )
  })

  test('sealing keeps an empty map of secrets', () => {
    const record = { env: {}, headers: {}, secrets: {}, auth: { tokens: {} } }
    expect(sealRecord(record, cipher)).toEqual(record)
  })

  test('a secret that has the form of a sealed text is sealed too', () => {
    const record = { api_key: cipher.seal('inner') }
    expect(unsealRecord(sealRecord(record, cipher), cipher)).toEqual(record)
  })

  test('unsealing keeps a text that an older version did not seal', () => {
    expect(unsealRecord({ api_key: 'readable' }, cipher)).toEqual({ api_key: 'readable' })
  })

  test('unsealing a record with another key is refused', async () => {
    const other = await openCipher({ keyText: 'another key', keyFile: '/nowhere', salt: '' })
    expect(() => unsealRecord(sealRecord({ api_key: 'x' }, cipher), other)).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    )
  })
})

describe('encrypting', () => {
  test('each secret of a record is encrypted exactly once, and everything else is unchanged', () => {
    const { record, secrets } = sample()
    const encrypted: string[] = []
    const encrypt = (text: string) => `token ${encrypted.push(text)}`
    const text = JSON.stringify(encryptSecrets(record as never, { encrypt }))
    expect(encrypted).toEqual(secrets)
    for (const shown of [...SHOWN, ...SHOWN_HEADERS]) expect(text).toContain(shown)
  })

  test('an empty secret is not encrypted', () => {
    expect(encryptSecrets({ api_key: '' }, cipher.tokensOf('ann'))).toEqual({ api_key: '' })
  })
})

describe('redacting', () => {
  test.each(['rest', 'socket'] as const)('redacting in mode %s shows no secret, and everything else', (mode) => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{8,20}$/), (prefix) => {
        const { record, secrets } = sample(prefix)
        const text = JSON.stringify(redact(record, mode))
        for (const secret of secrets) expect(text).not.toContain(secret)
        for (const shown of [...SHOWN, ...SHOWN_HEADERS]) expect(text).toContain(shown)
      }),
      { numRuns: 20 },
    )
  })

  test('redacting in mode plain shows everything', () => {
    const { record } = sample()
    expect(redact(record, 'plain')).toEqual(record)
  })

  test('redacting in mode socket keeps the shape and hides each secret', () => {
    const { record } = sample()
    const hidden = recordWith(() => HIDDEN)
    expect(redact(record, 'socket')).toEqual(hidden)
  })

  test('redacting in mode socket keeps an empty secret empty, so that clients see that none is set', () => {
    expect(redact({ api_key: '', token: 'x' }, 'socket')).toEqual({ api_key: '', token: HIDDEN })
  })

  test('redacting in mode rest makes fields null, removes credentials of MCP servers and masks named texts', () => {
    const { agent, secret_registry, workspace } = redact(sample().record, 'rest') as ReturnType<typeof recordWith>
    expect(agent.llm).toEqual({
      model: 'openai/gpt',
      api_key: null,
      aws_access_key_id: null,
      aws_secret_access_key: null,
      aws_session_token: null,
      extra_headers: { 'X-Title': 'shown title' },
    })
    expect(agent.mcp_config.local).toEqual({ command: 'run', args: ['--fast'], enabled: true })
    expect(agent.mcp_config.remote).toEqual({ url: 'https://mcp.example', enabled: true })
    expect(agent.mcp_config.bearer).toEqual({ url: 'https://mcp.example', auth: { strategy: 'bearer' }, enabled: true })
    expect(agent.mcp_config.header.auth).toEqual({ strategy: 'header' })
    expect(agent.agent_context.secrets).toEqual({
      PLAIN: HIDDEN,
      STATIC: { kind: 'StaticSecret', value: null, description: 'shown description' },
      BARE: { value: null },
      LOOKUP: { kind: 'LookupSecret', url: 'https://vault.example', headers: { Accept: 'text/plain' } },
    })
    expect(agent.acp_resume_session_id).toBeNull()
    expect(secret_registry.secret_sources.NAME.value).toBeNull()
    expect(workspace.api_key).toBeNull()
  })

  test('redacting does not change its input', () => {
    const { record } = sample()
    redact(record, 'rest')
    expect(record).toEqual(sample().record)
  })
})

test('sealing drops undefined members, in maps of secrets too, and an object that it need not change is not copied', () => {
  const large = { a: ['b', { c: 'd' }] }
  const record = { large, left_out: undefined, env: { A: undefined }, headers: {}, secrets: { B: undefined }, n: [1] }
  const sealed = sealRecord(record, cipher) as typeof record
  expect(Object.keys(sealed)).toEqual(['large', 'env', 'headers', 'secrets', 'n'])
  expect(JSON.stringify(sealed)).toBe(JSON.stringify(record))
  expect(sealed.large).toBe(large)
})

test('a secret in the middle of an object keeps the order of its members', () => {
  const record = { a: 1, token: 's', b: { password: 'p', c: 2 }, d: [{ token: 't' }, 3] }
  const sealed = sealRecord(record, cipher)
  expect(Object.keys(sealed as object)).toEqual(['a', 'token', 'b', 'd'])
  expect(unsealRecord(sealed, cipher)).toEqual(record)
})
