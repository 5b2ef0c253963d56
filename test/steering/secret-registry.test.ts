/** The secret registry as it is read: hidden, as tokens that only this server opens, or in clear text. */
import { SecurityAnalyzer } from '@parley/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { excused } from '../../packages/server/testing/canaries/watch.ts'
import { verifies } from '../verifies.ts'
import { expectRefused } from '../requirements/fields.ts'
import { startTalking, type Json, type Talking } from '../../packages/server/testing/steered-conversations.ts'
import { isOneNode } from '../../packages/server/testing/store-choice.ts'

const SERVER_KEY = canary('server_secret_key')
const SECRETS = {
  PLAIN: canary('conversation_secret'),
  STATIC: { kind: 'StaticSecret', value: canary('conversation_secret_2'), description: 'with everything' },
  UNSET: { kind: 'StaticSecret', value: null },
  LOOKED_UP: {
    kind: 'LookupSecret',
    url: '/api/settings/secrets/X',
    headers: { Authorization: `Bearer ${canary('lookup_header')}`, Author: 'somebody' },
  },
}

let server: Talking
let id: string
beforeEach(async () => {
  server = await startTalking(() => ({ text: 'Done.' }), {
    PARLEY_SECRET_KEY: SERVER_KEY,
    // The next request may reach another node, which does not know the address of the first one.
    ...(!isOneNode && { PARLEY_SECRET_LOOKUP_HOSTS: '127.0.0.1' }),
  })
  const security_analyzer = { kind: 'VendorAnalyzer', api_key: canary('vendor_key') }
  id = await server.open({ secrets: SECRETS, security_analyzer })
})
afterEach(() => server[Symbol.asyncDispose]())

const read = (exposure?: string, as: Record<string, string> = {}) =>
  server.call('GET', `/api/conversations/${id}`, undefined, {
    ...as,
    ...(exposure === undefined ? {} : { 'X-Expose-Secrets': exposure }),
  })
const sources = (answer: { body: Json }): Json => answer.body.secret_registry.secret_sources

/** Starts another conversation with tokens of this one, and returns the values that it has. */
async function opened(tokens: Json, as: Record<string, string> = {}): Promise<Json> {
  const other = await server.open({ secrets: tokens, secrets_encrypted: true })
  const path = `/api/conversations/${other}`
  const headers = { 'X-Expose-Secrets': 'plaintext', ...as }
  return sources(await excused('clear text', () => server.call('GET', path, undefined, headers)))
}

/** The address of the server, or of the node that has accepted the secret. */
const ownAddress = (): Json =>
  isOneNode
    ? `${server.url}/api/settings/secrets/X`
    : expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api\/settings\/secrets\/X$/)

