import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { leadsHere } from './own-addresses.ts'

test('every address of a network card of this machine leads here, also written as one of the other family', () => {
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
  // Kept for documentation: nobody has them.
  ['192.0.2.1', false],
  ['2001:db8::1', false],
])('%s: %s', (address, here) => expect(leadsHere(address)).toBe(here))
