import { expect, test } from 'vitest'
import { fullMatch } from '../security/index.ts'
import { toolMatcher } from './match.ts'

test.each<[string, string | null, boolean]>([
  ['*', 'terminal', true],
  ['', 'terminal', true],
  ['*', null, true],
  ['', null, true],
  ['terminal', null, false],
  ['/.*/', null, false],
  ['terminal', 'terminal', true],
  ['terminal', 'Terminal', false],
  ['terminal', 'terminal2', false],
  ['file_editor', 'file_editor', true],
  ['Bash|Edit', 'Edit', true],
  ['Bash|Edit', 'Bash|Edit', false],
  ['Bash|Edit', 'Edits', false],
  ['browser_.*', 'browser_get_state', true],
  ['browser_.*', 'my_browser_get_state', false],
  ['/term.*/', 'terminal', true],
  ['/term/', 'terminal', false],
  ['/(/', '(', false],
  ['/(?=x)x/', 'x', false],
  ['a(', 'a(', true],
  ['a(', 'a', false],
  ['//', '//', true],
])('matcher %j applied to tool %j returns %s', (matcher, tool, expected) => {
  expect(toolMatcher(matcher, fullMatch)(tool)).toBe(expected)
})

test('an expression on which a backtracking matcher takes exponential time is answered', () => {
  expect(toolMatcher('/(a+)+b/', fullMatch)('a'.repeat(5000))).toBe(false)
})
