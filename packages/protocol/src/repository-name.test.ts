import { expect, test } from 'vitest'
import { readBranchName, readRepositoryName } from './repository-name.ts'

test.each([
  'acme/shop',
  'a/b/c/shop.git',
  '~user/re_po-1.x',
  'https://git.example.org/a/b',
  'http://127.0.0.1:8080/x.git',
  ' acme/shop ',
  '',
])('%j is accepted as a repository', (name) => {
  expect(readRepositoryName(name)).toEqual({ ok: true, value: name.trim() })
})

test.each([
  'shop',
  '/acme/shop',
  'acme//shop',
  'acme/..',
  'acme/.git',
  '-x/shop',
  'acme/shop;rm',
  'acme/$(x)',
  'acme/sh op',
  'git@github.com:acme/shop.git',
  'ssh://git@x.test/a/b',
  'file:///etc/x',
  'ext::sh -c x',
  'https://x.test',
  'https://x.test/a/b?c',
  'https://u:p@x.test/a/b',
  `${'a'.repeat(2000)}/b`,
])('%j is refused as a repository', (name) => {
  expect(readRepositoryName(name)).toMatchObject({ ok: false, refusal: { type: 'value_error' } })
})

test.each(['main', 'feature/x-1', 'a.b', 'ü', ''])('%j is accepted as a branch', (name) => {
  expect(readBranchName(name)).toEqual({ ok: true, value: name })
})

test.each([
  '-f',
  '--upload-pack=x',
  'a..b',
  'a b',
  'a~1',
  'a^',
  'a:b',
  'a?',
  'a*',
  'a[',
  'a\\b',
  'a.lock',
  'a.',
  'a/',
  '/a',
  '@',
  '@{-1}',
  'a//b',
  '.a',
  'a/.b',
  'a\nb',
])('%j is refused as a branch', (name) => {
  expect(readBranchName(name)).toMatchObject({ ok: false, refusal: { type: 'value_error' } })
})
