/**
 * Prints the facts about this working copy as JSON: `npm run --silent facts`. The structure is measured now; the other sections
 * are those that the last whole test run and the last benchmark have written to `artifacts/facts.json`.
 */
import { readFileSync } from 'node:fs'
import { structure } from '../test/structure.ts'

function measured() {
  try {
    return JSON.parse(readFileSync(new URL('../artifacts/facts.json', import.meta.url), 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    process.stderr.write('no test run has written figures yet; run: npm test\n')
    return {}
  }
}

process.stdout.write(`${JSON.stringify({ structure: structure(), ...measured() }, null, 2)}\n`)
