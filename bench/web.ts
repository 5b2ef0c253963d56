/**
 * `npm run bench:web [-- load|live …]`: times of the web UI in headless Chromium, each with its target.
 * Exit code 1 when a target is missed.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import type { Row } from './fleet/place.ts'
import { root } from './harness.ts'
import { live } from './web/live.ts'
import { load } from './web/load.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const MEASUREMENTS: Record<string, () => Promise<Row[]>> = { load, live }
const unknown = positionals.find((name) => !Object.hasOwn(MEASUREMENTS, name))
if (unknown !== undefined)
  throw new Error(`there is no measurement "${unknown}"; known are ${Object.keys(MEASUREMENTS).join(', ')}`)
execFileSync(process.execPath, [`${root}scripts/build.mjs`], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
for (const name of positionals.length > 0 ? positionals : Object.keys(MEASUREMENTS))
  for (const { name: what, value, bar, isMet } of await MEASUREMENTS[name]!()) {
    if (isMet === false) process.exitCode = 1
    console.log(`${what.padEnd(70)} ${value.padStart(10)}  ${bar}${isMet === false ? '  not met' : ''}`)
  }
