import { expect, test } from 'vitest'
import { hashKey, makeKey, sameKey } from './keys.ts'

test('a new API key is url-safe, recognisable and unique', () => {
  const keys = Array.from({ length: 100 }, () => makeKey().key)
  for (const key of keys) expect(key).toMatch(/^pk_[A-Za-z0-9_-]{43}$/)
  expect(new Set(keys).size).toBe(100)
})

test('the hash of a key is SHA-256 in hex', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('the hash of a new key is the hash of its text', () => {
  const { key, hash } = makeKey()
  expect(hash).toBe(hashKey(key))
})

test.each([
  ['pk_a', 'pk_a', true],
  ['pk_a', 'pk_b', false],
  ['pk_a', 'pk_aa', false],
  ['', '', true],
])('whether %j and %j are the same key: %s', (a, b, same) => {
  expect(sameKey(a, b)).toBe(same)
})
