/**
 * Applies the hunks of a patch to a text. Lines that no hunk names keep their bytes. Pure. Source: agent-core.md 8.9.
 */
import { findLines, linesOf, type Line } from '../line-match.ts'
import { Refusal } from '../refusal.ts'
import type { Hunk } from './parse.ts'

/** Difference between the match and the hunk: 0 none, 1 trailing space, 100 space at either edge, 1000 typographic characters. */
const FUZZ = [0, 1, 100, 1000] as const
const FUZZ_NOT_AT_END = 10_000

/** Returns the new text. @throws Refusal when the lines of a hunk are not found, with these lines. */
export function applyHunks(path: string, text: string, hunks: readonly Hunk[]): { text: string; fuzz: number } {
  const lines = linesOf(text)
  const eol = lines.find((line) => line.eol !== '')?.eol ?? '\n'
  const result: Line[] = []
  let cursor = 0
  let fuzz = 0
  for (const hunk of hunks) {
    const place = findPlace(path, lines, hunk, cursor)
    fuzz += place.fuzz
    result.push(...lines.slice(cursor, place.at))
    cursor = place.at
    for (const { op, text: added } of hunk.lines) {
      if (op === '+') result.push({ text: added, eol })
      else {
        const kept = lines[cursor++]
        if (op === ' ' && kept !== undefined) result.push(kept)
      }
    }
  }
  result.push(...lines.slice(cursor))
  return { text: joined(result, eol, text === '' || text.endsWith('\n')), fuzz }
}

/** Only the last line may lack its line end, and only if the text lacked it before. */
function joined(lines: readonly Line[], eol: string, isClosed: boolean): string {
  const ends = lines.map((line, index) => {
    const isLast = index === lines.length - 1
    if (isLast && !isClosed) return ''
    return line.eol === '' ? eol : line.eol
  })
  return lines.map(({ text }, index) => text + ends[index]!).join('')
}

type Place = { at: number; fuzz: number }

function findPlace(path: string, lines: readonly Line[], hunk: Hunk, from: number): Place {
  let start = from
  let fuzz = 0
  for (const anchor of hunk.anchors) {
    const found = find(lines, [anchor], start)
    if (found === null)
      throw new Refusal(
        `Context not found in ${path}: no line after line ${start} reads\n${anchor}\n${NOTHING_CHANGED}`,
      )
    start = found.at + 1
    fuzz += found.fuzz
  }
  const wanted = hunk.lines.filter(({ op }) => op !== '+').map(({ text }) => text)
  // A hunk that only adds goes after its anchor, or to the end.
  if (wanted.length === 0) return { at: hunk.anchors.length > 0 && !hunk.isAtEnd ? start : lines.length, fuzz }
  if (hunk.isAtEnd) {
    const last = find(lines, wanted, Math.max(start, lines.length - wanted.length))
    if (last !== null) return { at: last.at, fuzz: fuzz + last.fuzz }
    fuzz += FUZZ_NOT_AT_END
  }
  const found = find(lines, wanted, start, hunk.nearLine)
  if (found === null) {
    const where = start === 0 ? '' : ` after line ${start}`
    throw new Refusal(
      `Context not found in ${path}: these lines are not there${where}, one after the other:\n${wanted.join('\n')}\n${NOTHING_CHANGED}`,
    )
  }
  return { at: found.at, fuzz: fuzz + found.fuzz }
}

const NOTHING_CHANGED = 'View the file and write the patch anew. Nothing was changed.'

/** Returns the first match from `start`, or the one nearest to the line `near` (counted from 1); the most exact match anywhere wins. */
function find(lines: readonly Line[], wanted: readonly string[], start: number, near?: number): Place | null {
  const found = findLines(lines, wanted, { from: start, ...(near === undefined && { most: 1 }) })
  if (found === null) return null
  const distance = (at: number): number => (near === undefined ? 0 : Math.abs(at + 1 - near))
  const at = found.places.reduce((best, place) => (distance(place) < distance(best) ? place : best))
  return { at, fuzz: FUZZ[found.level]! }
}
