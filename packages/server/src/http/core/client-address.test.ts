import { expect, test } from 'vitest'
import { createAddressOf } from './client-address.ts'

const from = (remoteAddress: string | undefined, forwarded?: string | string[]) => ({
  headers: forwarded === undefined ? {} : ({ 'x-forwarded-for': forwarded } as Record<string, string>),
  socket: { remoteAddress },
})

test('without trusted proxies a request counts under the address of its connection', () => {
  const addressOf = createAddressOf([])
  expect(addressOf(from('10.0.0.1', '198.51.100.7'))).toBe('10.0.0.1')
  expect(addressOf(from('::ffff:10.0.0.1'))).toBe('10.0.0.1')
  expect(addressOf(from(undefined))).toBeUndefined()
})

test.each<[string, string, string | string[] | undefined, string]>([
  ['one proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['a proxy that is reached over IPv6', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['two proxies', '10.0.0.1', '198.51.100.7, 192.0.2.9', '198.51.100.7'],
  ['an address that the client claims', '10.0.0.1', '203.0.113.1, 198.51.100.7', '198.51.100.7'],
  ['several headers', '10.0.0.1', ['203.0.113.1', '198.51.100.7'], '198.51.100.7'],
  ['an IPv6 client', '10.0.0.1', '2001:db8::1', '2001:db8::1'],
  ['a header that is no address', '10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
  ['no header', '10.0.0.1', undefined, '10.0.0.1'],
  ['a client that is a proxy itself', '10.0.0.1', '10.0.0.2', '10.0.0.2'],
  ['a connection from elsewhere', '198.51.100.1', '203.0.113.1', '198.51.100.1'],
])('behind trusted proxies a request counts under the last address that is none: %s', (_, peer, header, address) => {
  expect(createAddressOf(['10.0.0.0/8', '192.0.2.9', 'fd00::/8'])(from(peer, header))).toBe(address)
})
