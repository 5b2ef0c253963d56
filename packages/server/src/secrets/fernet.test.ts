import fc from 'fast-check'
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isFernetToken, makeFernet } from './fernet.ts'

// The vector of the Fernet specification (generate.json, verify.json).
const SPEC = {
  token: 'gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==',
  now: Date.parse('1985-10-26T01:20:00-07:00'),
  iv: Uint8Array.from({ length: 16 }, (_, index) => index),
  key: Buffer.from('cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=', 'base64url'),
  text: 'hello',
}

test('the Fernet token of the specification is encrypted and decrypted', () => {
  const fernet = makeFernet(SPEC.key, { now: () => SPEC.now, iv: () => SPEC.iv })
  expect(fernet.encrypt(SPEC.text)).toBe(SPEC.token)
  expect(fernet.decrypt(SPEC.token)).toBe(SPEC.text)
})

test('every text survives a Fernet token, which is recognised as one', () => {
  const fernet = makeFernet(SPEC.key)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const token = fernet.encrypt(text)
      expect(isFernetToken(token)).toBe(true)
      expect(token).not.toBe(fernet.encrypt(text))
      expect(fernet.decrypt(token)).toBe(text.toWellFormed())
    }),
  )
})

test('a Fernet token with one changed character is refused', () => {
  const fernet = makeFernet(SPEC.key)
  fc.assert(
    fc.property(fc.nat(SPEC.token.length - 4), (at) => {
      const other = SPEC.token[at] === 'A' ? 'B' : 'A'
      expect(fernet.decrypt(SPEC.token.slice(0, at) + other + SPEC.token.slice(at + 1))).toBeNull()
    }),
  )
})

// A decoder that skips unknown characters would accept the last one.
const SPACED = `${SPEC.token.slice(0, 20)} ${SPEC.token.slice(20)}`

test.each(['', 'gAAAAA', 'plain text', 'gAAAAA!!', `${SPEC.token}x`, SPACED])('%j is not a Fernet token', (text) => {
  expect(makeFernet(SPEC.key).decrypt(text)).toBeNull()
})

test('only the standard prefix marks a Fernet token, and a key of another length is refused', () => {
  expect(isFernetToken('gA plain text')).toBe(false)
  for (const bytes of [16, 31, 33]) expect(() => makeFernet(Buffer.alloc(bytes))).toThrow('32 bytes')
})

test('a signed token of another version, or with half a block, is refused', () => {
  const resigned = (change: (data: Buffer) => Buffer) => {
    const data = change(Buffer.from(SPEC.token, 'base64url').subarray(0, -32))
    const tag = createHmac('sha256', SPEC.key.subarray(0, 16)).update(data).digest()
    return Buffer.concat([data, tag]).toString('base64url')
  }
  expect(makeFernet(SPEC.key).decrypt(resigned((data) => data))).toBe('hello')
  expect(makeFernet(SPEC.key).decrypt(resigned((data) => (data.writeUInt8(0x81, 0), data)))).toBeNull()
  expect(makeFernet(SPEC.key).decrypt(resigned((data) => Buffer.concat([data, Buffer.alloc(8)])))).toBeNull()
})

test('a Fernet token of another key is refused', () => {
  expect(makeFernet(Buffer.alloc(32, 1)).decrypt(SPEC.token)).toBeNull()
})
