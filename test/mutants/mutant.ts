/** Mutants: single changes of the sources, each of which must make a test near it fail. */

/** One change. `before` occurs exactly once in its file; keep it short, so that other changes of the file leave it alone. */
export type Mutant = {
  readonly before: string
  readonly after: string
  /** Test files that run instead of those of its file. */
  readonly tests?: readonly string[]
  /** An accepted survivor: no test can tell the difference (`equivalent`), or the difference is only time or memory (`cost`). */
  readonly survives?: { readonly reason: 'equivalent' | 'cost'; readonly why: string }
}

/** The mutants of one source file. */
export type MutatedFile = {
  /** Path from the repository root. */
  readonly file: string
  /** The nearest tests, the cheapest first: files, or folders. */
  readonly tests: readonly string[]
  readonly mutants: readonly Mutant[]
}

/** Result of the tests that ran after a change. `invalid`: no test could run, so the change proves nothing. */
export type Verdict = 'killed' | 'survived' | 'invalid'

/** @param tests number of tests that were found; 0 when no test file could be loaded */
export function verdictOf(run: { code: number | null; tests: number; isLate: boolean }): Verdict {
  if (run.isLate) return 'killed'
  if (run.code === 0) return 'survived'
  return run.tests === 0 ? 'invalid' : 'killed'
}

/** Share of killed mutants that every module must reach. */
const REQUIRED_SHARE = 0.9

type Tally = { killed: number; survived: number; accepted: number; invalid: number }

/** Counts the verdicts. Accepted survivors are counted separately, and only while they survive. */
export function tally(results: readonly { mutant: Mutant; verdict: Verdict }[]): Tally {
  const count = { killed: 0, survived: 0, accepted: 0, invalid: 0 }
  for (const { mutant, verdict } of results)
    count[verdict === 'survived' && mutant.survives !== undefined ? 'accepted' : verdict] += 1
  return count
}

/** True when enough mutants are killed and every change could be judged. */
export function isEnough({ killed, survived, invalid }: Tally): boolean {
  return invalid === 0 && killed >= REQUIRED_SHARE * (killed + survived)
}

/** The source with the change. @throws Error when the replaced text does not occur exactly once. */
export function mutated(source: string, { before, after }: Mutant): string {
  const times = source.split(before).length - 1
  if (times !== 1 || before === after)
    throw new Error(`the text occurs ${times} times instead of once, or does not change: ${before}`)
  return source.replace(before, () => after)
}
