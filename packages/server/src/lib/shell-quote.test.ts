import fc from 'fast-check'
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellQuote } from './shell-quote.ts'

test('quoted words reach a program unchanged', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', "'", '"', '\\', '$', '`', ' ', '\n', '*', '!', '-', 'é', ';', '(', '~', '#'),
  })
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), (words) => {
      const line = ['printf', '%s\\0', '', ...words].map(shellQuote).join(' ')
      const printed = execFileSync('/bin/sh', ['-c', line]).toString()
      expect(printed.split('\0').slice(1, -1)).toEqual(words)
    }),
    { numRuns: 25 },
  )
})
