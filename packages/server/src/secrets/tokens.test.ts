import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { openCipher } from './cipher.ts'
import { encryptSecrets, openTokens } from './expose.ts'
import { makeFernet } from './fernet.ts'
import type { JsonObject } from './json.ts'
import type { SecretPlace } from './secret-members.ts'
import { tokenKind, type TokenKind } from './tokens.ts'

const KEY_TEXT = 'a passphrase'
const cipher = await openCipher({ keyText: KEY_TEXT, keyFile: '/nowhere', salt: 'of this store' })
const KINDS: TokenKind[] = ['model', 'tools', 'secret', 'workspace', 'analyzer', 'session', 'other']

test('a token is decrypted for its user and kind, and for no other pair', () => {
  const user = fc.oneof(fc.constantFrom('ann', 'bob', 'ann"', ''), fc.string({ unit: 'binary', maxLength: 20 }))
  const kind = fc.constantFrom(...KINDS)
  fc.assert(
    fc.property(fc.string(), user, kind, user, kind, (text, from, of, to, as) => {
      const token = cipher.tokensOf(from).encrypt(text, of)
      const isSame = from.toWellFormed() === to.toWellFormed() && of === as
      expect(cipher.tokensOf(to).decrypt(token, as)).toBe(isSame ? text.toWellFormed() : null)
      expect(cipher.tokensOf(from).kindOf(token)).toBe(of)
    }),
    { numRuns: 200 },
  )
})

test('neither another store with the same text nor a hash of the text decrypts a token', async () => {
  const token = cipher.tokensOf('ann').encrypt('the secret', 'model')
  const other = await openCipher({ keyText: KEY_TEXT, keyFile: '/nowhere', salt: 'of another store' })
  expect(other.tokensOf('ann').kindOf(token)).toBeNull()
  expect(makeFernet(createHash('sha256').update(KEY_TEXT).digest()).decrypt(token)).toBeNull()
})

test('a token of version 0.1.0, which named no user, is refused for every user', () => {
  const token = makeFernet(createHash('sha256').update(KEY_TEXT).digest()).encrypt('the secret')
  expect([cipher.tokensOf('ann').kindOf(token), cipher.tokensOf('').kindOf(token)]).toEqual([null, null])
})

test.each<[SecretPlace, string, JsonObject, TokenKind]>([
  ['field', 'api_key', { model: 'm' }, 'model'],
  ['field', 'aws_session_token', { model: 'm' }, 'model'],
  ['field', 'critic_api_key', { critic_enabled: true }, 'model'],
  ['field', 'api_key', { kind: 'APIBasedCritic' }, 'model'],
  ['field', 'llm_api_key', {}, 'model'],
  ['lookup_header', 'Authorization', { model: 'm' }, 'model'],
  ['field', 'api_key', { url: 'https://mcp.example' }, 'tools'],
  ['env', 'TOKEN', { command: 'x' }, 'tools'],
  ['header', 'Authorization', { url: 'https://mcp.example' }, 'tools'],
  ['auth', 'value', { strategy: 'bearer' }, 'tools'],
  ['static', 'value', { kind: 'StaticSecret' }, 'secret'],
  ['named', 'TOKEN', {}, 'secret'],
  ['lookup_header', 'Authorization', { kind: 'LookupSecret' }, 'secret'],
  ['field', 'api_key', { kind: 'RemoteWorkspace' }, 'workspace'],
  ['field', 'api_key', { kind: 'VendorAnalyzer' }, 'analyzer'],
  ['field', 'acp_resume_session_id', { kind: 'ACPAgent' }, 'session'],
  ['field', 'search_api_key', {}, 'other'],
])('a token at the place %s %s of %j is one of the kind for %s', (place, name, holder, kind) => {
  expect(tokenKind(place, name, holder)).toBe(kind)
})

/** A record with a secret at each kind of place. */
const record = (at: (name: string) => string) => ({
  llm: { model: 'm', api_key: at('model') },
  mcp_config: { a: { url: 'https://mcp.example', headers: { 'X-Key': at('header') } }, b: { env: { K: at('env') } } },
  agent_context: { secrets: { PLAIN: at('named'), STATIC: { kind: 'StaticSecret', value: at('static') } } },
})
const refuse = (_: string, name: string, isOwn: boolean): never => {
  throw new Error(`${name} ${isOwn ? 'of another kind' : 'unknown'}`)
}

test('tokens are decrypted at places of their kind, and texts that are none are kept', () => {
  const plain = record((name) => `the ${name}`)
  const tokens = cipher.tokensOf('ann')
  expect(openTokens(encryptSecrets(plain, tokens), tokens, refuse)).toEqual(plain)
  expect(openTokens(plain, tokens, refuse)).toEqual(plain)
})

test('a token at a place of another kind is refused, also where a foreign token would be kept', () => {
  const tokens = cipher.tokensOf('ann')
  const key = tokens.encrypt('the key', 'model')
  for (const wrong of ['header', 'env', 'named', 'static'])
    expect(() =>
      openTokens(
        record((name) => (name === wrong ? key : 'x')),
        tokens,
        refuse,
      ),
    ).toThrow('of another kind')
})

test('a token of another user is refused where it would be used, and kept as a text where it may be meant as one', () => {
  const key = cipher.tokensOf('bob').encrypt('the key', 'model')
  const tokens = cipher.tokensOf('ann')
  for (const wrong of ['model', 'static'])
    expect(() =>
      openTokens(
        record((name) => (name === wrong ? key : 'x')),
        tokens,
        refuse,
      ),
    ).toThrow('unknown')
  const kept = record((name) => (['header', 'env', 'named'].includes(name) ? key : 'x'))
  expect(openTokens(kept, tokens, refuse)).toEqual(kept)
})
