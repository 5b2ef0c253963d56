import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { expectLinear, toEre } from './text-pattern.ts'

/** True when `grep -E` finds the line. */
function greps(ere: string, line: string): boolean {
  const { status } = spawnSync('grep', ['-qiE', '-e', ere], {
    input: `${line}\n`,
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  })
  if (status !== 0 && status !== 1) throw new Error(`grep refused ${ere}`)
  return status === 0
}

test.each<[string, string[], string[]]>([
  ['foo', ['a FOO b'], ['fo']],
  ['-v', ['x -v y'], ['v']],
  ['function\\s+\\w+', ['function  run'], ['function(']],
  ['\\d{2,3}', ['a12'], ['a1']],
  ['[\\d.]+x', ['1.2x'], ['ax']],
  ['[^\\s"]x', ['ax'], [' x', '"x']],
  ['[\\w-]=', ['a=', '-='], [' =']],
  ['[\\]\\[^-]1', [']1', '[1', '^1', '-1'], ['a1']],
  ['[^\\]]1', ['a1'], [']1']],
  ['[^-]1', ['a1'], ['-1']],
  ['[\\^]1', ['^1'], ['a1']],
  ['[\\^-]1', ['^1', '-1'], ['a1']],
  ['[a-f\\x30]z', ['bz', '0z'], ['gz']],
  ['(?:ab)+?c', ['xababc'], ['xac']],
  ['(?P<name>ab)c', ['abc'], ['ac']],
  ['(?i)AB', ['ab'], ['a']],
  ['a\\.b\\/c', ['a.b/c'], ['axb/c']],
  ['a\\{b\\}', ['a{b}'], ['ab']],
  ['\\bcat\\b', ['a cat sat'], ['concat']],
  ['\\$\\(x\\)', ['$(x)'], ['x']],
  ['a\\tb', ['a\tb'], ['atb']],
  ['^a|b$', ['ax', 'xb'], ['xay']],
  ['É', ['é'], ['e']],
  ['[[:digit:]]x', ['1x'], ['ax']],
])('%s', (pattern, fits, others) => {
  expectLinear(pattern)
  const ere = toEre(pattern)!
  expect(fits.filter((line) => !greps(ere, line))).toEqual([])
  expect(others.filter((line) => greps(ere, line))).toEqual([])
})

test.each(['a(?=b)', '(?<!a)b', '(a)\\1', '(?<x>a)\\k<x>', 'a\\nb', 'a\nb'])(
  'the pattern %j is refused because it is not linear',
  (pattern) => {
    expect(() => expectLinear(pattern)).toThrow('Invalid regex pattern')
  },
)

test.each(['\\(?=', '[(?=]', '\\\\n', '[\\1]x'])('the pattern %s only looks non-linear and is accepted', (pattern) => {
  expect(() => expectLinear(pattern)).not.toThrow()
})

test.each(['\\p{L}', '(?s)a.b', '[a&&b]', '(?x) a'])('the pattern %s cannot be translated for grep', (pattern) => {
  expect(toEre(pattern)).toBeNull()
})
