/**
 * `npm run bench`: the figures that we publish, each with its unit, on the machine it runs on. Name measurements to run only
 * those: `npm run bench -- turn memory`. Results go to `artifacts/facts.json` too.
 */
import { startup } from './startup.ts'
import { turns } from './turns.ts'
import { long } from './long.ts'
import { memory } from './memory.ts'
import { writeFacts } from './harness.ts'

const MEASUREMENTS: Record<string, () => Promise<Record<string, number>>> = { startup, turns, long, memory }

const wanted = process.argv.slice(2)
for (const [name, measure] of Object.entries(MEASUREMENTS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const figures = await measure()
  for (const [figure, value] of Object.entries(figures)) console.log(`${figure.padEnd(52)} ${round(value)}`)
  await writeFacts(figures)
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2)
}
