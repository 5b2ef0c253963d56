/**
 * `npm run bench:fleet [-- cost|forwarding|moves …]`: what several nodes on one database cost and do, as ratios to one node of the same minute, each with its
 * bar. `--short` freezes a node for 6 s instead of 60 s, and stops the store for 3 s instead of 30 s. Exit code 1 when a bar is not met.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { cost } from './fleet/cost.ts'
import { forwarding } from './fleet/forwarding.ts'
import { moves } from './fleet/moves.ts'
import type { Row } from './fleet/place.ts'
import { root } from './harness.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false } },
})
const MEASUREMENTS: Record<string, () => Promise<Row[]>> = {
  cost,
  forwarding,
  moves: () => moves(values.short ? 6 : 60),
}
const unknown = positionals.find((name) => !Object.hasOwn(MEASUREMENTS, name))
if (unknown !== undefined)
  throw new Error(`there is no measurement "${unknown}"; known are ${Object.keys(MEASUREMENTS).join(', ')}`)
execFileSync(process.execPath, [`${root}scripts/build.mjs`], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
for (const name of positionals.length > 0 ? positionals : Object.keys(MEASUREMENTS))
  for (const { name: what, value, bar, isMet } of await MEASUREMENTS[name]!()) {
    if (isMet === false) process.exitCode = 1
    console.log(`${what.padEnd(70)} ${value.padStart(10)}  ${bar}${isMet === false ? '  not met' : ''}`)
  }
