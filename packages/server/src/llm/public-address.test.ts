import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

test.each(['1.1.1.1', '8.8.8.8', '192.0.1.1', '223.255.255.255', '2001:4860:4860::8888', '2a00::1'])(
  'the address %s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.31.0.1',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:808:808::1',
  '3fff::1',
  '4000::1',
  'fc00::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'example.org',
  'localhost',
  '',
  '127.1',
  '0x8080808',
  '134744072',
  '010.8.8.8',
  '8.8.8.8/8',
])('the text %j is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})
