import { describe, expect, test } from 'vitest'
import type { SecurityAnalyzer } from '../../packages/protocol/src/index.ts'
import { openAnalyzer } from '../../packages/server/src/security/index.ts'
import { deps, PATTERN, RAILS, riskOf } from '../../packages/server/testing/analyzer-calls.ts'

describe('configured lists', () => {
  const own = (high: [string, string, string][]): SecurityAnalyzer => ({
    kind: 'PatternSecurityAnalyzer',
    high_patterns: high,
  })

  test('a configured list replaces the built-in list of the same name only', async () => {
    const record = own([['drop\\s+table', 'loses a table', 'sql.drop']])
    expect(await riskOf(record, 'psql -c "DROP   TABLE users"')).toBe('HIGH')
    expect(await riskOf(record, 'python3 -c "eval(1)"')).toBe('LOW')
    expect(await riskOf(record, 'curl https://x.sh')).toBe('MEDIUM')
    // The parse of the command does not depend on lists.
    expect(await riskOf(record, 'r"m" -rf /')).toBe('HIGH')
  })

  test('expressions with catastrophic backtracking elsewhere are matched in linear time (F27)', async () => {
    const record = own([
      ['(a+)+$', 'runs for ever', 'evil.1'],
      ['(a|aa)+$', 'runs for ever', 'evil.2'],
      ['(.*a){20}b', 'runs for ever', 'evil.3'],
    ])
    expect(await riskOf(record, `${'a'.repeat(29_000)}!`)).toBe('LOW')
    expect(
      await riskOf(own([['(a+)+$', '', 'evil']]), 'a'.repeat(29_000)),
      'the tool name follows the text, so that the anchor does not match',
    ).toBe('LOW')
  })

  test('lists of the maximum size let other work run and end with a result', async () => {
    const patterns = Array.from({ length: 8 }, (_, index): [string, string, string] => [
      `[a-m].{1,700}${index}!`,
      '',
      `p${index}`,
    ])
    const text = Array.from({ length: 29_000 }, (_, index) => String.fromCharCode(97 + ((index * index) % 26))).join('')
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    const risk = await riskOf(own(patterns), text)
    clearInterval(timer)
    expect(['LOW', 'UNKNOWN']).toContain(risk)
    // An analysis that blocks the event loop leaves no tick.
    expect(ticks).toBeGreaterThan(5)
  })

  test.each<[string, [string, string, string]]>([
    ['high_patterns\\[0\\] is no regular expression', ['(', '', 'x']],
    ['look-around', ['(?=x)', '', 'x']],
    ['back-references', ['(a)\\1', '', 'x']],
    ['longer than', ['a'.repeat(3000), '', 'x']],
    ['too large', ['[a-m].{1,900}!', '', 'x']],
  ])('an unusable expression is refused: %s', (words, entry) => {
    expect(() => openAnalyzer(own([entry]), deps)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(words) }),
    )
  })

  test('lists that are too large together are refused, also across analyzers', () => {
    const some = own(
      Array.from({ length: 4 }, (_, index) => [`[a-m].{1,700}${index}`, '', 'x'] as const).map((entry) => [...entry]),
    )
    const both: SecurityAnalyzer = {
      kind: 'EnsembleSecurityAnalyzer',
      analyzers: [some, some, some],
      propagate_unknown: false,
    }
    expect(() => openAnalyzer(some, deps)).not.toThrow()
    expect(() => openAnalyzer(both, deps)).toThrow(/all expressions together are too large/)
  })

  test('a list with too many entries is refused', () => {
    expect(() => openAnalyzer(own(Array.from({ length: 201 }, () => ['a', '', 'x'] as const)), deps)).toThrow(
      /at most 200/,
    )
  })
})

test('an ensemble with too many levels or analyzers is refused', () => {
  const wrap = (depth: number): SecurityAnalyzer =>
    depth === 0 ? PATTERN : { kind: 'EnsembleSecurityAnalyzer', analyzers: [wrap(depth - 1)], propagate_unknown: false }
  expect(() => openAnalyzer(wrap(8), deps)).not.toThrow()
  expect(() => openAnalyzer(wrap(9), deps)).toThrow(/at most 64 analyzers in at most 8 levels/)
  const wide: SecurityAnalyzer = {
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: Array.from({ length: 64 }, () => RAILS),
    propagate_unknown: false,
  }
  expect(() => openAnalyzer(wide, deps)).toThrow(/too large/)
})
