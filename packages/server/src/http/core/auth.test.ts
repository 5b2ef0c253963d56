import { describe, expect, test } from 'vitest'
import type { Actor } from '../../conversation/index.ts'
import { admit, type Auth, isForeign, presentedKey } from './auth.ts'

const ann: Actor = { user: 'ann', role: 'user', keyId: 'k1' }
const reader: Actor = { user: 'ann', role: 'read-only', keyId: 'k2' }
const auth: Auth = { authenticate: async (key) => ({ good: ann, reads: reader })[key] ?? null }
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

  test('a read-only key is refused for every method but GET and HEAD', async () => {
    expect(await ask('GET', '/api/conversations/count', { 'x-session-api-key': 'reads' })).toEqual({ actor: reader })
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
    expect(isForeign({ host: 'localhost' }, isAllowed)).toBe(false)
  })
})
