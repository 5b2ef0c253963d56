import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSource, root } from '../source-files.ts'
import { MODULES } from './data/index.ts'
import { isEnough, mutated, tally, verdictOf, type Mutant } from './mutant.ts'

const files = Object.values(MODULES).flat()

test('the text that a mutant replaces occurs exactly once in its file, and its tests exist', () => {
  const faults = files.flatMap(({ file, tests, mutants }) => {
    const source = readSource(file)
    const stale = mutants.flatMap((mutant) => {
      try {
        mutated(source, mutant)
        return []
      } catch (error) {
        return [`${file}: ${(error as Error).message}`]
      }
    })
    const named = [...tests, ...mutants.flatMap((mutant) => mutant.tests ?? [])]
    return [...stale, ...named.filter((path) => !existsSync(join(root, path))).map((path) => `${path} is missing`)]
  })
  expect(faults, 'change the mutants in test/mutants/data with their sources').toEqual([])
})

test('a mutant whose text occurs twice, or never, is refused', () => {
  expect(mutated('a + b', { before: '+', after: '$&' })).toBe('a $& b')
  for (const source of ['a', 'a + b + c'])
    expect(() => mutated(source, { before: '+', after: '-' })).toThrow('instead of once')
  expect(() => mutated('a + b', { before: '+', after: '+' })).toThrow('does not change')
})

test('a mutant is killed by a failing test or a time-out, survives passing tests, and is invalid when no test ran', () => {
  expect(verdictOf({ code: 1, tests: 3, isLate: false })).toBe('killed')
  expect(verdictOf({ code: null, tests: 0, isLate: true })).toBe('killed')
  expect(verdictOf({ code: 0, tests: 3, isLate: false })).toBe('survived')
  expect(verdictOf({ code: 1, tests: 0, isLate: false })).toBe('invalid')
})

test('nine of ten mutants must be killed, accepted survivors do not count, and an invalid mutant fails the module', () => {
  const mutant: Mutant = { before: 'a', after: 'b' }
  const accepted: Mutant = { ...mutant, survives: { reason: 'cost', why: 'only slower' } }
  const killed = Array.from({ length: 9 }, () => ({ mutant, verdict: 'killed' as const }))
  const survivor = { mutant, verdict: 'survived' as const }
  const results = [...killed, survivor, { mutant: accepted, verdict: 'survived' as const }]
  expect(tally(results)).toEqual({ killed: 9, survived: 1, accepted: 1, invalid: 0 })
  expect(isEnough(tally(results))).toBe(true)
  expect(isEnough(tally([...results, survivor]))).toBe(false)
  expect(isEnough(tally([...killed, { mutant, verdict: 'invalid' }]))).toBe(false)
})
