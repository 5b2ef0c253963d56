import { expect, test } from 'vitest'
import { isTrusted } from './setup.ts'

test.each<[string, string[], boolean]>([
  ['github.com/acme/shop', [], false],
  ['github.com/acme/shop', ['github.com/acme/shop'], true],
  ['github.com/acme/shop', ['GitHub.com/Acme/*'], true],
  ['github.com/acme/tools/shop', ['github.com/acme/*'], true],
  ['github.com/acme-evil/shop', ['github.com/acme/*'], false],
  ['evil.example/github.com/acme/shop', ['github.com/acme/*'], false],
  ['githubXcom/acme/shop', ['github.com/acme/*'], false],
  ['github.com/acme/shop', ['acme/shop'], false],
  ['github.com/acme/shop', ['*'], true],
])('whether %s is trusted by the patterns %j: %s', (slug, patterns, expected) => {
  expect(isTrusted(slug, patterns)).toBe(expected)
})
