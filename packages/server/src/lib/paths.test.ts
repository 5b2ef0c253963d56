import fc from 'fast-check'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isInside, relativeInside } from './paths.ts'

test.each<[string, string, string | null]>([
  ['/a/b', '/a/b', ''],
  ['/a/b', '/a/b/', ''],
  ['/a/b/', '/a/b/c', 'c'],
  ['/a/b', '/a/b/c/../d', 'd'],
  ['/a/b', 'c/d', 'c/d'],
  ['/a/b', '.', ''],
  ['/a/b', '..c/d', '..c/d'],
  ['/a/b', '...', '...'],
  ['/', '/etc', 'etc'],
  ['/a/b', '/a', null],
  ['/a/b', '/a/bc', null],
  ['/a/b', '/a/b/../c', null],
  ['/a/b', '..', null],
  ['/a/b', '../b2', null],
  ['/a/b', 'c/../../d', null],
  ['/a/b', '/', null],
  ['/a/b', '/etc/passwd', null],
])('the path from %s to %s is %o, and null stands for outside', (root, path, below) => {
  expect(relativeInside(root, path)).toBe(below)
  expect(isInside(root, path)).toBe(below !== null)
})

test('a path counts as inside exactly when its normalised form begins with the root', () => {
  const names = fc.array(fc.constantFrom('a', 'b', '..', '.', '..a', 'a..', ''), { maxLength: 6 })
  fc.assert(
    fc.property(names, names, (rootNames, pathNames) => {
      const root = join('/', ...rootNames)
      const path = join('/', ...pathNames)
      const withSlash = (text: string) => (text.endsWith('/') ? text : `${text}/`)
      expect(isInside(root, ['', ...pathNames].join('/') || '/')).toBe(withSlash(path).startsWith(withSlash(root)))
    }),
  )
})
