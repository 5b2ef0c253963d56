import { describe, expect, test } from 'vitest'
import type { Actor } from '../../conversation/index.ts'
import { actorOf, admit, type Auth, expectAdmin, isForeign, presentedKey } from './auth.ts'
import { Guesses } from './rate-limits.ts'

const ann: Actor = { user: 'ann', role: 'user', keyId: 'k1' }
const reader: Actor = { user: 'ann', role: 'read-only', keyId: 'k2' }
const deliverer: Actor = { user: 'ann', role: 'webhook', keyId: 'k3' }
const auth: Auth = { authenticate: async (key) => ({ good: ann, reads: reader, delivers: deliverer })[key] ?? null }
const ask = (method: string, url: string, headers: Record<string, string>, how: Auth = auth) =>
  admit({ method, url, headers }, how)

describe('admission', () => {
  test('the actor of a request is the user of the key in its header', async () => {
    expect(await ask('POST', '/api/conversations', { 'x-session-api-key': 'good' })).toEqual({ actor: ann })
  })

  test.each([{}, { 'x-session-api-key': '' }, { 'x-session-api-key': 'bad' }, { authorization: 'Bearer good' }])(
    '%j is turned away with 401',
    async (headers) => {
      expect(await ask('GET', '/api/conversations/count', headers as Record<string, string>)).toEqual({
        refusal: { status: 401, body: { detail: 'Unauthorized' } },
      })
    },
  )

  test('the gateway also accepts a bearer token', () => {
    expect(presentedKey({ authorization: 'bearer good' }, true)).toBe('good')
    expect(presentedKey({ authorization: 'Basic good' }, true)).toBeUndefined()
  })

  test('the bearer token and the access token are keys only on the paths that document them', async () => {
    const bearer = { authorization: 'Bearer good' }
    const token = { 'x-access-token': 'good' }
    expect(await ask('POST', '/v1/chat/completions', bearer)).toEqual({ actor: ann })
    expect(await ask('POST', '/api/v1/webhooks/conversations', token)).toEqual({ actor: ann })
    expect(await ask('POST', '/api/v1/webhooks/conversations', bearer)).toMatchObject({ refusal: { status: 401 } })
    for (const url of ['/api/conversations', '/v1/chat/completions'])
      expect(await ask('POST', url, token)).toMatchObject({ refusal: { status: 401 } })
    expect(presentedKey(token)).toBeUndefined()
  })

  test('after 60 wrong keys an address is refused without a look-up, except for keys that were valid before', async () => {
    const asked: string[] = []
    const limited: Auth = {
      authenticate: (key) => (asked.push(key), auth.authenticate(key)),
      guesses: new Guesses(),
    }
    const refusalOf = async (key: string, remoteAddress = '10.0.0.9') => {
      const request = { method: 'GET', url: '/', headers: { 'x-session-api-key': key }, socket: { remoteAddress } }
      return (await admit(request, limited)).refusal?.status
    }
    expect(await refusalOf('good')).toBeUndefined()
    // A missing key is no guess.
    for (let empty = 0; empty < 70; empty++) expect(await refusalOf('')).toBe(401)
    expect(await refusalOf('k'.repeat(4097))).toBe(401)
    expect(asked).toEqual(['good'])
    for (let wrong = 1; wrong < 60; wrong++) expect(await refusalOf(`bad ${wrong}`)).toBe(401)
    expect(await refusalOf('reads')).toBe(429)
    expect(await actorOf('reads', limited, '10.0.0.9')).toBeNull()
    expect(asked).not.toContain('reads')
    expect(await refusalOf('good')).toBeUndefined()
    expect(await refusalOf('reads', '10.9.0.1')).toBeUndefined()
  })

  test('only the role admin passes as an administrator', () => {
    expectAdmin({ ...ann, role: 'admin' })
    for (const role of ['user', 'read-only'] as const)
      expect(() => expectAdmin({ ...ann, role })).toThrow('administrators')
  })

  test('a key for webhooks is admitted where webhooks are received, and nowhere else', async () => {
    const request = { method: 'POST', url: '/x', headers: { 'x-session-api-key': 'delivers' } }
    expect(await admit(request, auth, { takesWebhooks: true })).toEqual({ actor: deliverer })
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE'])
      expect(await admit({ ...request, method }, auth)).toMatchObject({ actor: deliverer, refusal: { status: 403 } })
    expect(await actorOf('delivers', auth, undefined)).toBeNull()
  })

  test('a read-only key is refused for every method but GET and HEAD', async () => {
    for (const method of ['GET', 'HEAD'])
      expect(await ask(method, '/api/conversations/count', { 'x-session-api-key': 'reads' })).toEqual({ actor: reader })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(await ask(method, '/api/conversations', { 'x-session-api-key': 'reads' })).toMatchObject({
        refusal: { status: 403 },
      })
  })
})

describe('without keys', () => {
  const open: Auth = { ...auth, noKeys: ann }
  test('without keys every request of this machine has the same actor', async () => {
    expect(await ask('POST', '/api/conversations', { host: '127.0.0.1:8000' }, open)).toEqual({ actor: ann })
    expect(
      await ask('POST', '/api/conversations', { host: 'localhost:8000', 'x-session-api-key': 'bad' }, open),
    ).toEqual({ actor: ann })
  })

  test('without keys a page of another site and a rebound host name count as foreign', async () => {
    const host = '127.0.0.1:8000'
    const isAllowed = (origin: string) => origin === 'http://localhost:5173'
    expect(isForeign({ host, origin: 'https://evil.example' }, isAllowed)).toBe(true)
    expect(isForeign({ host, origin: 'null' }, isAllowed)).toBe(true)
    expect(isForeign({ host: 'evil.example:8000' }, isAllowed)).toBe(true)
    expect(isForeign({ host, origin: 'http://localhost:5173' }, isAllowed)).toBe(false)
    expect(isForeign({ host: '[::1]:8000' }, isAllowed)).toBe(false)
    expect(isForeign({ host, origin: `http://${host}` }, isAllowed)).toBe(false)
    expect(isForeign({ host, origin: 'http://localhost:8000' }, isAllowed)).toBe(true)
    expect(isForeign({ host: 'evil.example', origin: 'http://evil.example' }, isAllowed)).toBe(true)
    expect(isForeign({ host: 'localhost' }, isAllowed)).toBe(false)
    expect(isForeign({}, isAllowed)).toBe(false)
  })

  test('a host name that only begins or ends like this machine counts as foreign', () => {
    for (const host of [
      'localhost.evil.org',
      'localhost.evil.org:8000',
      '127.0.0.1.evil.org',
      'evil-localhost',
      'my127.0.0.1',
    ])
      expect(isForeign({ host }, () => true)).toBe(true)
  })
})
