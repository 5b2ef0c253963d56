import { expect, test } from 'vitest'
import { splitPattern } from './split-pattern.ts'
import { readGlob } from './glob-pattern.ts'

test.each<[string, string[], string[]]>([
  ['*.ts', ['a.ts', 'src/a.ts'], ['a.tsx', '.ts', '.a.ts', '.git/a.ts', 'a/.b/c.ts']],
  ['*.{ts,tsx}', ['a.ts', 'x/b.tsx'], ['a.js', 'a.{ts,tsx}']],
  ['src/*.ts', ['src/a.ts'], ['src/x/a.ts', 'x/src/a.ts']],
  ['src/**/*.ts', ['src/a.ts', 'src/x/y/a.ts'], ['a.ts', 'src/.x/a.ts']],
  ['/a.ts', ['a.ts'], ['x/a.ts']],
  ['./a.ts', ['a.ts'], ['x/a.ts']],
  ['**', ['a', 'x/y'], ['.a', 'x/.y']],
  ['', ['a', 'x/y'], ['.a']],
  ['src/', ['src/a', 'x/src/b/c'], ['src', 'a']],
  ['.env*', ['.env', 'x/.env.local'], ['.x/.env', 'env']],
  ['.github/**/*.yml', ['.github/workflows/a.yml', '.github/a.yml'], ['.github/.x/a.yml']],
  ['?.c', ['a.c', 'é.c'], ['ab.c', '.c', '..c']],
  ['*?x', ['ax', 'abx'], ['x', '.x']],
  ['*foo', ['foo', 'afoo'], ['.foo']],
  ['[ab]c', ['ac', 'bc'], ['cc', '[ab]c']],
  ['[!ab]c', ['cc'], ['ac', '/c']],
  ['[]]c', [']c'], ['c']],
  ['[a-c^-]x', ['bx', '^x', '-x'], ['dx']],
  ['[^]x', [], ['x']],
  ['a[b', ['a[b'], ['ab']],
  ['a+(b).c$', ['a+(b).c$'], ['aab.c$']],
  ['a\\*b', ['a*b'], ['axb']],
  ['x{a,b{c,d}}y', ['xay', 'xbcy', 'xbdy'], ['xby']],
  ['x{a}y', ['x{a}y'], ['xay']],
  ['**/test_*.go', ['test_a.go', 'x/y/test_b.go'], ['xtest_a.go']],
])('%s', (pattern, fits, others) => {
  const expression = new RegExp(readGlob(pattern).ere)
  expect(fits.filter((path) => !expression.test(path))).toEqual([])
  expect(others.filter((path) => expression.test(path))).toEqual([])
})

test.each<[string, boolean]>([
  ['*.ts', false],
  ['./*.ts', false],
  ['.env', true],
  ['{.env,x}', true],
  ['x/.y/*', true],
])('the pattern %s includes hidden names: %s', (pattern, seesHidden) => {
  expect(readGlob(pattern).seesHidden).toBe(seesHidden)
})

test('braces that expand to too many patterns are refused', () => {
  expect(() => readGlob('{a,b}'.repeat(20))).toThrow('more than 256')
})

test.each([
  ['*.ts', null, '*.ts'],
  ['src/*.ts', null, 'src/*.ts'],
  ['/tmp/x/*.ts', '/tmp/x', './*.ts'],
  ['/tmp/x/**/a.ts', '/tmp/x', '**/a.ts'],
  ['/tmp/a.ts', '/tmp', './a.ts'],
  ['/*.ts', '/', './*.ts'],
  ['~/x/*.ts', '~/x', './*.ts'],
  ['~', '~', './'],
])('the pattern %s is split into %s and %s', (pattern, dir, glob) => {
  expect(splitPattern(pattern)).toEqual({ dir, glob })
})
