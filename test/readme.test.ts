import { expect, test } from 'vitest'
import { readSource, sourceFiles } from './source-files.ts'

test('the pages name only npm scripts that package.json has', () => {
  const { scripts = {} } = JSON.parse(readSource('package.json')) as { scripts?: Record<string, string> }
  const pages = sourceFiles('docs/**/*.md', '*.md', 'packages/*/README.md')
  const named = pages.flatMap((page) =>
    [...readSource(page).matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g)].map(
      ([, script, command]) => script ?? command ?? '',
    ),
  )
  expect(named.length).toBeGreaterThan(0)
  expect([...new Set(named)].filter((script) => !(script in scripts))).toEqual([])
})

test('no page names the npm package that belongs to another project', () => {
  const pages = sourceFiles('docs/**/*.md', '*.md', 'packages/*/README.md')
  expect(pages.filter((page) => readSource(page).includes('npx parley'))).toEqual([])
})

test('the README has at most 120 lines', () => {
  expect(readSource('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120)
})

test('the walks of the architecture page name files that exist', () => {
  const files = [...readSource('docs/architecture.md').matchAll(/^\| \d+ \| `([\w./-]+)`/gm)].map(([, file]) => file!)
  expect(files.length).toBeGreaterThan(30)
  expect(files.filter((file) => sourceFiles(`packages/server/src/${file}`).length === 0)).toEqual([])
})
