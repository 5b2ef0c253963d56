/** Sizes of the sources: what `npm run facts` prints about the structure. */
import { basename, dirname } from 'node:path'
import { nodesOf, readSource, sourceFiles, type Node } from './source-files.ts'

/** Number of listed files and functions. */
const LISTED = 12

type Sized = { readonly name: string; readonly lines: number }

/** Functions of a source with their lines, nested ones included; named by file and first line. */
export function functionsOf(path: string, text: string): Sized[] {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  const lineAt = (offset: number): number => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
  return nodesOf(path, text)
    .filter(({ type }) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type))
    .map((node: Node) => {
      const [first, last] = [lineAt(node.start as number), lineAt(node.end as number)]
      const name = (node.id as { name?: string } | null | undefined)?.name
      return { name: `${path}:${first}${name === undefined ? '' : ` ${name}`}`, lines: last - first + 1 }
    })
}

const largest = (all: readonly Sized[]): Record<string, number> =>
  Object.fromEntries(
    all
      .toSorted((a, b) => b.lines - a.lines)
      .slice(0, LISTED)
      .map(({ name, lines }) => [name, lines]),
  )

/** The largest source files, the longest functions and the number of files in the composition root. */
export function structure() {
  const files = sourceFiles('packages/*/src/**/*.{ts,tsx}').filter((path) => !/\.(test|testing|gen)\.tsx?$/.test(path))
  const texts = files.map((path) => ({ path, text: readSource(path) }))
  const sizes = texts.map(({ path, text }) => ({ name: path, lines: text.trimEnd().split('\n').length }))
  const functions = texts.flatMap(({ path, text }) => functionsOf(path, text))
  return {
    source_files: files.length,
    source_lines: sizes.reduce((sum, { lines }) => sum + lines, 0),
    files_in_compose: files.filter((path) => basename(dirname(path)) === 'compose').length,
    files_over_350_lines: sizes.filter(({ lines }) => lines > 350).length,
    functions_over_100_lines: functions.filter(({ lines }) => lines > 100).length,
    largest_files: largest(sizes),
    longest_functions: largest(functions),
  }
}
