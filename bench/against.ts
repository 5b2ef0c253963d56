/** Measures this working copy and another commit in turn, so that both meet the same machine, and compares each figure. */
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { median, root } from './harness.ts'

type Measured = { sources: string; bundle: string }

/** A median ratio above this is a regression. */
const LIMIT = 1.1

export type Comparison = { figure: string; ratios: readonly number[]; median: number }

/**
 * Ratios of cost, pair by pair: above 1, `mine` is worse. Figures per second count upside down; those that may be around
 * zero, such as memory added, are compared with the empty server as the base.
 */
export function compare(
  mine: readonly Record<string, number>[],
  other: readonly Record<string, number>[],
): Comparison[] {
  return Object.keys(mine[0] ?? {}).map((figure) => {
    const base = figure.startsWith('memory added') ? 'memory of an empty server (MB)' : null
    const cost = (figures: Record<string, number>): number =>
      figure.includes('/s)') ? 1 / figures[figure]! : figures[figure]! + (base === null ? 0 : figures[base]!)
    const ratios = mine.map((figures, pair) => cost(figures) / cost(other[pair]!))
    return { figure, ratios, median: median(ratios) }
  })
}

/** Compares with the commit `rev`. Resolves to the exit code: 1 when the median ratio of a figure is above 1.10. */
export async function against(
  rev: string,
  { pairs, names }: { pairs: number; names: readonly string[] },
): Promise<number> {
  const commit = git('rev-parse', '--short', rev)
  const folder = join(root, 'artifacts', 'bench')
  const otherRoot = join(folder, commit)
  const mineAt = { sources: root, bundle: join(folder, 'this', 'dist') }
  const otherAt = { sources: otherRoot, bundle: join(otherRoot, 'dist') }
  console.log(`building this working copy and ${commit} …`)
  node(root, 'scripts/build.mjs', mineAt.bundle)
  buildCommit(commit, otherRoot)
  const mine: Record<string, number>[] = []
  const other: Record<string, number>[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // The order alternates, so that a machine that slows down harms both alike.
    const order = [() => mine.push(figuresOf(mineAt, names)), () => other.push(figuresOf(otherAt, names))]
    for (const measure of pair % 2 === 0 ? order : order.toReversed()) measure()
    console.log(`pair ${pair + 1} of ${pairs} measured`)
  }
  console.log(`\n${'ratio to '.concat(commit).padEnd(52)} median    min    max`)
  const comparisons = compare(mine, other)
  for (const { figure, ratios, median: middle } of comparisons) {
    const columns = [middle, Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2).padStart(6))
    console.log(`${figure.padEnd(52)} ${columns.join(' ')}${middle > LIMIT ? '  worse' : ''}`)
  }
  const worse = comparisons.filter(({ median: middle }) => middle > LIMIT)
  console.log(`${comparisons.length - worse.length} figures within ${LIMIT}, ${worse.length} worse`)
  return worse.length > 0 ? 1 : 0
}

/** A checkout of the commit with its own dependencies, built once. */
function buildCommit(commit: string, folder: string): void {
  if (existsSync(join(folder, 'dist', 'parley.js'))) return
  rmSync(folder, { recursive: true, force: true })
  git('worktree', 'prune')
  git('worktree', 'add', '--detach', folder, commit)
  execFileSync('npm', ['ci'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  node(folder, 'scripts/build.mjs')
}

/** Runs the measurements of this working copy on a bundle and the sources that it was built from. */
function figuresOf({ sources, bundle }: Measured, names: readonly string[]): Record<string, number> {
  const env = { ...process.env, PARLEY_BENCH_BUNDLE: join(bundle, 'parley.js'), PARLEY_BENCH_SOURCES: sources }
  const output = execFileSync(process.execPath, [join(root, 'bench', 'main.ts'), '--json', ...names], {
    env,
    encoding: 'utf8',
  })
  return JSON.parse(output.trim().split('\n').at(-1)!) as Record<string, number>
}

const node = (cwd: string, ...args: string[]): unknown =>
  execFileSync(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })

const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
