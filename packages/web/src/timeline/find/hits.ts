/** Hits of a search as places among the rows that are shown. Pure. */
import { listOf, membersOf, numberOf, textOf } from '../../log/read.ts'
import type { Row } from '../../log/rows.ts'

export type Hit = { readonly seq: number; readonly excerpt: string; readonly row: Row }
/** `elsewhere`: hits on branches that are not shown. */
export type Hits = { readonly shown: readonly Hit[]; readonly elsewhere: number }

/** The hits of an answer of the server, in the order of the log. */
export function hitsOf(answer: unknown, rows: readonly Row[]): Hits {
  const found = listOf(answer).map(membersOf)
  const bySeq = new Map(rows.flatMap((row) => [[row.seq, row] as const, [row.answer, row] as const]))
  const shown = found.flatMap((each) => {
    const seq = numberOf(each['seq']) ?? 0
    const row = bySeq.get(seq)
    return row === undefined || seq === 0 ? [] : [{ seq, excerpt: textOf(each['excerpt']), row }]
  })
  return { shown: shown.sort((a, b) => a.seq - b.seq), elsewhere: found.length - shown.length }
}

/** Index of the hit that a reader at `seq` sees first: the last one before or at it, otherwise the first. */
export const nearest = (hits: readonly Hit[], seq: number): number =>
  Math.max(
    0,
    hits.findLastIndex((hit) => hit.seq <= seq),
  )

/** The text in pieces; those at odd places are the ones that were sought, in any case of their letters. */
export function marked(text: string, sought: string): readonly string[] {
  if (sought === '') return [text]
  return text.split(new RegExp(`(${sought.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)})`, 'i'))
}
