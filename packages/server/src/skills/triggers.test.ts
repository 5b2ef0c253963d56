import { Skill } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesPath, wordFor } from './triggers.ts'

const waiting = (...keywords: string[]) =>
  Skill.parse({ name: 'x', content: '', trigger: { type: 'keyword', keywords } })

test.each<[string[], string, string | null]>([
  [['git'], 'use Git here', 'git'],
  [['git'], 'look at github', null],
  [['git'], 'legit', null],
  [['git'], '(git)', 'git'],
  [['git'], 'git-flow', 'git'],
  [['/linear'], 'please /linear this', '/linear'],
  [['/linear'], 'in /usr/linear', null],
  [['über'], 'darüber', null],
  [['über'], 'ÜBER alles', 'über'],
  [['c++'], 'in C++, mostly', 'c++'],
  [['ship it'], 'now ship it!', 'ship it'],
  [['', ' '], 'anything', null],
  [['東京'], 'in 東京 today', '東京'],
])('keywords %j find in %j the word %j', (keywords, text, word) => {
  expect(wordFor(waiting(...keywords), text)).toBe(word)
})

test('a keyword is found exactly where no letter, mark or digit is adjacent to it', () => {
  const part = fc.string({ maxLength: 6 })
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]{1,8}$/), part, part, (word, before, after) => {
      const isFree = !/[\p{L}\p{M}\p{N}]$/u.test(before) && !/^[\p{L}\p{M}\p{N}]/u.test(after)
      if (isFree) expect(wordFor(waiting(word), `${before}${word}${after}`)).toBe(word)
      expect(wordFor(waiting(word), `a${word}b`)).toBe(null)
    }),
  )
})

test.each<[string, string, boolean]>([
  ['src/**', 'src/a/b.ts', true],
  ['src/**', 'src', false],
  ['src/**', 'lib/src/a', false],
  ['**/src/**', 'lib/src/a', true],
  ['*.css', 'deep/down/a.css', true],
  ['*.css', 'a.CSS', false],
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/a/b.ts', false],
  ['src/**/test.?s', 'src/test.ts', true],
  ['src/**/test.?s', 'src/a/b/test.js', true],
  ['./docs/*.md', 'docs/a.md', true],
  ['a/**/b', 'a/b', true],
  ['*a*b*', 'xxaxxbxx', true],
  ['*a*b', 'ba', false],
])('pattern %s applied to %s returns %s', (pattern, path, fits) => {
  expect(matchesPath(pattern, path)).toBe(fits)
})

test('patterns that take a backtracking matcher exponential time are matched', () => {
  expect(matchesPath(`${'**/'.repeat(60)}x`, `${'a/'.repeat(1000)}b`)).toBe(false)
  expect(matchesPath('*a'.repeat(200), 'a'.repeat(4000))).toBe(true)
})
