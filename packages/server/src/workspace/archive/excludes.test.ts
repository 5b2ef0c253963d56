import { expect, test } from 'vitest'
import { isExcludedBy, pathspecsOf } from './excludes.ts'

test.each<[pattern: string, path: string, isDirectory: boolean, isExcluded: boolean]>([
  ['node_modules', 'a/node_modules', true, true],
  ['node_modules', 'a/node_modules_2', true, false],
  ['build/', 'a/build', true, true],
  ['build/', 'a/build', false, false],
  ['*.pyc', 'a/b.pyc', false, true],
  ['*.pyc', 'a/b.pyc/c', false, false],
  ['*/test', 'a/test', false, true],
  ['*/test', 'a/b/test', false, false],
  ['a/*/c', 'a/x/c', true, true],
  ['/test', 'test', false, true],
  ['/test', 'a/test', false, false],
  ['a/**/c', 'a/c', false, true],
  ['a/**/c', 'a/x/y/c', false, true],
  ['**/c', 'c', false, true],
  ['?.txt', 'ü.txt', false, true],
  ['[a-c]x', 'bx', false, true],
  ['[!a-c]x', 'bx', false, false],
  ['[a-]x', '-x', false, true],
  ['[]a]x', ']x', false, true],
  ['a[x', 'a[x', false, true],
  ['\\*', '*', false, true],
  ['\\*', 'a', false, false],
])('the pattern %s on the path %s (directory: %s) excludes: %s', (pattern, path, isDirectory, isExcluded) => {
  expect(isExcludedBy([pattern])(path.split('/'), isDirectory)).toBe(isExcluded)
})

test('git gets the same patterns', () => {
  expect(pathspecsOf(['build/', '*.pyc', 'a/*/c', '/x/'])).toEqual([
    ':(exclude,glob)**/build/**',
    ':(exclude,glob)**/*.pyc',
    ':(exclude,glob)**/*.pyc/**',
    ':(exclude,glob)a/*/c',
    ':(exclude,glob)a/*/c/**',
    ':(exclude,glob)x/**',
  ])
})

test.each(['', '/', '.', 'a/../b', 'a\0'])('the pattern %j is refused', (pattern) => {
  expect(() => isExcludedBy([pattern])).toThrow('below the archived directory')
})

test('many stars take little time', () => {
  const begun = performance.now()
  expect(isExcludedBy([`${'*a'.repeat(60)}b`])(['a'.repeat(250)], false)).toBe(false)
  expect(performance.now() - begun).toBeLessThan(500)
})