describe('the secrets of a conversation', () => {
  verifies(
    'seed.secret-registry.redacted',
    'the secrets of a conversation are listed without their values by default',
    async () => {
      const { status, body } = await read()
      expect(status).toBe(200)
      expect(body.secret_registry).toEqual({
        secret_sources: {
          PLAIN: { kind: 'StaticSecret', value: null, description: null },
          STATIC: { kind: 'StaticSecret', value: null, description: 'with everything' },
          UNSET: { kind: 'StaticSecret', value: null, description: null },
          LOOKED_UP: {
            kind: 'LookupSecret',
            url: ownAddress(),
            headers: { Author: 'somebody' },
            description: null,
          },
        },
      })
      expect(body.agent.llm.api_key).toBeNull()
      expect(body.security_analyzer.api_key).toBeNull()
    },
  )

  verifies(
    'seed.secret-registry.encrypted',
    "the secrets of a conversation are tokens under the server's key on request",
    async () => {
      for (const word of ['encrypted', 'true']) {
        const answer = await read(word)
        const { PLAIN, STATIC, UNSET, LOOKED_UP } = sources(answer)
        const { agent, security_analyzer } = answer.body
        const tokens = [PLAIN.value, STATIC.value, LOOKED_UP.headers.Authorization]
        for (const token of [...tokens, agent.llm.api_key, security_analyzer.api_key]) expect(token).toMatch(/^gAAAAA/)
        expect(LOOKED_UP.headers.Author).toBe('somebody')
        expect(UNSET.value).toBeNull()
        expect(await opened({ PLAIN, STATIC, LOOKED_UP })).toMatchObject({
          PLAIN: { value: SECRETS.PLAIN },
          STATIC: { value: SECRETS.STATIC.value },
          LOOKED_UP: { headers: SECRETS.LOOKED_UP.headers },
        })
      }
    },
  )

  test('a key of a model that is read as a token is accepted as the key of a model', async () => {
    const { agent } = (await read('encrypted')).body
    const other = await server.open({ agent, secrets_encrypted: true })
    const path = `/api/conversations/${other}`
    const answer = await excused('clear text', () =>
      server.call('GET', path, undefined, { 'X-Expose-Secrets': 'plaintext' }),
    )
    expect(answer.body.agent.llm.api_key).toBe(canary('llm_key'))
  })

  verifies(
    'seed.secret-registry.exposed',
    'the secrets of a conversation are in clear text for an administrator on request',
    async () => {
      const answer = await excused('clear text', () => read('plaintext'))
      expect(sources(answer)).toEqual({
        PLAIN: { kind: 'StaticSecret', value: SECRETS.PLAIN, description: null },
        STATIC: SECRETS.STATIC,
        UNSET: { kind: 'StaticSecret', value: null, description: null },
        LOOKED_UP: { ...SECRETS.LOOKED_UP, url: ownAddress(), description: null },
      })
      expect(answer.body.agent.llm.api_key).toBe(canary('llm_key'))
      expect(answer.body.security_analyzer.api_key).toBe(canary('vendor_key'))
    },
  )

  test('clear text is refused to every other key, and an unknown exposure is named', async () => {
    expect(await read('plaintext', server.reader)).toMatchObject({ status: 403 })
    expect(await read('plaintext', server.bob)).toMatchObject({ status: 403 })
    expect(await read('encrypted', server.bob)).toMatchObject({ status: 404 })
    expect(await read('encrypted', server.reader)).toMatchObject({ status: 403 })
    expect((await read(undefined, server.reader)).status).toBe(200)
    expect(await read('please')).toMatchObject({ status: 400 })
  })

  test('a fork keeps the secrets and their former values, provides them to commands and masks them', async () => {
    await server.post(id, '/secrets', { secrets: { PLAIN: canary('user_secret_2') } })
    const { body } = await server.post(id, '/fork')
    const answer = await server.call('GET', `/api/conversations/${body.id}`, undefined, {
      'X-Expose-Secrets': 'encrypted',
    })
    const { PLAIN, STATIC } = sources(answer)
    expect(await opened({ PLAIN, STATIC })).toMatchObject({
      PLAIN: { value: canary('user_secret_2') },
      STATIC: { value: SECRETS.STATIC.value },
    })
    await server.say(body.id, `was ${SECRETS.PLAIN}, is ${canary('user_secret_2')}`)
    await server.reaches(body.id, 'finished')
    const events = JSON.stringify(await server.events(body.id))
    expect(events).toContain('was <secret-hidden>, is <secret-hidden>')
  })
})

verifies(
  'seed.analyzer.vendor.api_key.type',
  "a vendor's key is a text or null, described as a password, and blank or hidden text counts as none",
  async () => {
    for (const kind of ['VendorAnalyzer', 'GraySwanAnalyzer']) {
      const key = (api_key: unknown) => (SecurityAnalyzer.parse({ kind, api_key }) as { api_key: unknown }).api_key
      expect([key('text'), key(null), key(' '), key('**********'), key(undefined)]).toEqual([
        'text',
        null,
        null,
        null,
        null,
      ])
      expectRefused(SecurityAnalyzer, { kind }, 'api_key', 5, true, [], {})
      const { body } = await server.call('GET', '/openapi.json')
      const { api_key } = body.components.schemas[kind].properties
      expect(JSON.stringify(api_key)).toMatch(/"format":"password"/)
      expect(api_key.anyOf.map(({ type }: Json) => type)).toEqual(['string', 'null'])
    }
  },
)
