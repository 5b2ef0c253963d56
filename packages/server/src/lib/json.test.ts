import { expect, test } from 'vitest'
import { parseRecord } from './json.ts'

test.each([
  ['{"a": 1}', { a: 1 }],
  ['{}', {}],
  ['[1]', null],
  ['null', null],
  ['"text"', null],
  ['7', null],
  ['{"a":', null],
  ['', null],
])('parseRecord returns for %s: %o', (text, value) => {
  expect(parseRecord(text)).toEqual(value)
})
