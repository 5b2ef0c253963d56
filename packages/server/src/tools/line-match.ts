/** Finds lines in a text, at first exactly, then with looser spellings. Pure. Source: agent-core.md 8.3, 8.9. */

/** A line and its line end: LF, CRLF, or nothing for an open last line. */
export type Line = { text: string; eol: string }

/** Splits a text; a line break at the end starts no further line. */
export function linesOf(text: string): Line[] {
  const parts = text.split('\n')
  const last = parts.pop()!
  const lines = parts.map((part) =>
    part.endsWith('\r') ? { text: part.slice(0, -1), eol: '\r\n' } : { text: part, eol: '\n' },
  )
  return last === '' ? lines : [...lines, { text: last, eol: '' }]
}

/** Replaces typographic spaces, dashes and quotation marks, which models write in place of the plain ones. */
function plainCharacters(text: string): string {
  return text
    .replaceAll(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, ' ')
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replaceAll(/[\u201C\u201D\u201E\u201F]/g, '"')
}

/** Ways to compare lines, the most exact first. */
const SPELLINGS = [
  (text: string) => text,
  (text: string) => text.trimEnd(),
  (text: string) => text.trim(),
  (text: string) => plainCharacters(text).trim(),
] as const

/**
 * Returns the positions where all `wanted` lines follow each other, under the most exact spelling with a match; null: none.
 * @param options `from`: first line, counted from 0; `most`: number of positions after which the search ends
 */
export function findLines(
  lines: readonly Line[],
  wanted: readonly string[],
  { from = 0, most = Infinity }: { from?: number; most?: number } = {},
): { places: number[]; level: number } | null {
  for (const [level, spell] of SPELLINGS.entries()) {
    const sought = wanted.map(spell)
    const places: number[] = []
    for (let at = from; at + sought.length <= lines.length && places.length < most; at++)
      if (sought.every((text, index) => spell(lines[at + index]!.text) === text)) places.push(at)
    if (places.length > 0) return { places, level }
  }
  return null
}

/** Lines that are compared for `nearestLines`; the rest of a larger file is left out. */
const MAX_COMPARED_LINES = 20_000
const MAX_COMPARED_CHARS = 200
const LEAST_LIKENESS = 0.3

/** Returns the numbers, counted from 1, of the lines that are most like `wanted`; at most `count`, in the order of the file. */
export function nearestLines(lines: readonly Line[], wanted: string, count: number): number[] {
  const sought = pairsOf(wanted)
  return lines
    .slice(0, MAX_COMPARED_LINES)
    .map(({ text }, index) => ({ number: index + 1, likeness: likeness(sought, pairsOf(text)) }))
    .filter((line) => line.likeness >= LEAST_LIKENESS)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, count)
    .map(({ number }) => number)
    .toSorted((a, b) => a - b)
}

/** Pairs of neighbouring characters, without white space. */
function pairsOf(text: string): Set<string> {
  const bare = plainCharacters(text.slice(0, MAX_COMPARED_CHARS)).replaceAll(/\s+/g, '')
  return new Set(Array.from({ length: Math.max(0, bare.length - 1) }, (_, at) => bare.slice(at, at + 2)))
}

/** Share of common pairs (Dice coefficient), 0 to 1. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  let common = 0
  for (const pair of a) if (b.has(pair)) common++
  return (2 * common) / (a.size + b.size)
}
