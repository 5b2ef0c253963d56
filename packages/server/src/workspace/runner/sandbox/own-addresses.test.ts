import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { leadsHere } from './own-addresses.ts'

test('every address of a network interface of this machine is recognised, also as an IPv4-mapped IPv6 address', () => {
  const own = Object.values(networkInterfaces()).flatMap((card) => card ?? [])
  expect(own.length).toBeGreaterThan(0)
  for (const { address, family } of own) {
    expect([address, leadsHere(address)]).toEqual([address, true])
    if (family === 'IPv4') expect(leadsHere(`::ffff:${address}`)).toBe(true)
  }
})

test.each<[string, boolean]>([
  ['127.0.0.2', true],
  ['169.254.169.254', true],
  ['::1', true],
  // Reserved for documentation: no machine has them.
  ['192.0.2.1', false],
  ['2001:db8::1', false],
])('the address %s belongs to this machine: %s', (address, here) => expect(leadsHere(address)).toBe(here))
