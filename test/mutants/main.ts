/**
 * `npm run test:mutants [-- MODULE | MODULE:NUMBER …]`: applies each mutant to a copy of the tree, runs the tests near it, and prints
 * how many mutants of each module the tests kill. Exit code 1 when a module is below the required share, a replaced text no longer
 * occurs exactly once, the tests fail without a change, or an accepted survivor is killed.
 */
import { readSource } from '../source-files.ts'
import { MODULES } from './data/index.ts'
import { isEnough, mutated, tally, verdictOf, type MutatedFile, type Mutant, type Verdict } from './mutant.ts'
import { copyTree, type Tree } from './tree.ts'

/** Milliseconds that a run of tests may take more than three times its time without a change. */
const GRACE_MS = 30_000
/** Milliseconds for tests without a change. */
const BASELINE_MS = 300_000

type Chosen = { number: number; file: string; tests: readonly string[]; mutant: Mutant }
type Judged = Chosen & { verdict: Verdict }

process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1

async function main(names: readonly string[]): Promise<boolean> {
  const chosen = choose(names)
  const stale = [...chosen.values()].flat().flatMap(staleText)
  for (const line of stale) console.log(line)
  if (stale.length > 0) return false
  await using tree = await copyTree()
  const baselines = new Map<string, number>()
  let isGood = true
  for (const [name, mutants] of chosen) {
    const results: Judged[] = []
    for (const each of mutants) {
      const result = await judge(tree, each, baselines)
      if (result === null) return false
      results.push(result)
      if (result.verdict !== 'killed' || each.mutant.survives !== undefined) console.log(describe(name, result))
    }
    const counts = tally(results)
    const { killed, survived, accepted } = counts
    const share = ((100 * killed) / Math.max(1, killed + survived)).toFixed(0)
    console.log(
      `${name}: ${killed} killed, ${survived} survived, ${accepted} accepted, ${counts.invalid} invalid: ${share} %`,
    )
    const isOutdated = results.some(({ mutant, verdict }) => mutant.survives !== undefined && verdict === 'killed')
    isGood &&= isEnough(counts) && !isOutdated
  }
  return isGood
}

/** The mutants of each module, numbered from 1. Without names, all. */
function choose(names: readonly string[]): Map<string, Chosen[]> {
  const chosen = new Map<string, Chosen[]>()
  for (const name of names.length > 0 ? names : Object.keys(MODULES)) {
    const [module = '', number] = name.split(':')
    const files: readonly MutatedFile[] | undefined = MODULES[module]
    if (files === undefined)
      throw new Error(`there is no module "${module}"; known are ${Object.keys(MODULES).join(', ')}`)
    const all = files
      .flatMap(({ file, tests, mutants }) => mutants.map((mutant) => ({ file, tests: mutant.tests ?? tests, mutant })))
      .map((each, index) => ({ ...each, number: index + 1 }))
    const found = number === undefined ? all : all.filter((each) => each.number === Number(number))
    if (found.length === 0) throw new Error(`there is no mutant "${name}"`)
    chosen.set(module, [...(chosen.get(module) ?? []), ...found])
  }
  return chosen
}

function staleText({ file, mutant }: Chosen): string[] {
  try {
    mutated(readSource(file), mutant)
    return []
  } catch (error) {
    return [`${file}: ${(error as Error).message}`]
  }
}

/** Runs the tests near a mutant. Null when they fail without it. */
async function judge(tree: Tree, chosen: Chosen, baselines: Map<string, number>): Promise<Judged | null> {
  const key = chosen.tests.join(' ')
  let baseline = baselines.get(key)
  if (baseline === undefined) {
    const { code, ms, output } = await tree.test(chosen.tests, BASELINE_MS)
    if (code !== 0) {
      console.log(`${key}: fails without a change\n${output}`)
      return null
    }
    baselines.set(key, (baseline = ms))
  }
  const limitMs = GRACE_MS + 3 * baseline
  const run = await tree.with(chosen.file, chosen.mutant, () => tree.test(chosen.tests, limitMs))
  return { ...chosen, verdict: verdictOf(run) }
}

function describe(name: string, { number, file, mutant, verdict }: Judged): string {
  const { survives } = mutant
  const line = `${verdict === 'survived' && survives !== undefined ? 'accepted' : verdict} ${name}:${number} ${file}\n`
  const reason = survives === undefined ? '' : `\n    ${survives.reason}: ${survives.why}`
  return `${line}    - ${mutant.before}\n    + ${mutant.after}${reason}`
}
