import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { citationFaults, type Headings, headingsOf, linkFaults } from './citations.ts'
import { readSource, root, sourceFiles } from './source-files.ts'

const pages = sourceFiles('docs/**/*.md', '*.md', 'packages/*/README.md')
const headings: Headings = new Map(pages.map((page) => [page, headingsOf(readSource(page))]))

test('every citation in a source or a test names a heading', () => {
  const sources = sourceFiles(
    'packages/**/*.{ts,tsx,mjs}',
    'test/**/*.ts',
    'bench/**/*.ts',
    'scripts/**/*.{mjs,cjs,ts}',
  ).filter((file) => !file.startsWith('test/citations'))
  expect(sources.length).toBeGreaterThan(0)
  expect(sources.flatMap((file) => citationFaults(file, readSource(file), headings))).toEqual([])
})

test('every relative link between pages leads to a file and a heading', () => {
  const exists = (path: string) => existsSync(root + path)
  expect(pages.flatMap((page) => linkFaults(page, readSource(page), headings, exists))).toEqual([])
})

const sample: Headings = new Map([
  [
    'docs/reference/agent-core.md',
    ['Agent core', '1.7 From a tool call to an action', '11 External agents', 'F44 Blocked'],
  ],
  ['docs/reference/interface.md', ['Settings record', 'Limits']],
  ['docs/security.md', ['Security', 'The sandbox', 'The sandbox']],
])

test.each([
  'Source: agent-core.md 1.7.',
  'Source: agent-core.md 1.7, 11; F44.',
  'Source: agent-core.md 1.7 and 11; interface.md, Settings record, Limits.',
  'Sources: interface.md, Limits;\n * agent-core.md 1.7 to 11. More text.',
  'A call is parsed (agent-core.md 1.7, F44), then stored.',
  'See docs/security.md, The sandbox.',
  'Source: docs/security.md.',
  'Source: RFC 6266; https://no-color.org.',
])('the citation %j is accepted', (text) => {
  expect(citationFaults('a.ts', `/** ${text} */\nconst a = 1`, sample)).toEqual([])
})

test.each([
  ['an unknown number', 'Source: agent-core.md 1.8.', 'docs/reference/agent-core.md has no heading "1.8"'],
  ['the start of a number', 'Source: agent-core.md 1.', 'docs/reference/agent-core.md has no heading "1"'],
  ['the end of a range', 'Source: agent-core.md 1.7 to 1.9.', 'docs/reference/agent-core.md has no heading "1.9"'],
  ['an unknown title', 'Source: interface.md, Setting.', 'docs/reference/interface.md has no heading "Setting"'],
  ['no heading', 'Source: agent-core.md.', 'agent-core.md is cited without a heading'],
  ['an unknown code', 'Blocked (F45).', 'F45 has no heading'],
  ['an unknown page', 'Source: docs/other.md, Title.', 'docs/other.md does not exist'],
  ['a document without a page', 'Source: decisions.md, Identity.', 'docs/reference/decisions.md does not exist'],
  [
    'a document from elsewhere',
    'As design/scale-out.md says.',
    'design/scale-out.md is not a document of this repository',
  ],
  ['an old document', 'Chosen (design.md 4).', 'design.md is not a document of this repository'],
  ['a note instead of a heading', 'Source: agent-core.md 1.7 step 2.', 'has no heading "1.7 step 2"'],
  ['prose instead of a source', 'Source: agent-core.md 1.7; a code wins.', '"a code wins" is no source'],
])('a citation of %s is a fault', (_, text, why) => {
  const faults = citationFaults('a.ts', `const a = 1\n/** ${text} */`, sample)
  expect(faults).not.toEqual([])
  expect(faults[0]).toContain('a.ts:2: ')
  expect(faults.join()).toContain(why)
})

test('codes are checked in test titles, documents in comments only', () => {
  expect(citationFaults('a.ts', "test('a block is final (F99)')", sample)).toEqual(['a.ts:1: F99 has no heading'])
  expect(citationFaults('a.ts', "write('docs/new.md', text)", sample)).toEqual([])
})

test.each([
  ['a page', '[a](reference/interface.md)'],
  ['a heading', '[a](reference/interface.md#settings-record)'],
  ['the second heading of a name', '[a](security.md#the-sandbox-1)'],
  ['a heading of the same page', '[a](#the-sandbox)'],
  ['an address', '[a](https://example.test/a.md)'],
  ['a link in a code block', '```md\n[a](none.md)\n```'],
])('a link to %s is accepted', (_, text) => {
  expect(linkFaults('docs/security.md', text, sample, (path) => sample.has(path))).toEqual([])
})

test.each([
  ['a missing page', '[a](none.md)', 'docs/security.md: none.md does not exist'],
  ['a missing heading', '[a](security.md#none)', 'docs/security.md: security.md#none has no such heading'],
  ['a missing heading of the same page', '[a](#none)', 'docs/security.md: #none has no such heading'],
])('a link to %s is a fault', (_, text, why) => {
  expect(linkFaults('docs/security.md', text, sample, (path) => sample.has(path))).toEqual([why])
})
