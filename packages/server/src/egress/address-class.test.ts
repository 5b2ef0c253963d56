import { expect, test } from 'vitest'
import { addressClass, isInNetwork } from './address-class.ts'

test.each<[string, readonly string[]]>([
  [
    'public',
    ['1.1.1.1', '8.8.8.8', '192.0.1.1', '223.255.255.255', '2001:4860:4860::8888', '2a00::1', '::ffff:8.8.8.8'],
  ],
  [
    'loopback',
    ['127.0.0.1', '127.255.0.1', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'],
  ],
  ['private', ['10.1.2.3', '172.31.255.255', '192.168.0.1', '100.64.0.1', 'fc00::1', '2002:a00:1::1']],
  ['link-local', ['169.254.1.1', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.1.1']],
  [
    'metadata',
    [
      '169.254.169.254',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      'fd00:ec2::254',
      'fd00:ec2::254%eth0',
      '100.100.100.200',
      '192.0.0.192',
      '168.63.129.16',
    ],
  ],
  [
    'reserved',
    [
      '192.0.0.1',
      '192.0.2.1',
      '192.88.99.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '224.0.0.1',
      '255.255.255.255',
    ],
  ],
  [
    'reserved',
    [
      '64:ff9b::808:808',
      '100::1',
      '2001::1',
      '2001:100::1',
      '2001:db8::1',
      '2002:808:808::1',
      '3fff::1',
      '4000::1',
      'fec0::1',
      'ff02::1',
    ],
  ],
])('%s addresses: %j', (expected, addresses) => {
  expect(addresses.map((address) => addressClass(address))).toEqual(addresses.map(() => expected))
})

test.each(['example.org', 'localhost', '', '127.1', '0x8080808', '134744072', '010.8.8.8', '8.8.8.8/8'])(
  'the text %j is no address',
  (text) => {
    expect(addressClass(text)).toBeNull()
  },
)

test('a network contains the addresses of its own kind', () => {
  expect(
    ['10.1.2.3', '::ffff:10.1.2.3', '11.0.0.1', 'fc00::1', 'name'].map((text) => isInNetwork(text, '10.0.0.0/8')),
  ).toEqual([true, true, false, false, false])
  expect(isInNetwork('fc00::1', 'fc00::/7')).toBe(true)
})
