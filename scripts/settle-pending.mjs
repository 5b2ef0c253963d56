/** Removes the ids from test/pending.ts that tests cite. Run it after writing tests, and check the diff. */
import { readFileSync, writeFileSync } from 'node:fs'
import { citationsIn } from '../test/requirements/citations.ts'
import { readSource, sourceFiles } from '../test/source-files.ts'

const file = new URL('../test/pending.ts', import.meta.url)
const tests = sourceFiles('packages/**/*.test.ts', 'test/**/*.test.ts')
const cited = new Set(tests.flatMap((path) => citationsIn(path, readSource(path))).map(({ id }) => id))

const before = readFileSync(file, 'utf8').split('\n')
const after = before.filter((line) => !cited.has(/^\s*'([\w.-]+)',$/.exec(line)?.[1] ?? ''))
writeFileSync(file, after.join('\n').replaceAll(/^ {2}\S.*: \[\n {2}\],\n/gm, ''))
console.log(`${before.length - after.length} settled`)
