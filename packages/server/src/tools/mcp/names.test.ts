import { expect, test } from 'vitest'
import { nameFilter } from './name-filter.ts'
import { nameFor } from './names.ts'

test.each([
  ['files', 'read_file', false, 'read_file'],
  ['files', 'read_file', true, 'files_read_file'],
  ['127-0-0-1', 'echo', true, '_127-0-0-1_echo'],
  ['s', 'a.b/c d', false, 'a_b_c_d'],
])('tool %s.%s (several: %s) is called %s', (server, tool, hasSeveral, expected) => {
  expect(nameFor(server, tool, hasSeveral)).toBe(expected)
})

test('long names are cut and stay apart', () => {
  const [one, other] = ['x', 'y'].map((end) => nameFor('server', `${'long_'.repeat(20)}${end}`, true))
  expect(one).toHaveLength(64)
  expect(other).toHaveLength(64)
  expect(one).not.toBe(other)
})

test('a filter matches from the start of a name; an expression without end lets nothing through', () => {
  const slow = () => null
  expect(['say', 'said', 'resay'].filter(nameFilter('sa', slow))).toEqual(['say', 'said'])
  expect(nameFilter(null, slow)('any')).toBe(true)
  expect(['a', 'b'].filter(nameFilter('(?!a).*', slow))).toEqual(['b'])
  expect(nameFilter('(a+)+$', slow)(`${'a'.repeat(60)}!`)).toBe(false)
  expect(nameFilter('x', () => (text) => text === 'linear')('linear')).toBe(true)
})
