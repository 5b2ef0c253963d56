import { expect, test } from 'vitest'
import { functionsOf, structure } from './structure.ts'

test('the lines of a function are counted from its first to its last, nested functions too', () => {
  const text = 'const a = 1\nfunction outer() {\n  return () => {\n    return a\n  }\n}\n'
  expect(functionsOf('a.ts', text)).toEqual([
    { name: 'a.ts:2 outer', lines: 5 },
    { name: 'a.ts:3', lines: 3 },
  ])
})

test('the structure facts count the files of the composition root and list the largest sources', () => {
  const { files_in_compose, largest_files, longest_functions } = structure()
  expect(files_in_compose).toBeGreaterThan(0)
  expect(Object.values(largest_files)).toEqual(Object.values(largest_files).toSorted((a, b) => b - a))
  expect(Object.keys(longest_functions)[0]).toMatch(/^packages\/\w+\/src\/.*\.ts:\d+/)
})
