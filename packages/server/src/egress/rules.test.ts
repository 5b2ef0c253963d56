import { expect, test } from 'vitest'
import { isEgressRule, refusedClass } from './rules.ts'

test.each([
  'public',
  'any',
  'example.com',
  '*.example.com',
  'example.com:8443',
  '127.0.0.1:5000',
  '[::1]:5000',
  '10.0.0.0/8',
  'fc00::/7',
])('%s is a rule', (rule) => {
  expect(isEgressRule(rule)).toBe(true)
})

test.each(['', 'https://example.com', 'a b', '10.0.0.0/33', '*', 'example.com/path', 'name/8'])(
  '%j is no rule',
  (rule) => {
    expect(isEgressRule(rule)).toBe(false)
  },
)

const PUBLIC = '93.184.216.34'
test.each<[string[], string, string, number, string | null]>([
  [['public'], 'example.com', PUBLIC, 8443, null],
  [['public'], 'example.com', '127.0.0.1', 443, 'loopback'],
  [['public'], 'example.com', '10.0.0.1', 443, 'private'],
  [['public'], 'example.com', '169.254.169.254', 80, 'metadata'],
  [['public'], 'example.com', 'fe80::1', 80, 'link-local'],
  [['public'], 'example.com', 'not an address', 80, 'reserved'],
  [['any'], 'localhost', '127.0.0.1', 11434, null],
  [['any'], 'nas', '192.168.1.2', 443, null],
  [['any'], 'x', '169.254.1.1', 80, 'link-local'],
  [['any'], 'x', '100.100.100.200', 80, 'metadata'],
  [['example.com'], 'example.com', PUBLIC, 443, null],
  [['example.com'], 'EXAMPLE.com.', PUBLIC, 80, null],
  [['example.com'], 'example.com', PUBLIC, 8443, 'public'],
  [['example.com'], 'other.com', PUBLIC, 443, 'public'],
  [['example.com'], 'example.com', '127.0.0.1', 443, null],
  [['example.com'], 'example.com', '169.254.169.254', 443, 'metadata'],
  [['*.example.com'], 'a.example.com', '10.0.0.1', 443, null],
  [['*.example.com'], 'a.example.com', '127.0.0.1', 443, 'loopback'],
  [['*.example.com'], 'example.com', PUBLIC, 443, 'public'],
  [['127.0.0.1:5000'], '127.0.0.1', '127.0.0.1', 5000, null],
  [['127.0.0.1:5000'], '127.0.0.1', '127.0.0.1', 5001, 'loopback'],
  [['127.0.0.1:5000'], 'name', '127.0.0.1', 5000, 'loopback'],
  [['169.254.169.254'], '169.254.169.254', '169.254.169.254', 80, null],
  [['10.0.0.0/8'], 'name', '10.1.2.3', 9999, null],
  [['10.0.0.0/8'], 'name', PUBLIC, 443, 'public'],
  [['public', '10.0.0.5:11434'], '10.0.0.5', '10.0.0.5', 11434, null],
  [['public', '10.0.0.5:11434'], '10.0.0.6', '10.0.0.6', 11434, 'private'],
  [[], 'example.com', PUBLIC, 443, 'public'],
])('with the rules %j, %s at %s and port %d is refused as %s', (rules, host, address, port, expected) => {
  expect(refusedClass(rules, { host, port, address })).toBe(expected)
})
