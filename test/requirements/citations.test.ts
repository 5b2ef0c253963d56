import { expect, test } from 'vitest'
import { account, citationsIn } from './citations.ts'

// In two parts, so that the samples below do not count as citations of this file.
const call = 'verifies' + '('
const idsIn = (text: string) => citationsIn('a.test.ts', text).map(({ id }) => id)

test('a citation is one literal or an array of literals', () => {
  expect(idsIn(`${call}'a.b', 'one', () => {})`)).toEqual(['a.b'])
  expect(idsIn(`${call}['a.b', "c.d", \`e.f\`], 'three', async () => { await x })`)).toEqual(['a.b', 'c.d', 'e.f'])
  expect(idsIn(`describe('x', () => { ${call}'in.side', 'n', () => {}) })`)).toEqual(['in.side'])
})

test('comments and strings are not citations', () => {
  expect(idsIn(`// ${call}'a.b', 'one', () => {})\nconst text = "${call}'a.b')"`)).toEqual([])
})

test('an id that is computed at run time is refused', () => {
  expect(() => idsIn(`${call}\`a.\${field}\`, 'n', () => {})`)).toThrow(
    'a.test.ts: verifies() needs its ids as string literals',
  )
  expect(() => idsIn(`${call}ids, 'n', () => {})`)).toThrow('string literals')
  expect(() => idsIn(`${call}[...ids], 'n', () => {})`)).toThrow('string literals')
})

test('an account without faults counts covered and pending requirements', () => {
  expect(account(['a', 'b'], [{ id: 'a', file: 'x.test.ts' }], ['b'])).toEqual({
    faults: [],
    covered: 1,
    pending: 1,
    total: 2,
  })
})

test.each<[string, Parameters<typeof account>, string]>([
  ['neither cited nor pending', [['a'], [], []], 'a: no test cites it, and it is not pending'],
  ['cited but unknown', [[], [{ id: 'a', file: 'x.test.ts' }], []], 'a: cited by x.test.ts, but not a requirement'],
  ['pending but unknown', [[], [], ['a']], 'a: pending, but not a requirement'],
  [
    'cited and pending',
    [['a'], [{ id: 'a', file: 'x.test.ts' }], ['a']],
    'a: cited by x.test.ts; take it out of test/pending.ts',
  ],
  ['required twice', [['a', 'a'], [], ['a']], 'a: required twice'],
  ['pending twice', [['a'], [], ['a', 'a']], 'a: pending twice'],
])('an id that is %s is a fault', (_, args, fault) => {
  expect(account(...args).faults).toEqual([fault])
})
