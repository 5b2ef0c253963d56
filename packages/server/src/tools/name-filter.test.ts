import { runInNewContext } from 'node:vm'
import * as vm from 'node:vm'
import { ParleyError } from '@parley/protocol'
import { expect, test } from 'vitest'
import { boundedMatchSource, expectNameFilter, nameFilter } from './name-filter.ts'

/** An expression that would need far more than the time limit for this name. */
const ENDLESS = { regex: '(a+)+$', name: `${'a'.repeat(60)}!` }

test('a filter matches from the start of a name, as far as it goes', () => {
  expect(['say', 'said', 'resay'].filter(nameFilter('sa'))).toEqual(['say', 'said'])
  expect(nameFilter(null)('any')).toBe(true)
  expect(['a', 'b'].filter(nameFilter('(?!a).*'))).toEqual(['b'])
  expect(nameFilter('x', { linear: () => (text) => text === 'linear' })('linear')).toBe(true)
})

test('all names together have one time limit', () => {
  const begun = performance.now()
  const isLetThrough = nameFilter(ENDLESS.regex)
  for (let count = 0; count < 1000; count++) expect(isLetThrough(ENDLESS.name)).toBe(false)
  // A thousand separate limits would take a hundred seconds.
  expect(performance.now() - begun).toBeLessThan(20_000)
  const late = nameFilter(ENDLESS.regex, { onTimeUp: () => true })
  expect(late(ENDLESS.name)).toBe(true)
})

test.each(['(', '[z-a]', 'a'.repeat(2001)])('a filter that is invalid or too long is refused: %s', (regex) => {
  expect(() => expectNameFilter(regex)).toThrow(ParleyError)
  expect(() => nameFilter(regex)).toThrow(/^filter_tools_regex is (not a regular expression|longer than 2000)/)
})

test('the source text of the filter behaves the same in another program', () => {
  const make = runInNewContext(boundedMatchSource(), { performance }) as (
    regex: string,
    limitMs: number,
    module: typeof vm,
  ) => (name: string) => boolean | null
  expect(['say', 'resay'].map(make('sa', 1000, vm))).toEqual([true, false])
  expect(make(ENDLESS.regex, 50, vm)(ENDLESS.name)).toBeNull()
})
