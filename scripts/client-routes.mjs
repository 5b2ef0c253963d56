/**
 * Writes `packages/client/src/routes.gen.ts` from the endpoint rows, so that the client needs no schema library at run time:
 * `npm run generate`. With `--check` it writes nothing and exits with 1 when the file differs from the rows.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import * as protocol from '../packages/protocol/src/index.ts'

const file = new URL('../packages/client/src/routes.gen.ts', import.meta.url)

const isRow = (value) =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'ok' in value

const routes = Object.entries(protocol)
  .filter(([, value]) => isRow(value))
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(
    ([name, { method, path }]) =>
      `export const ${name}: RouteOf<typeof rows.${name}> = { method: '${method}', path: '${path}' }`,
  )

const text = `/** Method and path of every endpoint, as data. Generated from the rows of @parley/protocol by \`npm run generate\`. */
import type * as rows from '@parley/protocol'
import type { RouteOf } from './route.ts'

${routes.map(folded).join('\n')}
`

/** The formatter's form of a line that is longer than its limit. */
function folded(line) {
  if (line.length <= 120) return line
  const [head, tail] = line.split(' = { ')
  const [method, path] = tail.slice(0, -2).split(', ')
  return `${head} = {\n  ${method},\n  ${path},\n}`
}

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('packages/client/src/routes.gen.ts differs from the endpoint rows; run: npm run generate')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, text)
}
