/** The rows of the changes: a heading for each file, and the lines of those that are open. Pure. */
import type { FileChange, FilePatch } from './data.ts'
import { linesOf, type Pair, pairsOf, type PatchLine } from './patch.ts'

/** Lines of one file that a comment is about: numbers of the new file, or of the old one for removed lines. */
export type Range = {
  readonly path: string
  readonly side: 'before' | 'after'
  readonly from: number
  readonly to: number
}

export type Item =
  | { readonly type: 'file'; readonly key: string; readonly file: FileChange }
  | { readonly type: 'line'; readonly key: string; readonly file: FileChange; readonly line: PatchLine }
  | { readonly type: 'pair'; readonly key: string; readonly file: FileChange; readonly pair: Pair }
  | { readonly type: 'state'; readonly key: string; readonly file: FileChange; readonly patch: FilePatch | null }
  | { readonly type: 'failure'; readonly key: string; readonly file: FileChange; readonly error: unknown }
  | { readonly type: 'comment'; readonly key: string; readonly file: FileChange; readonly range: Range }

/** What is known of a file that is open. */
export type Opened = { readonly data: FilePatch | undefined; readonly error: unknown }

export function itemsOf(
  files: readonly FileChange[],
  opened: ReadonlyMap<string, Opened>,
  { isSplit, range }: { isSplit: boolean; range: Range | null },
): readonly Item[] {
  return files.flatMap((file): Item[] => {
    const { path } = file
    const heading: Item = { type: 'file', key: path, file }
    const content = opened.get(path)
    if (content === undefined) return [heading]
    const { data: patch, error } = content
    if (patch === undefined && error != null) return [heading, { type: 'failure', key: `${path}\0!`, file, error }]
    const lines = patch?.patch == null ? [] : linesOf(patch.patch)
    if (lines.length === 0) return [heading, { type: 'state', key: `${path}\0.`, file, patch: patch ?? null }]
    const rows = isSplit ? pairRows(file, pairsOf(lines)) : lineRows(file, lines)
    return [heading, ...(range?.path === path ? withComment(rows, file, range) : rows)]
  })
}

const lineRows = (file: FileChange, lines: readonly PatchLine[]): Item[] =>
  lines.map((line, at) => ({ type: 'line', key: `${file.path}\0${at}`, file, line }))

const pairRows = (file: FileChange, pairs: readonly Pair[]): Item[] =>
  pairs.map((pair, at) => ({ type: 'pair', key: `${file.path}\0s${at}`, file, pair }))

/** The lines of a row by their side. */
function sidesOf(item: Item): readonly PatchLine[] {
  if (item.type === 'line') return [item.line]
  if (item.type === 'pair') return [item.pair.left, item.pair.right].filter((line) => line !== null)
  return []
}

function withComment(rows: readonly Item[], file: FileChange, range: Range): Item[] {
  const at = rows.findLastIndex((row) => sidesOf(row).some((line) => line[range.side] === range.to))
  return rows.toSpliced(at + 1, 0, { type: 'comment', key: `${file.path}\0c`, file, range })
}

/** The range of one line; null for a gap. */
export function rangeOf(path: string, line: PatchLine): Range | null {
  if (line.kind === 'gap') return null
  const side = line.after === null ? 'before' : 'after'
  const number = line[side] ?? 0
  return { path, side, from: number, to: number }
}

/** `range` widened to `line` of the same file and side, otherwise the range of the line alone. */
export function widened(range: Range | null, next: Range): Range {
  if (range === null || range.path !== next.path || range.side !== next.side) return next
  return { ...range, from: Math.min(range.from, next.from), to: Math.max(range.to, next.to) }
}

export const isIn = (range: Range | null, path: string, line: PatchLine): boolean => {
  const number = range === null ? null : line[range.side]
  return range !== null && range.path === path && number !== null && number >= range.from && number <= range.to
}

/** The text of the lines that a comment is about. */
export function quotedOf(items: readonly Item[], range: Range): string {
  const lines = items
    .filter(({ file }) => file.path === range.path)
    .flatMap(sidesOf)
    .filter((line) => isIn(range, range.path, line))
  return [...new Map(lines.map((line) => [line[range.side], line.text])).values()].join('\n')
}

/** Index of the next place in a direction: a file, or the first changed line of a hunk; -1 without one. */
export function nextOf(items: readonly Item[], from: number, step: 1 | -1, what: 'file' | 'hunk'): number {
  const isStart = (at: number): boolean => {
    if (what === 'file') return items[at]?.type === 'file'
    return isChanged(items[at]) && !isChanged(items[at - 1])
  }
  for (let at = from + step; at >= 0 && at < items.length; at += step) if (isStart(at)) return at
  return -1
}

const isChanged = (item: Item | undefined): boolean =>
  item !== undefined && sidesOf(item).some(({ kind }) => kind === 'added' || kind === 'removed')
