import { expect, test } from 'vitest'
import { nameFor } from './names.ts'

test.each([
  ['files', 'read_file', false, 'read_file'],
  ['files', 'read_file', true, 'files_read_file'],
  ['127-0-0-1', 'echo', true, '_127-0-0-1_echo'],
  ['s', 'a.b/c d', false, 'a_b_c_d'],
])('the tool %s.%s (several servers: %s) is called %s', (server, tool, hasSeveral, expected) => {
  expect(nameFor(server, tool, hasSeveral)).toBe(expected)
})

test('long names are shortened and stay distinct', () => {
  const [one, other] = ['x', 'y'].map((end) => nameFor('server', `${'long_'.repeat(20)}${end}`, true))
  expect(one).toHaveLength(64)
  expect(other).toHaveLength(64)
  expect(one).not.toBe(other)
})
