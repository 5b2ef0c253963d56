/** The small project of the demo: one module with a defect, and the test that finds it. Paths are relative to the working directory. */

export const FAULT = '  return Math.floor(items / perPage)'
export const REPAIR = '  return Math.ceil(items / perPage)'
export const MODULE = 'src/pages.js'

export const FILES: readonly (readonly [path: string, text: string])[] = [
  ['package.json', `{ "name": "pages", "type": "module", "scripts": { "test": "node --test" } }\n`],
  [
    MODULE,
    `/** How many pages it takes to show all items. */
export function pageCount(items, perPage) {
${FAULT}
}
`,
  ],
  [
    'test/pages.test.js',
    `import assert from 'node:assert/strict'
import test from 'node:test'
import { pageCount } from '../src/pages.js'

test('seven items, three to a page, need three pages', () => {
  assert.equal(pageCount(7, 3), 3)
})
`,
  ],
]
