import { expect, test } from 'vitest'
import { createHosts, isSameOrigin } from './hosts.ts'

const isOurs = createHosts(['parley.example.org', '*.svc.example', 'Box.'])

test.each<[string | undefined, boolean]>([
  [undefined, true],
  ['localhost', true],
  ['LOCALHOST:8000', true],
  ['localhost.:8000', true],
  ['parley.localhost', true],
  ['127.0.0.1:8000', true],
  ['192.168.1.9:8000', true],
  ['[::1]:8000', true],
  ['[fe80::1]', true],
  ['parley.example.org:443', true],
  ['Parley.Example.org', true],
  ['box', true],
  ['a.svc.example', true],
  ['svc.example', false],
  ['evil.example', false],
  ['localhost.evil.example', false],
  ['parley.example.org.evil.example', false],
  ['127.0.0.1.evil.example', false],
  ['notlocalhost', false],
  ['fox', false],
  ['evilsvc.example', false],
  ['', false],
  ['localhost@evil.example', false],
  ['localhost evil', false],
  ['localhost:8000:9', false],
  ['[::1', false],
])('the host header %s names this server: %s', (host, expected) => {
  expect(isOurs(host)).toBe(expected)
})

test('the host name * allows any name', () => {
  expect(createHosts(['*'])('whatever.example')).toBe(true)
})

test.each<[string, string | undefined, boolean]>([
  ['http://parley.example.org', 'parley.example.org', true],
  ['https://parley.example.org:8443', 'Parley.example.org:8443', true],
  ['http://evil.example', 'parley.example.org', false],
  ['null', 'null', false],
  ['http://localhost:1', 'localhost:2', false],
  ['http://localhost:1', undefined, false],
])('a page of %s at host %s is same-origin: %s', (origin, host, expected) => {
  expect(isSameOrigin(origin, host)).toBe(expected)
})
