import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pauses } from './remote-executor.ts'
import { exports, quote, shellLine } from './quote.ts'

test('words of a shell line reach a program unchanged', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', "'", '"', '\\', '$', '`', ' ', '\n', '*', '!', '-', 'é', ';', '('),
  })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), (words) => {
      const said = execFileSync('/bin/sh', ['-c', shellLine(['printf', '%s\\0', '', ...words])]).toString()
      expect(said.split('\0').slice(1, -1)).toEqual(words)
    }),
    { numRuns: 25 },
  )
})

test('a word with a NUL character is refused', () => {
  expect(() => quote('a\0b')).toThrow(RangeError)
})

test('exported variables keep their values, and invalid names are left out', () => {
  const lines = exports({ A: "it's $HOME", 'not-a-name': 'x', B_2: 'two\nlines' })
  const said = execFileSync('/bin/sh', ['-c', `${lines}printf '%s|%s' "$A" "$B_2"`]).toString()
  expect(said).toBe("it's $HOME|two\nlines")
  expect(lines).not.toContain('not-a-name')
})

test.each([0, 5, 20, 1_000, 10_000])('pauses for %i ms add up to that time, short ones first', (ms) => {
  const list = pauses(ms).split(' ').filter(Boolean).map(Number)
  const sum = list.reduce((total, each) => total + each, 0) * 1000
  expect(sum).toBeLessThanOrEqual(ms)
  expect(sum).toBeGreaterThanOrEqual(ms - 10)
  expect(list.slice(0, -1)).toEqual(list.slice(0, -1).toSorted((a, b) => a - b))
  expect(list.length).toBeLessThan(60)
})
