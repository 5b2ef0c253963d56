/**
 * `npm run bench [-- NAME …]`: the published figures, each with its unit, on the machine it runs on; also written to
 * `artifacts/facts.json`. `npm run bench -- --against REV [--pairs N] [NAME …]` measures this working copy and the commit REV in turn
 * and prints the ratio of each figure; exit code 1 when the median of one is worse than 1.10.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { against } from './against.ts'
import { bodies } from './bodies.ts'
import { checkpoints } from './checkpoints.ts'
import { created } from './created.ts'
import { firstTurn } from './first-turn.ts'
import { forward } from './forward.ts'
import { startup } from './startup.ts'
import { turns } from './turns.ts'
import { lists } from './lists.ts'
import { long } from './long.ts'
import { memory } from './memory.ts'
import { root, writeFacts } from './harness.ts'

const MEASUREMENTS: Record<string, () => Promise<Record<string, number>>> = {
  startup,
  first: firstTurn,
  turns,
  long,
  lists,
  checkpoints,
  memory,
  created,
}

/** Measured only when they are named, because they take many minutes, or need an installed PostgreSQL. */
const OTHER_MEASUREMENTS: typeof MEASUREMENTS = { bodies, forward }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    pairs: { type: 'string', default: '9' },
    // For `against`: measures the bundle that the environment names and prints the figures as one line of JSON.
    json: { type: 'boolean', default: false },
  },
})
const known = { ...MEASUREMENTS, ...OTHER_MEASUREMENTS }
const unknown = positionals.find((name) => !Object.hasOwn(known, name))
if (unknown !== undefined)
  throw new Error(`there is no measurement "${unknown}"; known are ${Object.keys(known).join(', ')}`)
const names = positionals.length > 0 ? positionals : Object.keys(MEASUREMENTS)

if (values.against !== undefined) {
  process.exitCode = await against(values.against, { pairs: Number(values.pairs), names })
} else if (values.json) {
  console.log(JSON.stringify(await measure()))
} else {
  execFileSync(process.execPath, [`${root}scripts/build.mjs`], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  await writeFacts(await measure((figure, value) => console.log(`${figure.padEnd(52)} ${round(value)}`)))
}

async function measure(show: (figure: string, value: number) => void = () => {}): Promise<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const name of names) {
    const figures = await known[name]!()
    for (const [figure, value] of Object.entries(figures)) show(figure, value)
    Object.assign(all, figures)
  }
  return all
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2)
}
