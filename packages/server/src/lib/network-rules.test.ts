import { expect, test } from 'vitest'
import { matchHost, isHostEntry, isOwnAddress } from './network-rules.ts'

test.each([
  'example.com',
  '*.example.com',
  'example.com:8443',
  '127.0.0.1:5000',
  '[::1]:80',
  'localhost',
  'a_b.example',
])('%s is a host entry', (text) => expect(isHostEntry(text)).toBe(true))

test.each([
  '',
  '*',
  'https://example.com',
  'example.com/path',
  '*example.com',
  'example.com:0',
  'a b',
  'x:99999',
  '-a',
  'a-',
])('%s is not a host entry', (text) => expect(isHostEntry(text)).toBe(false))

const LIST = ['example.com', '*.registry.test', 'git.test:22', '127.0.0.1:5000', '[::1]']

test.each<[string, number, boolean]>([
  ['example.com', 443, true],
  ['EXAMPLE.com.', 80, true],
  ['example.com', 22, false],
  ['sub.example.com', 443, false],
  ['example.com.evil.test', 443, false],
  ['evilexample.com', 443, false],
  ['a.registry.test', 443, true],
  ['a.b.registry.test', 443, true],
  ['registry.test', 443, false],
  ['xregistry.test', 443, false],
  ['git.test', 22, true],
  ['git.test', 443, false],
  ['127.0.0.1', 5000, true],
  ['127.0.0.1', 5001, false],
  ['[::1]', 80, true],
])('whether the list allows %s at port %i: %s', (host, port, isAllowed) =>
  expect(matchHost(LIST, host, port) !== null).toBe(isAllowed),
)

test('only an entry without a wildcard names a host', () => {
  expect(matchHost(LIST, 'example.com', 443)).toEqual({ isNamed: true })
  expect(matchHost(LIST, 'a.registry.test', 443)).toEqual({ isNamed: false })
})

test.each<[string, boolean]>([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['0.0.0.0', true],
  ['169.254.169.254', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['fe80::1', true],
  ['10.0.0.1', false],
  ['93.184.216.34', false],
  ['2606:4700::1', false],
])('whether %s is an address of this machine: %s', (address, isOwn) => expect(isOwnAddress(address)).toBe(isOwn))
