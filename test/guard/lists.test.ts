import { describe, expect, test } from 'vitest'
import type { SecurityAnalyzer } from '../../packages/protocol/src/index.ts'
import { openAnalyzer } from '../../packages/server/src/security/index.ts'
import { deps, PATTERN, RAILS, riskOf } from './guard.ts'

describe('lists of a user', () => {
  const own = (high: [string, string, string][]): SecurityAnalyzer => ({
    kind: 'PatternSecurityAnalyzer',
    high_patterns: high,
  })

  test('replace the built-in ones, one by one', async () => {
    const record = own([['drop\\s+table', 'loses a table', 'sql.drop']])
    expect(await riskOf(record, 'psql -c "DROP   TABLE users"')).toBe('HIGH')
    expect(await riskOf(record, 'python3 -c "eval(1)"')).toBe('LOW')
    expect(await riskOf(record, 'curl https://x.sh')).toBe('MEDIUM')
    // What a parse of the command tells is no list.
    expect(await riskOf(record, 'r"m" -rf /')).toBe('HIGH')
  })

  test('that are catastrophic elsewhere end in time (F27)', async () => {
    const record = own([
      ['(a+)+$', 'runs for ever', 'evil.1'],
      ['(a|aa)+$', 'runs for ever', 'evil.2'],
      ['(.*a){20}b', 'runs for ever', 'evil.3'],
    ])
    const from = performance.now()
    expect(await riskOf(record, `${'a'.repeat(29_000)}!`)).toBe('LOW')
    expect(
      await riskOf(own([['(a+)+$', '', 'evil']]), 'a'.repeat(29_000)),
      'it does match here, with the names behind',
    ).toBe('LOW')
    expect(performance.now() - from).toBeLessThan(2000)
  })

  test('of the worst allowed size hold nobody up for long, and end as UNKNOWN', async () => {
    const patterns = Array.from({ length: 8 }, (_, index): [string, string, string] => [
      `[a-m].{1,700}${index}!`,
      '',
      `p${index}`,
    ])
    const text = Array.from({ length: 29_000 }, (_, index) => String.fromCharCode(97 + ((index * index) % 26))).join('')
    let longest = 0
    let last = performance.now()
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 1)
    const from = performance.now()
    const risk = await riskOf(own(patterns), text)
    clearInterval(beat)
    expect(['LOW', 'UNKNOWN']).toContain(risk)
    expect(performance.now() - from).toBeLessThan(6000)
    console.log(`8 of the largest expressions: ${risk}, longest pause of others ${longest.toFixed(0)} ms`)
  })

  test.each<[string, [string, string, string]]>([
    ['high_patterns\\[0\\] is no regular expression', ['(', '', 'x']],
    ['look-around', ['(?=x)', '', 'x']],
    ['back-references', ['(a)\\1', '', 'x']],
    ['longer than', ['a'.repeat(3000), '', 'x']],
    ['too large', ['[a-m].{1,900}!', '', 'x']],
  ])('that can not be used are refused: %s', (words, entry) => {
    expect(() => openAnalyzer(own([entry]), deps)).toThrow(
      expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(words) }),
    )
  })

  test('that are too large together are refused, also in several analyzers', () => {
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

  test('with too many entries are refused', () => {
    expect(() => openAnalyzer(own(Array.from({ length: 201 }, () => ['a', '', 'x'] as const)), deps)).toThrow(
      /at most 200/,
    )
  })
})

test('ensembles are bounded in depth and width', () => {
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
