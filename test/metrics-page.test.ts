import { expect, test } from 'vitest'
import { METRICS } from '../packages/server/src/observability/index.ts'
import { readSource } from './source-files.ts'

test('the table of metrics in docs/operations.md has every metric, with its kind, labels and meaning, and no other', () => {
  const rows = Object.values(METRICS).map(({ name, type, labels, help }) => {
    const named = labels.map((label) => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${named} | ${help} |`
  })
  const shown = readSource('docs/operations.md')
    .split('\n')
    .filter((line) => /^\| `(?:parley|process)_\w+` \| (?:counter|gauge|histogram) \|/.test(line))
  expect(shown).toEqual(rows)
})
